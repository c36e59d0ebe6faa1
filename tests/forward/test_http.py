"""What `wrap --to http://…` makes of the answers of a server: nothing is lost but what the service will never take, and that is named."""

import ctypes
import ctypes.util
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
REFUSAL = json.dumps({"status": "error", "errorType": "bad_data", "error": "message 1: wrong"}, separators=(",", ":")).encode()    # as the service writes it


def plain(data):
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    library.ZSTD_decompress.restype = ctypes.c_size_t
    size = library.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(size)
    library.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    return out.raw[:size]


class Server(ThreadingHTTPServer):
    """Keeps the messages that it answers with 200. `answer(messages, number)`: a status and a body, or None: it breaks off behind the request.
    `came(messages)` is called before each answer."""

    def __init__(self, answer, came):
        self.answer, self.came, self.messages, self.requests = answer, came, [], 0
        super().__init__(("127.0.0.1", 0), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = plain(self.rfile.read(int(self.headers["Content-Length"])))
            messages, at = [], 0
            while at < len(body):
                length = struct.unpack_from("<I", body, at)[0]
                messages.append(body[at + 4:at + 4 + length])
                at += 4 + length
            self.server.requests += 1
            self.server.came(messages)
            answer = self.server.answer(messages, self.server.requests)
            if answer is None:
                self.close_connection = True
                return
            status, text = answer
            if status == 200:
                self.server.messages += messages
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass


class TestHttp(unittest.TestCase):
    def sent(self, answer, lines=("one", "poison", "three")):
        """Which lines the server has, and what wrap printed. Each line is written once a request has brought the one before: lines of one moment would be
        one record."""
        with tempfile.TemporaryDirectory() as folder:
            def came(messages):
                for line in lines:
                    if any(line.encode() in message for message in messages):
                        pathlib.Path(folder, line).touch()

            server = Server(answer, came)
            self.addCleanup(server.shutdown)
            script = "; ".join(f"echo {line}; while [ ! -e {folder}/{line} ]; do sleep 0.02; done" for line in lines) + "; exit 3"
            done = subprocess.run([TOCSIN, "wrap", "--job", "j", "--journal", pathlib.Path(folder, "journal"), "--to", f"http://127.0.0.1:{server.server_port}",
                                   "--", "sh", "-c", script], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 3)
        return [line for line in lines if any(line.encode() in message for message in server.messages)], done.stderr

    def test_a_record_that_the_service_will_never_take_is_left_out_and_named_and_the_rest_is_sent(self):
        for status in (400, 413):
            found, printed = self.sent(lambda messages, _, status=status: (status, REFUSAL) if any(b"poison" in m for m in messages) else (200, b"{}"))
            self.assertEqual(found, ["one", "three"], printed)
            self.assertEqual(printed.count("a record is left out"), 1)
            self.assertNotIn("not sent; later", printed)

    def test_a_proxy_s_refusal_and_a_lost_answer_are_tried_again(self):
        found, printed = self.sent(lambda _, number: (400, b"<html>bad gateway</html>") if number == 1 else None if number == 3 else (200, b"{}"))
        self.assertEqual(found, ["one", "poison", "three"])
        self.assertNotIn("left out", printed)

    def test_what_is_left_is_counted_with_the_command_that_sends_it(self):
        found, printed = self.sent(lambda *_: (503, b"later"))
        self.assertEqual(found, [])
        self.assertIn("entries are not sent; later: tocsin forward", printed)


if __name__ == "__main__":
    unittest.main()
