"""Telling people through real servers: SMTP with TLS and a login, HTTP sinks that answer 200, 429, 500 and never, commands; and what
waits on disk over a restart."""

import json
import os
import pathlib
import ssl
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from teller import Sink, Teller  # noqa: E402
from tests.servers.mail import MailServer, certificate, needed  # noqa: E402
from tests.servers.process import free_port, wait_for  # noqa: E402


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.secret("password", "a secret")

    def secret(self, name, text):
        (self.folder / name).write_text(text + "\n")
        return self.folder / name


class Mail(Folder):
    def address(self, server, scheme="smtp", user="ada%40site.example@", **more):
        parameters = {"to": "ops@site.example,team@site.example", "password_file": self.folder / "password", "ca_file": server.ca,
                      "verdicts": "all", **more}
        if not user:
            del parameters["password_file"]
        return f"{scheme}://{user}localhost:{server.port}/?" + "&".join(f"{key}={value}" for key, value in parameters.items())

    def test_a_mail_goes_out_by_starttls_with_a_login_and_can_be_read(self):
        with MailServer("starttls", "login") as server, Teller(self.address(server)) as teller:
            teller("fire", 1)
            self.assertEqual(teller("drain", 20000), "0", teller.log())
            (mail,) = server.mails()
            self.assertEqual((mail["X-From"], mail["X-To"], mail["X-TLS"]), ("ada@site.example", "ops@site.example,team@site.example", "True"))
            self.assertEqual(mail["Subject"], "[critical] llama: A NCCL collective hangs (rank 3 on n2, GPU 1)")
            text = mail.get_content().replace("\r\n", "\n")
            self.assertTrue(text.startswith("Do: tocsin stacks 4711 on n2, then restart the job\n"), text)
            self.assertIn("7 of 8 ranks wait in AllReduce 4711; rank 3 has not entered it", text)

    def test_a_mail_goes_out_by_tls_from_the_start(self):
        with MailServer("tls", "login") as server, Teller(self.address(server, "smtps")) as teller:
            teller("fire", 1)
            self.assertEqual(teller("drain", 20000), "0", teller.log())
            self.assertEqual(server.mails()[0]["X-TLS"], "True")

    def test_a_relay_on_this_machine_needs_neither_tls_nor_a_login(self):
        with MailServer() as server, Teller("mailto:ops@site.example?from=tocsin@site.example", "--relay",
                                            f"smtp://localhost:{server.port}") as teller:
            teller("fire", 1)
            self.assertEqual(teller("drain", 20000), "0", teller.log())
            self.assertEqual(server.mails()[0]["X-From"], "tocsin@site.example")

    def test_a_password_is_not_sent_without_tls_and_the_log_names_the_remedy(self):
        with MailServer("login", "plain") as server, Teller(self.address(server)) as teller:
            teller("fire", 1)
            teller.wait_for_result("failed")
            self.assertIn("mailto:ops@site.example cannot be reached and is retried: it offers no TLS, and a password is not sent without: "
                          "write smtps://, or leave out user and password_file", teller.log())

    def test_a_certificate_that_is_not_trusted_and_a_login_that_is_refused_are_named(self):
        other = self.folder / "other"
        other.mkdir()
        certificate(other)
        with MailServer("starttls", "login") as server:
            with Teller(self.address(server, ca_file=other / "cert.pem")) as teller:
                teller("fire", 1)
                teller.wait_for_result("failed")
                self.assertIn("its certificate is not trusted: ", teller.log())
                self.assertIn("; name its authority by ca_file", teller.log())
            wrong = self.secret("wrong", "another secret")
            with Teller(self.address(server, password_file=wrong)) as teller:
                teller("fire", 1)
                teller.wait_for_result("failed")
                self.assertIn("the login is refused: ", teller.log())
                self.assertNotIn("another secret", teller.log())
                wrong.write_text("a secret\n")    # it is read again
                teller.wait_for_result("sent")
                self.assertIn("mailto:ops@site.example can be reached again", teller.log())

    def test_an_address_that_the_server_refuses_for_good_is_given_up_with_a_line(self):
        with MailServer() as server, Teller("mailto:nobody@site.example", "mailto:later@site.example", "--relay",
                                            f"smtp://localhost:{server.port}") as teller:
            teller("fire", 1)
            teller.wait_for_result("refused")
            self.assertIn("mailto:nobody@site.example refuses '[critical] llama: A NCCL collective hangs (rank 3 on n2, GPU 1)', which is given up: ",
                          teller.log())
            status = teller.wait_for_result("failed", 2)
            self.assertEqual(status["receivers"]["mailto:later@site.example"]["waiting"], 1)

    def test_a_slow_server_delays_neither_other_receivers_nor_the_end(self):
        with MailServer("slow") as server, Sink() as sink:
            with Teller("mailto:ops@site.example", f"webhook:{sink.url}/", "--relay", f"smtp://localhost:{server.port}", "--time-out", 60000) as teller:
                teller("fire", 1)
                wait_for(lambda: (server.folder / "slow").exists(), what="the mail")
                teller("fire", 2)
                sink.wait_for(2)
                teller.process.stdin.close()
                self.assertEqual(teller.process.wait(20), 0)

    def test_the_mail_of_an_ended_job_has_the_verdict_and_its_files(self):
        (self.folder / "llama.log").write_bytes(bytes(range(256)) * 40)
        (self.folder / "llama.core").write_bytes(b"x" * (26 << 20))
        with MailServer("tls", "login") as server:
            with Teller(self.address(server, "smtps", artifacts=f"{self.folder}/{{job}}.*")) as teller:
                teller("end", "llama")
                self.assertEqual(teller("drain", 20000), "0", teller.log())
            (mail,) = server.mails()
            self.assertEqual(mail["Subject"], "[ended] llama: failed: collective hang (C2)")
            text, log = mail.iter_parts()
            self.assertIn("llama.core: 26.0 MiB, more than 25.0 MiB for one file", text.get_content())
            self.assertEqual((log.get_filename(), log.get_content()), ("llama.log", bytes(range(256)) * 40))


class Http(Folder):
    def test_a_webhook_gets_json_with_a_key_that_stays_the_same(self):
        answers = [500, 429, 200]
        with Sink(lambda number: answers[number - 1]) as sink:
            with Teller("--root", self.folder / "queue", f"webhook:{sink.url}/hook?team=a&token_file={self.secret('token', 'tok')}") as teller:
                teller("fire", 1)
                self.assertEqual(len(sink.wait_for(3)), 3)
                teller.wait_for_result("sent")
                self.assertEqual(teller.results(), {"failed": 2, "sent": 1})
                self.assertIn("it answers 500: invalid_payload", teller.log())
            self.assertEqual({headers["Idempotency-Key"] for headers in sink.headers}, {sink.received[0]["id"]})
            self.assertEqual({headers["Authorization"] for headers in sink.headers}, {"Bearer tok"})
            self.assertEqual(set(sink.paths), {"/hook?team=a"})
            self.assertEqual(sink.received[0]["alerts"][0]["rule"], "collective_hang")
            self.assertEqual(sink.received[0]["alerts"][0]["labels"], {"partition": "prod", "user": "ada"})

    def test_retry_after_is_waited_for(self):
        with Sink(429, headers=[("Retry-After", "3600")]) as sink, Teller(f"webhook:{sink.url}/", "--first-back-off", 1) as teller:
            teller("fire", 1)
            teller.wait_for_result("failed")
            teller("fire", 2)
            status = teller.wait_until(lambda status: next(iter(status["receivers"].values()))["waiting"] == 2)
            self.assertTrue(next(iter(status["receivers"].values()))["backs_off"])
            self.assertEqual(len(sink.received), 1)

    def test_what_is_refused_is_given_up_and_the_next_goes_on(self):
        with Sink(lambda number: 400 if number == 1 else 200) as sink, Teller(f"webhook:{sink.url}/") as teller:
            teller("fire", 1)
            teller.wait_for_result("refused")
            self.assertIn("which is given up: it answers 400: invalid_payload", teller.log())
            teller("fire", 2)
            teller.wait_for_result("sent")

    def test_a_sink_that_never_answers_delays_neither_the_others_nor_the_engine(self):
        with Sink(None) as never, Sink() as good, Teller(f"slack:{never.url}/", f"webhook:{good.url}/", "--time-out", 60000) as teller:
            teller("fire", 1)
            never.wait_for(1)
            teller("fire", 2)
            good.wait_for(2)
            self.assertLess(float(teller("flood", 2000)), 0.5)
            self.assertEqual(teller.status()["receivers"]["slack"]["results"], {})

    def test_a_sink_that_never_answers_is_tried_again(self):
        with Sink(lambda number: None if number == 1 else 200) as sink, Teller(f"webhook:{sink.url}/", "--time-out", 300) as teller:
            teller("fire", 1)
            sink.wait_for(2)
            teller.wait_for_result("sent")
            self.assertIn("it does not answer in time", teller.log())

    def test_tls_is_checked(self):
        cert, key = certificate(self.folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        with Sink(tls=context) as sink:
            with Teller(f"webhook:{sink.url}/") as teller:
                teller("fire", 1)
                teller.wait_for_result("failed")
                self.assertIn("its certificate is not trusted: ", teller.log())
            with Teller(f"webhook:{sink.url}/?ca_file={cert}") as teller:
                teller("fire", 1)
                teller.wait_for_result("sent")

    def test_a_secret_that_a_server_repeats_in_its_refusal_is_masked(self):
        with Sink(404, repeats=True) as sink:
            url, key, token = self.secret("url", sink.url + "/services/T0/hush"), self.secret("key", "hush-key"), self.secret("token", "hush-token")
            with Teller(f"slack:?url_file={url}&name=a", f"pagerduty:{sink.url}/v2/enqueue?key_file={key}&name=b", f"webhook:{sink.url}/?token_file={token}&name=c") as teller:
                teller("fire", 1)
                wait_for(lambda: teller.log().count("it answers 404") >= 3, what="three refusals")
                self.assertIn("cannot POST ***", teller.log())
                self.assertNotIn("hush", teller.log() + json.dumps(teller.status()))

    def test_each_medium_gets_its_form(self):
        with Sink() as sink:
            url = self.secret("url", sink.url + "/secret/hook")
            key = self.secret("key", "routing key")
            with Teller(*(f"{medium}:?url_file={url}" for medium in ("slack", "teams", "discord")),
                        f"pagerduty:{sink.url}/v2/enqueue?key_file={key}", f"alertmanager-webhook:{sink.url}/am") as teller:
                teller("fire", 1)
                self.assertEqual(teller("drain", 20000), "0", teller.log())
                teller("resolve", 1)
                self.assertEqual(teller("drain", 20000), "0", teller.log())
                self.assertNotIn("secret", json.dumps(teller.status()))
            self.assertEqual(len(sink.received), 10)
            events = [body for body in sink.received if "routing_key" in body]
            self.assertEqual([(event["routing_key"], event["event_action"], event["dedup_key"]) for event in events],
                             [("routing key", "trigger", "tocsin-0000000000000001"), ("routing key", "resolve", "tocsin-0000000000000001")])
            self.assertEqual(sum("embeds" in body for body in sink.received), 2)
            self.assertEqual([body["status"] for body in sink.received if "groupKey" in body], ["firing", "resolved"])


class Commands(Folder):
    def script(self, text):
        path = self.folder / "script"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o700)
        return path

    def test_a_command_gets_json_on_its_standard_input(self):
        with Teller(f"command:{self.script(f'cat > {self.folder}/got')} --flag") as teller:
            teller("fire", 1)
            teller.wait_for_result("sent")
        self.assertEqual(json.loads((self.folder / "got").read_text())["subject"], "[critical] llama: A NCCL collective hangs (rank 3 on n2, GPU 1)")

    def test_a_command_that_fails_is_missing_or_does_not_end_is_tried_again(self):
        for address, why in ((f"command:{self.script('echo no line; echo what is wrong >&2; exit 3')}", "script ended with exit status 3: what is wrong"),
                             ("command:/nowhere/notify", "cannot run /nowhere/notify: No such file or directory")):
            with self.subTest(why), Teller(address) as teller:
                teller("fire", 1)
                teller.wait_for_result("failed", 2)
                self.assertIn(why, teller.log())
        with Teller(f"command:{self.script(f'echo $$ > {self.folder}/pid; sleep 1000')}", "--time-out", 300) as teller:
            teller("fire", 1)
            teller.wait_for_result("failed")
            self.assertIn("it does not end in time", teller.log())
            pid = int((self.folder / "pid").read_text())
        self.assertFalse(os.path.exists(f"/proc/{pid}"))


class Disk(Folder):
    def test_what_cannot_be_sent_waits_on_disk_over_a_restart_and_is_sent_once(self):
        port = free_port()
        arguments = ["--root", self.folder / "queue", f"webhook:http://127.0.0.1:{port}/"]
        with Teller(*arguments) as teller:
            teller("fire", 1)
            teller.wait_for_result("failed")
            teller.kill()
        with Sink(port=port) as sink:
            with Teller(*arguments) as teller:
                sink.wait_for(1)
                teller.wait_for_result("sent")
                teller("fire", 1)      # comes again after the restart
                teller("fire", 2)
                sink.wait_for(2)
                self.assertEqual(teller("drain", 20000), "0")
            self.assertEqual([[alert["id"] for alert in body["alerts"]] for body in sink.received],
                             [["0000000000000001"], ["0000000000000002"]])

    def test_the_back_off_survives_a_restart(self):
        with Sink(429, headers=[("Retry-After", "3600")]) as sink:
            arguments = ["--root", self.folder / "queue", f"webhook:{sink.url}/"]
            with Teller(*arguments) as teller:
                teller("fire", 1)
                teller.wait_for_result("failed")
            with Teller(*arguments) as teller:
                teller("fire", 2)
                teller.wait_until(lambda status: next(iter(status["receivers"].values()))["waiting"] == 2)
            self.assertEqual(len(sink.received), 1)

    def test_a_killed_process_loses_nothing_that_waited_for_its_group(self):
        with Sink() as sink:
            arguments = ["--root", self.folder / "queue", f"webhook:{sink.url}/"]
            with Teller(*arguments, "--group", 60000) as teller:
                teller("fire", 1)
                wait_for(lambda: (self.folder / "queue/test/state.json").exists())
                teller.kill()
            with Teller(*arguments) as teller:
                sink.wait_for(1)

    def test_who_may_not_tell_does_not(self):
        with Sink() as sink, Teller("--not-alone", f"webhook:{sink.url}/") as teller:
            teller("fire", 1)
            teller("drain", 200)
            self.assertEqual(sink.received, [])
            teller("permit", 0, "always")
            sink.wait_for(1)
            teller("withdraw", 0)
            teller("fire", 2)
            self.assertNotEqual(teller("drain", 200), "0")
            self.assertEqual(len(sink.received), 1)

    def test_too_much_is_dropped_with_a_line(self):
        port = free_port()
        with Teller("--root", self.folder / "queue", "--queue-bytes", 6000, "--group", 0, f"webhook:http://127.0.0.1:{port}/") as teller:
            for number in range(8):
                teller("fire", number)
                teller.wait_until(lambda status: next(iter(status["receivers"].values()))["waiting"] > 0)
                teller("drain", 2000)
            teller.wait_for_result("dropped")
            self.assertIn("is dropped: too much waits", teller.log())


if __name__ == "__main__":
    needed()
    unittest.main()
