"""`tocsin wrap --notify`: what people get of a run, what is left for the next run, and failures of all kinds that leave the command's
output and exit status alone."""

import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from teller import Sink  # noqa: E402
from tests.servers.mail import MailServer, certificate, needed  # noqa: E402
from tests.servers.process import free_port, wait_for  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOCSIN = os.environ.get("TOCSIN", str(ROOT / "build/release/adapters/cli/tocsin"))
TRAINING = """
for i in 1 2 3 4 5 6 7 8; do echo "iter $i: loss 2.$i, time 100.00ms, mfu 10.00%"; sleep 0.05; done
echo 'RuntimeError: the data is gone' >&2
exit 7
"""


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.state = self.folder / "state"
        self.rules = self.folder / "rules"    # few, so that a run takes no time
        self.rules.mkdir()
        shutil.copytree(ROOT / "rules" / "progress", self.rules / "progress")
        for name in ("signals.lua", "verdict.lua"):
            shutil.copy(ROOT / "rules" / name, self.rules)
        self.environment = dict(os.environ, XDG_STATE_HOME=str(self.state), RANK="0", WORLD_SIZE="1", TERM="dumb")
        self.environment.pop("TOCSIN_SMTP", None)

    def secret(self, name, text):
        (self.folder / name).write_text(text + "\n")
        return self.folder / name

    def start(self, *addresses, script=TRAINING, environment=None):
        options = [word for address in addresses for word in ("--notify", str(address))]
        return subprocess.Popen([TOCSIN, "wrap", "--job", "llama", "--rules", self.rules, *options, "--", "sh", "-c", script],
                                env={**self.environment, **(environment or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def wrap(self, *addresses, **options):
        process = self.start(*addresses, **options)
        process.printed, process.errors = process.communicate(timeout=120)
        return process

    def flush(self):
        return subprocess.run([TOCSIN, "notify", "--flush"], env=self.environment, capture_output=True, text=True, timeout=60)

    def queue(self):
        return list(self.state.glob("tocsin/notify/*/*.msg"))


class Notices(Run):
    def test_the_mail_of_a_run_that_failed_has_its_end_and_its_last_lines(self):
        password = self.secret("password", "a secret")
        with MailServer("starttls", "login") as server:
            relay = f"smtp://ada%40site.example@localhost:{server.port}/?password_file={password}&ca_file={server.ca}"
            done = self.wrap("mailto:ops@site.example", environment={"TOCSIN_SMTP": relay})
            self.assertEqual(done.returncode, 7, done.errors)
            (mail,) = server.mails()
        self.assertEqual(mail["Subject"], "[ended] llama: failed: no cause found")
        text = mail.get_content().replace("\r\n", "\n")
        self.assertTrue(text.startswith("Found: job llama failed with exit status 7: RuntimeError: the data is gone\n"), text)
        self.assertIn("  | iter 8: loss 2.8, time 100.00ms, mfu 10.00%\n  | RuntimeError: the data is gone\n", text)
        self.assertEqual(self.queue(), [])

    def test_what_is_not_sent_is_named_and_goes_out_with_the_next_run_or_by_flush(self):
        port = free_port()
        for again in ("the next run", "flush"):
            with self.subTest(again):
                done = self.wrap(f"webhook:http://127.0.0.1:{port}/")
                self.assertEqual(done.returncode, 7)
                self.assertIn(f"tocsin: 1 message to webhook:127.0.0.1:{port} is not sent: ", done.errors)
                self.assertIn("tocsin: notify: the next `tocsin wrap --notify` sends them, or `tocsin notify --flush` now", done.errors)
                self.assertEqual(len(self.queue()), 1)
                self.assertEqual(self.flush().returncode, 1)
                self.assertEqual(len(self.queue()), 1)
                with Sink(port=port) as sink:
                    if again == "flush":
                        flushed = self.flush()
                        self.assertEqual((flushed.returncode, flushed.stdout), (0, "1 sent, 0 left\n"))
                        self.assertEqual(len(sink.received), 1)
                    else:
                        self.wrap(f"webhook:http://127.0.0.1:{port}/")
                        self.assertEqual(len(sink.received), 2)
                self.assertEqual(self.queue(), [])

    def test_an_address_that_is_wrong_is_refused_before_the_command_runs(self):
        done = self.wrap("slack:", script="echo ran")
        self.assertEqual((done.returncode, done.printed), (2, ""))
        self.assertIn("tocsin wrap: --notify: it has no address: add url_file=FILE", done.errors)

    def test_a_test_message_says_for_each_receiver_whether_it_came(self):
        with Sink() as good, Sink(404) as gone:
            done = subprocess.run([TOCSIN, "notify", "--test", f"webhook:{good.url}/", f"slack:{gone.url}/"], capture_output=True, text=True,
                                  timeout=60, env=self.environment)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["slack: it answers 404: invalid_payload", f"webhook:127.0.0.1:{good.port}: sent"])
        self.assertEqual(good.received[0]["kind"], "test")


class Garbage:
    """A server that answers with what no protocol knows, or closes at once."""

    def __init__(self, answer):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.answer = answer
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            while True:
                connection = self.socket.accept()[0]
                if self.answer:
                    connection.sendall(self.answer)
                connection.close()
        except OSError:
            pass

    def stop(self):
        self.socket.close()


class Failures(Run):
    """Each of these fails to notify; the command's output and exit status are its own. They run side by side."""

    def engine_of(self, process):
        for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                name, rest = status.read_text().split("(", 1)[1].rsplit(")", 1)
            except (OSError, IndexError):
                continue
            if name == "tocsin-engine" and int(rest.split()[1]) == process.pid:
                return int(status.parent.name)
        return None

    def full_disk(self):
        folder = self.folder / "full"
        folder.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True).returncode != 0:
            return self.folder / "not mounted"    # mounting is not allowed here
        self.addCleanup(subprocess.run, ["umount", "-l", folder])
        return folder

    def test_the_exit_status_is_the_commands_own_whatever_fails(self):
        password, wrong = self.secret("password", "a secret"), self.secret("wrong", "another one")
        other = self.folder / "other"
        other.mkdir()
        cert, key = certificate(other)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        script = self.folder / "script"
        script.write_text("#!/bin/sh\ncase $1 in fails) exit 1;; hangs) sleep 1000;; esac\n")
        script.chmod(0o700)
        with (MailServer("starttls", "login") as tls, MailServer() as plain, MailServer("slow") as slow, Sink(200) as good, Sink(429) as busy,
              Sink(500) as broken, Sink(400) as refusing, Sink(None) as never, Sink(tls=context) as untrusted):
            garbage, closing = Garbage(b"\0\1\2 what is this\r\n"), Garbage(b"")
            self.addCleanup(garbage.stop)
            self.addCleanup(closing.stop)
            user = "ada%40site.example@"
            failures = {
                "relay unreachable": "smtp://192.0.2.1:25/?to=a@site.example",
                "relay refused": f"smtp://localhost:{free_port()}/?to=a@site.example",
                "relay slow": f"smtp://localhost:{slow.port}/?to=a@site.example",
                "recipient refused": f"smtp://localhost:{plain.port}/?to=nobody@site.example",
                "certificate not trusted": f"smtp://{user}localhost:{tls.port}/?to=a@site.example&password_file={password}&ca_file={cert}",
                "no TLS": f"smtp://{user}localhost:{plain.port}/?to=a@site.example&password_file={password}",
                "login wrong": f"smtp://{user}localhost:{tls.port}/?to=a@site.example&password_file={wrong}&ca_file={tls.ca}",
                "no password file": f"smtp://{user}localhost:{tls.port}/?to=a@site.example&password_file=/nowhere/password",
                "name not resolved": "webhook:http://no-such-host.invalid/",
                "HTTP certificate not trusted": f"webhook:{untrusted.url}/",
                "sink answers 400": f"slack:{refusing.url}/",
                "sink answers 429": f"slack:{busy.url}/",
                "sink answers 500": f"webhook:{broken.url}/",
                "sink never answers": f"webhook:{never.url}/",
                "sink answers nonsense": f"webhook:http://127.0.0.1:{garbage.port}/",
                "sink closes": f"webhook:http://127.0.0.1:{closing.port}/",
                "command missing": "command:/nowhere/notify",
                "command fails": f"command:{script} fails",
                "command hangs": f"command:{script} hangs",
            }
            runs = {name: self.start(address, environment={"XDG_STATE_HOME": str(self.folder / f"state of {name}")})
                    for name, address in failures.items()}
            file = self.secret("a file", "")
            for name, state in {"queue directory not writable": "/proc/tocsin", "queue directory is a file": str(file),
                                "full disk": str(self.full_disk())}.items():
                runs[name] = self.start(f"webhook:{broken.url}/", environment={"XDG_STATE_HOME": state})
            runs["all at once"] = self.start(*failures.values(), environment={"XDG_STATE_HOME": str(self.folder / "state of all")})
            gate = self.folder / "gate"
            killed = self.start(f"webhook:{good.url}/killed", script=f"while [ ! -e {gate} ]; do sleep 0.05; done\n" + TRAINING)
            os.kill(wait_for(lambda: self.engine_of(killed), what="the engine"), signal.SIGKILL)
            gate.touch()
            runs["notifier killed"] = killed
            ended = self.start(f"webhook:{broken.url}/", script="kill -9 $$", environment={"XDG_STATE_HOME": str(self.folder / "state of signal")})
            for name, process in runs.items():
                with self.subTest(name):
                    printed, errors = process.communicate(timeout=180)
                    self.assertEqual((process.returncode, len(printed.splitlines())), (7, 8), errors)
            ended.communicate(timeout=180)
            self.assertEqual(ended.returncode, -signal.SIGKILL)
            # The engine that was killed has a successor, which sends what the first one could not.
            self.assertEqual([body["subject"] for body in good.received], ["[ended] llama: failed: no cause found"])


if __name__ == "__main__":
    needed()
    unittest.main()
