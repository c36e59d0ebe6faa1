"""What stands between one instance and its Alertmanager: it notes each request, and hands it on, is slow, refuses, or is gone."""

import http.server
import json
import socket
import threading
import time
import urllib.error
import urllib.request


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that has gone is none."""


class Proxy:
    """`mode`: "pass" hands on to Alertmanager; a number is answered as an HTTP status; ("slow", SECONDS) waits before it hands on; "down"
    closes the connection without an answer. `requests`: (time, mode, [label sets]) of each."""

    def __init__(self, target):
        self.target, self.mode = target, "pass"     # target(): the URL of Alertmanager
        self.requests = []
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                try:
                    body = self.rfile.read(int(self.headers["Content-Length"]))
                    proxy.requests.append((time.monotonic(), proxy.mode, [alert["labels"] for alert in json.loads(body)]))
                    status = proxy.answer(self.path, body)
                    if status is None:
                        self.close_connection = True
                        self.connection.shutdown(socket.SHUT_RDWR)
                        return
                    self.send_response(status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except (OSError, ValueError):
                    self.close_connection = True    # the client has gone, at any point

            def log_message(self, *_):
                pass

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, body):
        """The status to answer; None: nothing."""
        mode = self.mode
        if mode == "down":
            return None
        if isinstance(mode, int):
            return mode
        if isinstance(mode, tuple):
            time.sleep(mode[1])
        request = urllib.request.Request(self.target() + path, data=body, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except OSError:
            return None

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
