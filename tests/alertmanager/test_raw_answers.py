"""What comes back for a post, byte by byte: answers in pieces, without an end, of no HTTP; and what was sent."""

import pathlib
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest

from poster import Poster


class Raw:
    """A server that sends these bytes for each request, and keeps the bytes that it was sent. ends: it closes the connection then."""

    def __init__(self, *parts, ends=True, tls=None):
        self.parts, self.ends, self.tls = parts, ends, tls
        self.received, self.connections = [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            self.connections.append(connection)
            while request := self.request(connection):
                self.received.append(request)
                for part in self.parts:
                    connection.sendall(part)
                if self.ends:
                    return
        except OSError:
            pass                               # the client has gone
        finally:
            connection.close()

    @staticmethod
    def request(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            part = connection.recv(65536)
            if not part:
                return None
            data += part
        head, body = data.split(b"\r\n\r\n", 1)
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        while len(body) < length:
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


class Answers(unittest.TestCase):
    def posts(self, *parts, count=1, **more):
        """Posts, and returns (results, error, connections)."""
        with Raw(*parts, **more) as raw, Poster("--resend", 60_000, raw.url) as poster:
            for i in range(count):
                poster("fire", i + 1, 3 + i)
                if poster("drain", 10_000) != "drained":
                    break
            status = poster.wait_until(lambda s: s["instances"][0]["posts"])
            instance = status["instances"][0]
            return instance["posts"], instance["error"].replace(raw.url.removeprefix("http://"), "HOST"), len(raw.connections)

    def failure(self, *parts, **more):
        posts, error, _ = self.posts(*parts, **more)
        self.assertEqual(len(posts), 1)
        return next(iter(posts)), error

    def test_a_post_is_these_bytes(self):
        with Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ends=False) as raw, Poster(raw.url + "/am") as poster:
            poster("fire", 1, 3)
            self.assertEqual(poster("drain", 10_000), "drained")
            head, body = raw.received[0].split(b"\r\n\r\n", 1)
            self.assertEqual(head.decode().split("\r\n"), ["POST /am/api/v2/alerts HTTP/1.1", f"Host: {raw.url.removeprefix('http://')}",
                                                           "User-Agent: tocsin", "Content-Type: application/json",
                                                           f"Content-Length: {len(body)}"])

    def test_an_answer_may_come_in_any_pieces(self):
        answer = (b"HTTP/1.1 102 Processing\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                  b"3;a=b\r\nabc\r\n0\r\nChecksum: 7\r\n\r\n")
        self.assertEqual(self.posts(answer, count=3, ends=False), ({"200": 3}, "", 1))
        self.assertEqual(self.posts(*(bytes([byte]) for byte in answer), count=3, ends=False), ({"200": 3}, "", 1))

    def test_a_connection_that_the_server_wants_to_end_carries_no_other_request(self):
        for answer in (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                       b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"):
            self.assertEqual(self.posts(answer, count=2, ends=False), ({"200": 2}, "", 2))
        self.assertEqual(self.posts(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", count=2, ends=False),
                         ({"200": 2}, "", 1))

    def test_what_follows_an_answer_is_not_the_next_one(self):
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"
        self.assertEqual(self.posts(answer, count=3, ends=False), ({"200": 3}, "", 1))

    def test_a_body_may_end_with_the_connection(self):
        self.assertEqual(self.posts(b"HTTP/1.1 200 OK\r\n\r\nfine", count=2), ({"200": 2}, "", 2))
        self.assertEqual(self.failure(b"HTTP/1.0 500 Oops\r\n\r\n", b"it ", b"fails"), ("500", "500 from HOST: it fails"))

    def test_an_answer_that_does_not_begin_or_breaks_off_is_named(self):
        self.assertEqual(self.failure(), ("unreachable", "no answer from HOST: end of stream"))
        for parts in ([b"HTTP/1.1 200 O"], [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"abc"],
                      [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"]):
            self.assertEqual(self.failure(*parts), ("protocol", "no answer from HOST: partial message"))
        self.assertEqual(self.failure(b"HTTP/1.1 100 Continue\r\n\r\n"), ("unreachable", "no answer from HOST: end of stream"))

    def test_what_is_no_http_or_too_long_is_named(self):
        for answer, why in ((b"SSH-2.0-OpenSSH_9.2p1\r\n", "bad version"),
                            (b"HTTP/1.1 2x0 OK\r\n\r\n", "bad status"),
                            (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 10_000, "header limit exceeded"),
                            (b"HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n", "body limit exceeded"),
                            (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 65_537, "body limit exceeded"),
                            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "bad chunk")):
            self.assertEqual(self.failure(answer, ends=False), ("protocol", "no answer from HOST: " + why))

    def test_no_end_of_an_answer_is_a_timeout(self):
        with Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", ends=False) as raw, Poster("--time-out", 300, raw.url) as poster:
            poster("fire", 1, 3)
            poster.wait_until(lambda s: s["instances"][0]["posts"].get("timeout"))
            self.assertIn("no answer in time", poster.instance()["error"])

    def test_a_server_that_never_begins_with_tls_is_a_timeout_and_one_without_tls_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            with Poster("--time-out", 300, f"https://127.0.0.1:{silent.getsockname()[1]}") as poster:
                poster("fire", 1, 3)
                poster.wait_until(lambda s: s["instances"][0]["posts"].get("timeout"))
                self.assertRegex(poster.instance()["error"], "^no TLS with .*: no answer in time$")

    def test_a_host_without_an_address_is_unreachable(self):
        with Poster("http://no-such-host.invalid:9093") as poster:
            poster("fire", 1, 3)
            poster.wait_until(lambda s: s["instances"][0]["posts"].get("unreachable"))
            self.assertIn("cannot look up no-such-host.invalid: ", poster.instance()["error"])

    def test_a_host_is_reached_by_its_name(self):
        with Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ends=False) as raw:
            with Poster(raw.url.replace("127.0.0.1", "localhost")) as poster:
                poster("fire", 1, 3)
                self.assertEqual(poster("drain", 10_000), "drained")
                self.assertIn(b"\r\nHost: localhost:", raw.received[0])

    def test_over_tls_answers_come_in_pieces_and_a_body_ends_only_with_the_end_of_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = pathlib.Path(folder, "cert.pem"), pathlib.Path(folder, "key.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                            "-subj", "/CN=alertmanager", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                            "-keyout", key, "-out", cert], check=True, capture_output=True)
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(cert, key)
            named = []
            tls.sni_callback = lambda _, name, __: named.append(name)
            whole = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
            with Raw(*(bytes([byte]) for byte in whole), ends=False, tls=tls) as raw:
                for url in (raw.url, raw.url.replace("127.0.0.1", "localhost")):
                    with Poster("--ca-file", cert, url) as poster:
                        for i in range(2):
                            poster("fire", i + 1, 3)
                            self.assertEqual(poster("drain", 10_000), "drained")
                        self.assertEqual(poster.instance()["posts"], {"200": 2})
            self.assertEqual(named, [None, "localhost"])
            with Raw(b"HTTP/1.1 200 OK\r\n\r\nfine", tls=tls) as raw, Poster("--ca-file", cert, raw.url) as poster:
                poster("fire", 1, 3)
                poster.wait_until(lambda s: s["instances"][0]["posts"])
                self.assertEqual(poster.instance()["posts"], {"protocol": 1})
                self.assertIn("stream truncated", poster.instance()["error"])


if __name__ == "__main__":
    unittest.main()
