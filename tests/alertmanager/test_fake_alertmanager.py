"""Posting alerts to servers that fail: answers of 400 and 500, silence, no server, a certificate, credentials."""

import base64
import http.server
import json
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from poster import Poster, wait_for


class Fake:
    """An Alertmanager that answers as `answer` says (a status, seconds to wait before 200, or what a function of the request's headers
    and body returns), and keeps what it was sent."""

    def __init__(self, tls=None, port=0):
        fake = self
        self.answer, self.before = 200, None    # before: a status 1xx in front of the answer
        self.received, self.headers, self.paths, self.connections = [], [], [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                fake.connections.append(self.connection)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = fake.answer
                if isinstance(answer, float):
                    time.sleep(answer)
                    answer = 200
                if callable(answer):
                    answer = answer(self.headers, body)
                fake.headers.append(dict(self.headers))
                fake.paths.append(self.path)
                fake.received.append(json.loads(body))
                text = b"" if answer == 200 else b"label is wrong"
                try:
                    if fake.before:
                        self.send_response_only(fake.before)
                        self.end_headers()
                        self.wfile.flush()
                    self.send_response(answer)
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:
                    pass                       # the client has gone

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def alerts(self):
        return [alert for batch in list(self.received) for alert in batch]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass                               # closed already

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Answers(unittest.TestCase):
    def test_a_server_error_is_counted_and_tried_again_until_it_passes(self):
        with Fake() as fake, Poster(fake.url) as poster:
            fake.answer = 500
            poster("fire", 1, 3)
            poster.wait_until(lambda s: s["instances"][0]["posts"].get("500", 0) >= 2)
            self.assertIn("500 from 127.0.0.1", poster.instance()["error"])
            self.assertTrue(poster.instance()["backs_off"])
            fake.answer = 200
            status = poster.wait_until(lambda s: s["instances"][0]["waiting"] == 0)
            self.assertEqual(status["instances"][0]["posts"]["200"], 1)
            self.assertEqual(status["instances"][0]["error"], "")

    def test_why_posts_fail_is_logged_once_and_that_they_pass_again(self):
        with Fake() as fake, Poster("--resend", 100, fake.url) as poster:
            fake.answer = 500
            poster("fire", 1, 3)
            poster.wait_until(lambda s: s["instances"][0]["posts"].get("500", 0) >= 3)
            fake.answer = 200
            poster.wait_until(lambda s: s["instances"][0]["posts"].get("200", 0) >= 3)
            where = fake.url.removeprefix("http://")
            self.assertEqual(poster.status()["log"].splitlines(), [f"alertmanager {fake.url} does not take alerts: 500 from {where}: label is wrong",
                                                                   f"alertmanager {fake.url} takes alerts again"])

    def test_a_refused_request_is_counted_and_not_repeated_before_the_interval(self):
        with Fake() as fake, Poster("--resend", 4000, fake.url) as poster:
            fake.answer = 400
            poster("fire", 1, 3)
            poster.wait_until(lambda s: s["instances"][0]["posts"].get("400") == 1)
            self.assertIn("label is wrong", poster.instance()["error"])
            time.sleep(0.7)
            self.assertEqual(poster.instance()["posts"], {"400": 1})
            poster.wait_until(lambda s: s["instances"][0]["posts"].get("400") == 2)

    def test_a_request_that_is_too_large_is_sent_in_parts_and_only_an_alert_that_is_too_large_alone_is_given_up(self):
        with Fake() as fake, Poster("--batch", 64, fake.url) as poster:
            fake.answer = lambda _, body: 413 if len(json.loads(body)) > 5 or b'"rank":"7"' in body else 200
            poster("flood", 100)
            self.assertEqual(poster("drain", 10_000), "drained")
            taken = {alert["labels"]["rank"] for batch in fake.received if fake.answer(None, json.dumps(batch, separators=(",", ":")).encode()) == 200
                     for alert in batch}
            self.assertEqual(taken, {str(rank) for rank in range(100)} - {"7"})
            self.assertLess(len(fake.received), 60)
            self.assertEqual(poster.instance()["posts"]["413"], 1)

    def test_what_a_proxy_sends_in_front_of_the_answer_is_none(self):
        for status in (100, 103):
            with Fake() as fake, Poster(fake.url) as poster:
                fake.before = status
                poster("fire", 1, 3)
                self.assertEqual(poster("drain", 5000), "drained")
                poster("fire", 2, 4)
                self.assertEqual(poster("drain", 5000), "drained")
                self.assertEqual(poster.instance()["posts"], {"200": 2})
                self.assertEqual([alert["labels"]["rank"] for alert in fake.alerts()], ["3", "4"])

    def test_an_instance_that_is_dead_or_never_answers_delays_no_other(self):
        with Fake() as alive, Fake() as silent, socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            silent.answer = 60.0
            dead = f"http://127.0.0.1:{closed.getsockname()[1]}"
            with Poster("--time-out", 3000, dead, silent.url, alive.url) as poster:
                poster("fire", 1, 3)
                wait_for(alive.alerts, 5)
                self.assertNotIn("timeout", poster.instance(1)["posts"])
                status = poster.wait_until(
                    lambda s: s["instances"][0]["posts"].get("unreachable") and s["instances"][1]["posts"].get("timeout"))
                self.assertEqual(status["instances"][2]["posts"], {"200": 1})
                self.assertIn("Connection refused", status["instances"][0]["error"])

    def test_a_flood_goes_out_in_bounded_requests_and_a_report_does_not_wait(self):
        with Fake() as fake, Poster("--batch", 100, fake.url) as poster:
            fake.answer = 0.02
            longest = float(poster("flood", 2000))
            self.assertLess(longest, 1)
            self.assertEqual(poster("drain", 30_000), "drained")
            self.assertEqual(len({alert["labels"]["rank"] for alert in fake.alerts()}), 2000)
            self.assertLessEqual(max(map(len, fake.received)), 100)
            self.assertLess(len(fake.received), 60)

    def test_beyond_the_memory_alerts_are_dropped_and_counted_while_the_server_is_gone(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            with Poster("--most-bytes", 1_000_000, f"http://127.0.0.1:{closed.getsockname()[1]}") as poster:
                poster("flood", 5000)
                status = poster.wait_until(lambda s: s["bytes"] > 0)
                self.assertGreater(status["dropped"], 1000)
                self.assertLess(status["bytes"], 1_300_000)

    def test_a_server_that_closes_the_connection_between_requests_is_reached_again_at_once(self):
        with Fake() as fake:
            port = fake.port
            with Poster(fake.url) as poster:
                poster("fire", 1, 3)
                self.assertEqual(poster("drain", 5000), "drained")
                fake.stop()
                with Fake(port=port) as again:
                    poster("fire", 2, 4)
                    wait_for(again.alerts, 5)
                    self.assertEqual(again.alerts()[0]["labels"]["rank"], "4")


class Permission(unittest.TestCase):
    def test_nothing_is_posted_without_a_permission_and_all_of_it_with_one(self):
        with Fake() as fake, Poster("--not-permitted", fake.url) as poster:
            poster("owner", 7)
            poster("fire", 1, 3)
            self.assertEqual(poster("drain", 2000), "drained")
            self.assertEqual(fake.received, [])
            poster("permit", 7, "always")
            wait_for(fake.alerts, 5)

    def test_repeats_end_with_the_permission_and_go_on_with_the_next(self):
        with Fake() as fake, Poster("--not-permitted", "--resend", 100, fake.url) as poster:
            poster("permit", 0, 600)
            poster("fire", 1, 3)
            wait_for(lambda: len(fake.received) >= 3, 5)
            time.sleep(1)
            count = len(fake.received)
            time.sleep(0.5)
            self.assertEqual(len(fake.received), count)
            poster("permit", 0, "always")
            wait_for(lambda: len(fake.received) > count, 5)

    def test_a_process_that_was_stopped_beyond_its_permission_posts_nothing_when_it_wakes(self):
        with Fake() as fake, Poster("--not-permitted", "--resend", 50, fake.url) as poster:
            poster("permit", 0, 1000)
            poster("fire", 1, 3)
            wait_for(lambda: len(fake.received) >= 2, 5)
            poster.process.send_signal(signal.SIGSTOP)
            time.sleep(1.5)
            count = len(fake.received)
            poster.process.send_signal(signal.SIGCONT)
            self.assertEqual(poster("drain", 2000), "drained")
            self.assertLessEqual(len(fake.received), count + 1)     # the request that was on its way
            self.assertEqual(poster.status()["firing"], 1)

    def test_what_is_withdrawn_is_forgotten_and_not_resolved(self):
        with Fake() as fake, Poster("--resend", 100, fake.url) as poster:
            poster("fire", 1, 3)
            wait_for(fake.alerts, 5)
            poster("withdraw", 0)
            status = poster.wait_until(lambda s: s["kept"] == 0)
            self.assertEqual(status["bytes"], 0)
            self.assertFalse(any("resolved" in alert["annotations"] for alert in fake.alerts()))


class Security(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        base = cls.base = pathlib.Path(cls.folder.name)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=alertmanager", "-addext", "subjectAltName=DNS:alertmanager.test,IP:127.0.0.1",
                        "-keyout", base / "key.pem", "-out", base / "cert.pem"], check=True, capture_output=True)
        cls.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.tls.load_cert_chain(base / "cert.pem", base / "key.pem")
        (base / "password").write_text("hunter2 and more\n")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_server_with_a_certificate_of_the_named_authority_gets_the_alert_under_its_prefix(self):
        with Fake(self.tls) as fake, Poster("--ca-file", self.base / "cert.pem", fake.url + "/am/") as poster:
            poster("fire", 1, 3)
            self.assertEqual(poster("drain", 5000), "drained")
            self.assertEqual(poster.instance()["posts"], {"200": 1})
            self.assertEqual(fake.paths, ["/am/api/v2/alerts"])

    def test_a_certificate_of_another_authority_or_for_another_name_is_refused(self):
        with Fake(self.tls) as fake:
            for arguments in ([], ["--ca-file", self.base / "cert.pem", "--server-name", "other.test"]):
                with Poster(*arguments, fake.url) as poster:
                    poster("fire", 1, 3)
                    status = poster.wait_until(lambda s: s["instances"][0]["posts"].get("tls"))
                    self.assertIn("certificate verify failed", status["instances"][0]["error"])
            self.assertEqual(fake.received, [])

    def test_basic_and_bearer_credentials_come_from_files_and_stand_in_no_status(self):
        with Fake() as fake:
            with Poster("--user", "tocsin", "--password-file", self.base / "password", fake.url) as poster:
                poster("fire", 1, 3)
                self.assertEqual(poster("drain", 5000), "drained")
                self.assertNotIn("hunter2", poster("status"))
            with Poster("--token-file", self.base / "password", fake.url) as poster:
                poster("fire", 1, 3)
                self.assertEqual(poster("drain", 5000), "drained")
            given = [headers["Authorization"] for headers in fake.headers]
            self.assertEqual(given, ["Basic " + base64.b64encode(b"tocsin:hunter2 and more").decode(), "Bearer hunter2 and more"])

    def test_a_token_that_was_replaced_is_read_again_when_the_old_one_is_refused(self):
        token = self.base / "token"
        token.write_text("old\n")
        with Fake() as fake, Poster("--token-file", token, fake.url) as poster:
            fake.answer = lambda headers, _: 200 if headers["Authorization"] == "Bearer old" else 401
            poster("fire", 1, 3)
            self.assertEqual(poster("drain", 5000), "drained")
            fake.answer = lambda headers, _: 200 if headers["Authorization"] == "Bearer new" else 401
            token.write_text("new\n")
            poster("fire", 2, 4)
            poster.wait_until(lambda s: s["instances"][0]["waiting"] == 0, 5)

    def test_a_file_of_credentials_that_is_missing_is_named(self):
        with Fake() as fake, Poster("--token-file", self.base / "nowhere", fake.url) as poster:
            poster("fire", 1, 3)
            status = poster.wait_until(lambda s: s["instances"][0]["posts"].get("credentials"))
            self.assertIn("nowhere: No such file", status["instances"][0]["error"])
            self.assertEqual(fake.received, [])


if __name__ == "__main__":
    unittest.main()
