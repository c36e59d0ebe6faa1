"""The test program `tell` as an object, and an HTTP sink."""

import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.servers.process import wait_for  # noqa: E402

PROGRAM = os.environ.get("TELL", "build/release/tests/notify/tell")


class Teller:
    def __init__(self, *arguments, **options):
        self.process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)

    def __call__(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def status(self):
        return json.loads(self("status"))

    def results(self):
        """Of its one receiver."""
        (receiver,) = self.status()["receivers"].values()
        return receiver["results"]

    def wait_until(self, condition, seconds=20):
        def asked():
            status = self.status()
            return status if condition(status) else None
        return wait_for(asked, seconds, "the status")

    def wait_for_result(self, result, count=1):
        return self.wait_until(lambda status: sum(one["results"].get(result, 0) for one in status["receivers"].values()) >= count)

    def log(self):
        return self.status()["log"]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            pass
        finally:
            self.process.kill()
            self.process.stdout.close()


class Sink:
    """A webhook that answers as `answer` says (a status, a function of the number of the request, or None: never), and keeps what came."""

    def __init__(self, answer=200, port=0, tls=None, headers=(), repeats=False):
        sink = self
        self.answer, self.more_headers, self.repeats = answer, headers, repeats    # repeats: what it was sent, in a refusal
        self.received, self.headers, self.paths = [], [], []
        self.release = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                sink.headers.append(dict(self.headers))
                sink.paths.append(self.path)
                sink.received.append(json.loads(body))
                answer = sink.answer(len(sink.received)) if callable(sink.answer) else sink.answer
                if answer is None:
                    sink.release.wait(60)
                    return
                text = b"ok" if answer < 300 else b"invalid_payload"
                if sink.repeats:
                    text = f"cannot POST {self.path}: {self.headers['Authorization']} ".encode() + body
                self.send_response(answer)
                for name, value in sink.more_headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None    # a client that has gone
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_address[1]}"
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_for(self, count):
        return wait_for(lambda: len(self.received) >= count and self.received, what=f"request {count}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()
