"""The HTTP server with real clients: the API, credentials, TLS, and clients that mean no good."""

import contextlib
import json
import pathlib
import random
import resource
import os
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from server import Server, certificate, refusal, trusting
from tests.servers.process import wait_for


def healthy(server):
    with contextlib.suppress(ConnectionError):
        return server.get("/-/healthy")[0] == 200


def own_address():
    """That of this machine in its network; of one without a network, of itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))     # sends nothing
            return asked.getsockname()[0]
        except OSError:
            return "127.0.0.1"


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def test_data_come_in_the_envelope_of_prometheus(self):
        status, headers, text = self.server.get("/api/v1/alerts?job=llama&state=firing")
        self.assertEqual((status, headers["Content-Type"], headers["Cache-Control"]), (200, "application/json", "no-store"))
        answer = json.loads(text)
        self.assertEqual(answer["status"], "success")
        self.assertEqual([alert["rule"] for alert in answer["data"]], ["straggler"])
        self.assertEqual(json.loads(self.server.get("/api/v1/verdicts")[2]), {"status": "success", "data": []})

    def test_errors_say_what_is_wrong(self):
        status, _, text = self.server.get("/api/v1/alerts?jobs=llama")
        self.assertEqual(status, 400)
        self.assertEqual(json.loads(text), {"status": "error", "errorType": "bad_data",
                                            "error": "there is no parameter 'jobs'; known are job, state, severity, rule, id, limit"})
        self.assertEqual(self.server.get("/api/v1/rules")[0], 404)          # nobody provides it
        self.assertEqual(self.server.get("/nowhere")[0], 404)
        status, headers, text = self.server.request("DELETE", "/metrics")
        self.assertEqual((status, headers["Allow"], text), (405, "GET", "this path takes GET\n"))

    def test_a_provider_that_fails_is_an_error_of_that_request_alone(self):
        status, _, text = self.server.get("/api/v1/jobs")
        self.assertEqual((status, text), (500, "a provider fails\n"))
        self.assertEqual(self.server.get("/-/healthy")[0], 200)

    def test_a_reload_answers_when_it_is_done_while_others_are_served(self):
        with Server("--reload-time", 15_000) as server:
            answers = []
            thread = threading.Thread(target=lambda: answers.append(server.request("POST", "/-/reload")))
            thread.start()
            while server.status()["requests"] < 1:
                time.sleep(0.01)
            self.assertTrue(thread.is_alive())
            self.assertEqual(server.get("/-/healthy")[0], 200)
            thread.join()
            self.assertEqual((answers[0][0], json.loads(answers[0][2])["data"]), (200, {"pack": "abc", "changed": True}))
            status, _, text = server.request("POST", "/-/reload")
            self.assertEqual((status, json.loads(text)["error"]), (422, "rules/a.lua:3: unexpected symbol"))
            status, _, text = server.request("POST", "/-/reload")
            self.assertEqual((status, json.loads(text)["errorType"], json.loads(text)["error"]), (503, "unavailable", "no broker answers"))
            self.assertEqual(server.get("/-/reload")[0], 405)

    def test_a_page_of_another_site_cannot_reload(self):
        for origin in ("http://evil.example", "null"):
            self.assertEqual(self.server.request("POST", "/-/reload", headers={"Origin": origin})[0], 403)
        own = f"http://127.0.0.1:{self.server.port}"
        self.assertIn(self.server.request("POST", "/-/reload", headers={"Origin": own})[0], (200, 422))

    def test_a_page_whose_name_was_bound_to_our_address_is_not_answered(self):
        for host in ("evil.example", f"evil.example:{self.server.port}", "127.0.0.1.evil.example", "localhost.evil.example", "x.evil.example"):
            for method, path in (("GET", "/api/v1/alerts"), ("GET", "/"), ("GET", "/metrics"), ("POST", "/-/reload")):
                status, _, text = self.server.request(method, path, headers={"Host": host, "Origin": "http://" + host})
                self.assertEqual((status, text), (421, "this server has another name: ask for its address, or list the name in http.names\n"))
            self.assertEqual(self.server.get("/-/healthy", headers={"Host": host})[0], 200)     # a probe is always answered
        for host in ("127.0.0.1", f"localhost:{self.server.port}", "LocalHost", "[::1]:9464", "10.1.2.3:80", "X:1", socket.gethostname()):
            self.assertEqual(self.server.get("/api/v1/alerts", headers={"Host": host})[0], 200, host)

    def test_a_connection_carries_many_requests_also_when_they_come_at_once(self):
        request = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        self.assertEqual(self.server.raw(request * 49 + last).count("HTTP/1.1 200 OK"), 50)

    def test_the_page_is_at_the_root_with_a_policy_that_lets_nothing_else_in(self):
        for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
            status, headers, text = self.server.get(path)
            self.assertEqual((status, headers["Content-Type"]), (200, f"{kind}; charset=utf-8"))
            self.assertEqual({name: headers[name] for name in ("Cache-Control", "X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options")},
                             {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"})
            self.assertIn("default-src 'none'; script-src 'self'; style-src 'self';", headers["Content-Security-Policy"])
            self.assertEqual(headers.get_all("Cache-Control"), ["no-cache"])
            head = self.server.request("HEAD", path)
            self.assertEqual((head[0], head[1]["Content-Length"], head[2]), (200, str(len(text.encode())), ""))
        self.assertEqual(self.server.request("POST", "/")[0], 405)
        self.assertIsNone(self.server.get("/api/v1/alerts")[1]["Content-Security-Policy"])

    def test_head_is_get_without_a_body(self):
        answer = self.server.raw(b"HEAD /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        self.assertIn("Content-Length: 18\r\n", answer)
        self.assertTrue(answer.endswith("\r\n\r\n"))

    def test_a_body_comes_back_whole_up_to_the_limit(self):
        body = "x" * (1 << 20)
        self.assertEqual(self.server.request("POST", "/echo", body)[2], body)
        chunks = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        self.assertTrue(self.server.raw(chunks).endswith("\r\n\r\nabc"))

    def test_what_is_too_large_or_malformed_is_refused_with_a_reason(self):
        too_long = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % ((1 << 20) + 1)
        self.assertIn("413 ", self.server.raw(too_long + b"x" * ((1 << 20) + 1)).split("\r\n")[0])
        self.assertIn("431 ", self.server.raw(b"GET / HTTP/1.1\r\nA: " + b"x" * 10000 + b"\r\n\r\n").split("\r\n")[0])
        for wrong in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nA b\r\n\r\n", b"GET http://x/ HTTP/1.1\r\nConnection: close\r\n\r\n",
                      b"GET /% HTTP/1.1\r\nConnection: close\r\n\r\n",
                      b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                      b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                      b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            self.assertIn("400 ", self.server.raw(wrong).split("\r\n")[0], wrong)

    def test_random_bytes_leave_the_server_as_it_was(self):
        seed = int(os.environ.get("TOCSIN_SEED", "1"))
        print(f"TOCSIN_SEED={seed}")
        draw = random.Random(seed)
        request = b"POST /echo?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
        for _ in range(300):
            data = bytearray(request)
            for _ in range(draw.randint(1, 8)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as client:
                client.sendall(bytes(data[:draw.randint(1, len(data))]))
                client.shutdown(socket.SHUT_WR)
                try:
                    client.recv(65536)
                except ConnectionResetError:
                    pass
        self.assertEqual(self.server.get("/-/healthy")[0], 200)


class Start(unittest.TestCase):
    def test_a_port_that_is_taken_is_named_with_the_remedy(self):
        with Server() as server:
            self.assertEqual(refusal("--listen", f"127.0.0.1:{server.port}"),
                             f"cannot listen on 127.0.0.1:{server.port}: Address already in use; "
                             "another program has this port: stop it, or listen on another one")

    def test_an_address_of_another_machine_is_refused(self):
        self.assertIn("this machine has no such address", refusal("--listen", "192.0.2.1:9464"))

    def test_files_that_are_missing_or_no_pair_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder)
            cert, key = certificate(base)
            other = certificate(base, "other")
            self.assertIn("nowhere: No such file", refusal("--token-file", base / "nowhere"))
            self.assertIn("missing.pem cannot be used", refusal("--certificate", base / "missing.pem", "--key", key))
            self.assertIn("other.key cannot be used", refusal("--certificate", cert, "--key", other[1]))
            self.assertIn("set both or none", refusal("--certificate", cert))

    def test_stopping_ends_connections_and_waits_for_an_answer_that_is_due(self):
        with Server() as server:
            answers = []
            idle = socket.create_connection(("127.0.0.1", server.port))
            thread = threading.Thread(target=lambda: answers.append(server.request("POST", "/-/reload")[0]))
            thread.start()
            wait_for(lambda: server.status()["requests"] == 1)
            self.assertEqual(server.status("stop")["connections"], 0)
            thread.join()
            self.assertEqual(answers, [200])
            self.assertEqual(idle.recv(10), b"")
            idle.close()
            server.status("stop")


class Credentials(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.base = pathlib.Path(self.folder.name)
        (self.base / "password").write_text("hunter2\n")
        (self.base / "token").write_text("t0ken\n")

    def tearDown(self):
        self.folder.cleanup()

    def curl(self, *arguments):
        done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *map(str, arguments)], capture_output=True, text=True)
        return done.stdout

    def test_basic_and_bearer_credentials_open_it_and_nothing_else_does(self):
        with Server("--user", "op", "--password-file", self.base / "password", "--token-file", self.base / "token") as server:
            status, headers, _ = server.get("/metrics")
            self.assertEqual((status, headers["WWW-Authenticate"]), (401, 'Basic realm="tocsin", charset="UTF-8"'))
            url = f"http://127.0.0.1:{server.port}"
            self.assertEqual(self.curl("-u", "op:hunter2", f"{url}/metrics"), "200")
            self.assertEqual(self.curl("-H", "Authorization: Bearer t0ken", f"{url}/api/v1/alerts"), "200")
            self.assertEqual(self.curl("-u", "op:hunter", f"{url}/metrics"), "401")
            self.assertEqual(self.curl("-X", "POST", f"{url}/-/reload"), "401")
            self.assertEqual(self.curl(f"{url}/"), "401")
            self.assertEqual(self.curl("-u", "op:hunter2", f"{url}/"), "200")
            self.assertEqual(self.curl(f"{url}/nowhere"), "401")              # which paths there are is not shown
            self.assertEqual(self.curl(f"{url}/-/healthy"), "200")            # a probe needs none
            status = server.status()
            self.assertEqual(status["unauthorized"], 5)
            text = server.get("/metrics", headers={"Authorization": "Bearer t0ken"})[2]
            self.assertNotIn("hunter2", text)
            self.assertNotIn("t0ken", text)

    def test_whoever_has_no_credentials_is_answered_before_the_body_is_read(self):
        with Server("--token-file", self.base / "token", "--read-time", 5000) as server:
            with socket.create_connection(("127.0.0.1", server.port), timeout=3) as client:
                client.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nbegin")
                self.assertIn(b"401 Unauthorized", client.recv(4096))

    def test_a_client_that_asks_whether_it_may_send_its_body_does_not_wait(self):
        with Server("--token-file", self.base / "token") as server:
            (self.base / "body").write_text("x" * 100_000)
            arguments = ["--data-binary", f"@{self.base}/body", "-H", "Expect: 100-continue", f"http://127.0.0.1:{server.port}/echo"]
            self.assertEqual(self.curl("-H", "Authorization: Bearer t0ken", *arguments), "200")
            self.assertEqual(self.curl(*arguments), "401")
            # Whoever proves who he is may use any name: a page of another site cannot.
            self.assertEqual(self.curl("-H", "Authorization: Bearer t0ken", "-H", "Host: tocsin.example", *arguments), "200")

    def test_a_program_that_is_not_ready_says_why(self):
        with Server("--user", "not-ready", "--password-file", self.base / "password") as server:
            status, _, text = server.get("/-/ready")
            self.assertEqual((status, text), (503, "restoring: 40 %\n"))

    def test_tls_with_a_real_client_and_certificates_of_clients(self):
        cert, key = certificate(self.base)
        client = certificate(self.base, "client")
        with Server("--certificate", cert, "--key", key) as server:
            self.assertEqual(server.get("/-/healthy", tls=trusting(cert))[0], 200)
            self.assertEqual(self.curl("--cacert", cert, f"https://127.0.0.1:{server.port}/metrics"), "200")
            self.assertEqual(server.raw(b"GET / HTTP/1.1\r\n\r\n").count("HTTP"), 0)
            old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                server.get("/-/healthy", tls=old)
            self.assertEqual(server.get("/-/healthy", tls=trusting(cert))[0], 200)
        with Server("--certificate", cert, "--key", key, "--client-ca", client[0]) as server:
            self.assertEqual(server.get("/-/healthy", tls=trusting(cert, client))[0], 200)
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                server.get("/-/healthy", tls=trusting(cert))


class Hostile(unittest.TestCase):
    def test_a_client_that_sends_a_byte_at_a_time_is_cut_off_at_the_read_time(self):
        with Server("--read-time", 600) as server:
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                begin = time.monotonic()
                client.settimeout(0.05)
                ended = None
                for byte in b"GET /-/healthy HTTP/1.1\r\nA: " + b"x" * 200:
                    try:
                        client.send(bytes([byte]))
                        if client.recv(1) == b"":
                            ended = time.monotonic() - begin
                            break
                    except TimeoutError:
                        continue
                    except OSError:
                        ended = time.monotonic() - begin
                        break
                self.assertIsNotNone(ended)
                self.assertLess(ended, 9)          # all its bytes take 11 s
                self.assertGreater(ended, 0.5)
            wait_for(lambda: server.status()["timed_out"] == 1)

    def test_a_connection_without_requests_ends_at_the_idle_time(self):
        with Server("--idle-time", 300) as server:
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertIn(b"200", client.recv(4096))
                client.settimeout(30)
                self.assertEqual(client.recv(1), b"")

    def test_ten_thousand_connections_that_say_nothing_keep_nobody_out(self):
        count = 10_000
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < count + 100:
            count = hard - 100
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + 100, hard) if hard != resource.RLIM_INFINITY else count + 100, hard))
        clients = []
        try:
            with Server("--connections", 64) as server:
                for _ in range(count):
                    client = socket.socket()
                    client.setblocking(False)
                    client.connect_ex(("127.0.0.1", server.port))
                    clients.append(client)
                self.assertTrue(any(healthy(server) for _ in range(3)))  # as a probe of Kubernetes: failureThreshold 3
                status = server.status()
                self.assertLessEqual(status["connections"], 66)
                self.assertGreater(status["evicted"], 100)
        finally:
            for client in clients:
                client.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_more_requests_than_the_rate_are_refused_for_a_while(self):
        with Server("--rate", 1) as server:
            request = b"GET /api/v1/verdicts HTTP/1.1\r\nHost: x\r\n\r\n"
            last = b"GET /api/v1/verdicts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            answer = server.raw(request * 199 + last)
            self.assertEqual(answer.count("HTTP/1.1 200 ") + answer.count("HTTP/1.1 429 "), 200)
            self.assertGreater(answer.count("HTTP/1.1 200 "), 0)
            self.assertGreater(answer.count("HTTP/1.1 429 "), 20)
            self.assertEqual(server.get("/-/healthy")[0], 200)      # a probe is always answered
            wait_for(lambda: server.get("/api/v1/verdicts")[0] == 200, 20)

    def test_those_who_may_not_ask_leave_the_rate_to_those_who_may(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "token").write_text("t0ken\n")
            with Server("--rate", 1, "--token-file", pathlib.Path(folder) / "token") as server:
                request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n"
                answer = server.raw(request * 199 + request.replace(b"Host", b"Connection: close\r\nHost"))
                self.assertEqual(answer.count("HTTP/1.1 401 ") + answer.count("HTTP/1.1 429 "), 200)
                self.assertGreater(answer.count("HTTP/1.1 429 "), 20)
                self.assertEqual(server.get("/metrics", headers={"Authorization": "Bearer t0ken"})[0], 200)

    def test_strangers_who_never_send_their_bodies_keep_no_probe_waiting(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "token").write_text("t0ken\n")
            for address in {"127.0.0.1", own_address()}:
                clients = []
                with Server("--listen", f"{address}:0", "--connections", 8, "--token-file", pathlib.Path(folder) / "token") as server:
                    def ask(request):
                        clients.append(socket.create_connection((address, server.port), timeout=20))
                        clients[-1].sendall(request)
                        return clients[-1].recv(4096)
                    try:
                        for _ in range(40):
                            self.assertIn(b"401 Unauthorized", ask(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"))
                        self.assertIn(b"200 OK", ask(b"GET /-/ready HTTP/1.1\r\nHost: x\r\n\r\n"))
                        self.assertIn(b"200 OK", ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t0ken\r\n\r\n"))
                        status = server.status()
                        self.assertEqual(status["refused"], 0, status)
                        self.assertGreaterEqual(status["evicted"], 32, status)
                    finally:
                        for client in clients:
                            client.close()

    def test_a_client_that_does_not_read_its_answer_is_cut_off(self):
        with Server() as server:
            with socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", server.port))
                client.settimeout(0.5)
                request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
                try:
                    for _ in range(10_000):
                        client.sendall(request * 10)
                except (TimeoutError, OSError):
                    pass
                self.assertEqual(server.get("/-/healthy")[0], 200)


if __name__ == "__main__":
    unittest.main()
