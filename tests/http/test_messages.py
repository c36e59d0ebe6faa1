"""Requests and answers byte by byte: in pieces, at once, without an end, over TLS."""

import pathlib
import random
import select
import socket
import ssl
import tempfile
import unittest

from server import Server, certificate, trusting
from tests.servers.process import wait_for


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def test_an_answer_is_these_bytes(self):
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        text = b"POST /echo HTTP/1.%d\r\nHost: x\r\nConnection: %s\r\nContent-Length: 3\r\n\r\nabc"
        self.assertEqual(self.server.raw(text % (1, b"close")), head + "Connection: close\r\nContent-Length: 3\r\n\r\nabc")
        kept = self.server.raw(text % (1, b"keep-alive") + text % (1, b"close"))
        self.assertEqual(kept[:kept.index("abc") + 3], head + "Content-Length: 3\r\n\r\nabc")
        old = head.replace("1.1", "1.0")
        self.assertEqual(self.server.raw(text % (0, b"close")), old + "Content-Length: 3\r\n\r\nabc")
        kept = self.server.raw(text % (0, b"keep-alive") + text % (0, b"close"))
        self.assertEqual(kept[:kept.index("abc") + 3], old + "Connection: keep-alive\r\nContent-Length: 3\r\n\r\nabc")
        missing = self.server.raw(b"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        self.assertTrue(missing.startswith("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n"), missing)

    def test_requests_may_begin_and_end_anywhere_in_what_arrives(self):
        body = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
        chunks = (b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                  b"3;a=b\r\nabc\r\n0A\r\n0123456789\r\n0\r\nChecksum: 7\r\n\r\n")
        last = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        whole = body + chunks + last
        expected = self.server.raw(whole)
        self.assertEqual([part.split("\r\n\r\n")[1] for part in expected.split("HTTP/1.1 200 OK\r\n")[1:]],
                         ["hello", "abc0123456789", "tocsin is healthy\n"])
        for at in range(1, len(whole)):
            self.assertEqual(self.server.raw(whole[:at], whole[at:]), expected, at)
        self.assertEqual(self.server.raw(*(bytes([byte]) for byte in whole)), expected)

    def test_a_client_that_ends_within_its_request_is_answered_and_one_that_ends_before_is_not(self):
        for part in (b"G", b"GET / HTTP/1.1\r\nHo", b"POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel",
                     b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"):
            answer = self.server.raw(part, ends=True)
            self.assertTrue(answer.startswith("HTTP/1.1 400 Bad Request\r\n"), answer)
            self.assertTrue(answer.endswith("\r\n\r\nthe request is refused: partial message\n"), answer)
        before = self.server.status()
        self.assertEqual(self.server.raw(b"", ends=True), "")
        answer = self.server.raw(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n", ends=True)
        self.assertEqual(answer.count("HTTP/1.1 "), 1)
        self.assertEqual(self.server.status()["refused"], before["refused"])

    def test_versions_other_than_1_0_and_1_1_are_refused(self):
        for version in (b"1.2", b"2.0", b"0.9"):
            answer = self.server.raw(b"GET / HTTP/" + version + b"\r\n\r\n")
            self.assertTrue(answer.startswith("HTTP/1.1 505 HTTP Version Not Supported\r\n"), answer)
        self.assertTrue(self.server.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").startswith("HTTP/1.1 505 "))

    def test_the_limit_of_a_body_holds_for_chunks_too(self):
        begin = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        self.assertEqual(len(self.server.raw(begin + chunk * 16 + b"0\r\n\r\n").split("\r\n\r\n")[1]), 1 << 20)
        self.assertIn("413 ", self.server.raw(begin + chunk * 16 + b"1\r\nx\r\n0\r\n\r\n").split("\r\n")[0])

    def test_a_body_in_another_encoding_than_chunks_is_refused_and_what_follows_is_no_request(self):
        hidden = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
        for version, codings in ((b"1.1", [b"gzip"]), (b"1.1", [b"xchunked"]), (b"1.1", [b"chunked, identity"]), (b"1.1", [b"gzip, chunked"]),
                                 (b"1.1", [b"identity"]), (b"1.1", [b"chunked", b"gzip"]), (b"1.1", [b"chunked", b"chunked"]),
                                 (b"1.0", [b"chunked"]), (b"1.1", [b""])):
            head = b"POST /echo HTTP/" + version + b"\r\nHost: x\r\n" + b"".join(b"Transfer-Encoding: " + one + b"\r\n" for one in codings) + b"\r\n"
            answer = self.server.raw(head + hidden)
            self.assertEqual(answer.count("HTTP/1."), 1, (codings, answer))
            self.assertRegex(answer, r"\AHTTP/1.1 400 ")
        for coding in (b"chunked", b"CHUNKED", b" chunked "):
            answer = self.server.raw(b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: " + coding + b"\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
            self.assertTrue(answer.startswith("HTTP/1.1 200 OK") and answer.endswith("hi"), answer)

    def test_whoever_waits_for_100_continue_gets_it_in_front_of_the_answer(self):
        head = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as client:
            client.sendall(head)
            self.assertEqual(client.recv(4096), b"HTTP/1.1 100 Continue\r\n\r\n")
            client.sendall(b"abc")
            self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n"))
        refused = self.server.raw(head.replace(b"/echo", b"/nowhere"))
        self.assertTrue(refused.startswith("HTTP/1.1 404 "), refused)


class Tls(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.base = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    @staticmethod
    def exchange(client, data, enough):
        """Sends while it receives, until all is sent and the answer is enough, or at its end. By one thread: two must not share a TLS connection."""
        client.setblocking(False)
        data, answer = memoryview(data), b""
        while data or not enough(answer):
            select.select([client], [client] if data else [], [], 0 if client.pending() else 20)
            try:
                if data:
                    data = data[client.send(data[:16384]):]
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
            try:
                part = client.recv(65536)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                continue
            if not part:
                break
            answer += part
        client.setblocking(True)
        return answer

    def test_over_tls_requests_and_answers_may_be_long_and_the_end_is_announced(self):
        cert, key = certificate(self.base)
        with Server("--certificate", cert, "--key", key) as server:
            body = bytes(random.Random(7).choices(range(32, 127), k=1 << 20))
            request = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            last = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as plain:
                with trusting(cert).wrap_socket(plain, server_hostname="127.0.0.1", suppress_ragged_eofs=False) as client:
                    answer = self.exchange(client, request + request[:-1], lambda answer: body in answer)
                    answer += self.exchange(client, request[-1:] + last, lambda _: False)
            self.assertEqual((answer.count(b"HTTP/1.1 200 OK"), answer.count(body)), (3, 2))
            self.assertEqual((server.status()["refused"], server.status()["timed_out"]), (0, 0))

    def test_a_request_over_tls_that_breaks_off_is_not_refused(self):
        cert, key = certificate(self.base)
        with Server("--certificate", cert, "--key", key) as server:
            for part in (b"", b"GET / HTTP/1.1\r\nHo", b"POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel"):
                with socket.create_connection(("127.0.0.1", server.port), timeout=20) as plain:
                    with trusting(cert).wrap_socket(plain, server_hostname="127.0.0.1") as client:
                        client.sendall(part)
                        client.shutdown(socket.SHUT_WR)          # without TLS's own end
            wait_for(lambda: server.status()["connections"] == 0)
            self.assertEqual((server.status()["refused"], server.status()["timed_out"]), (0, 0))


class Ends(unittest.TestCase):
    def test_a_body_that_does_not_come_and_tls_that_does_not_begin_end_at_the_read_time(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = certificate(pathlib.Path(folder))
            for arguments, sent in (([], b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nbegin"),
                                    (["--certificate", cert, "--key", key], b"\x16\x03\x01")):
                with Server("--read-time", 300, *arguments) as server:
                    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
                        client.sendall(sent)
                        wait_for(lambda: server.status()["timed_out"] == 1)
                        try:
                            self.assertEqual(client.recv(4096), b"")
                        except ConnectionResetError:
                            pass
                    self.assertEqual(server.status()["refused"], 0)

    def test_whoever_is_refused_within_a_long_body_still_reads_why(self):
        with Server() as server:
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
                client.sendall(b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n")
                for _ in range(50):
                    client.sendall(b"x" * 10_000)
                answer = b""
                while part := client.recv(4096):
                    answer += part
                self.assertTrue(answer.startswith(b"HTTP/1.1 404 Not Found\r\n"), answer)
                self.assertIn(b"Connection: close\r\n", answer)


if __name__ == "__main__":
    unittest.main()
