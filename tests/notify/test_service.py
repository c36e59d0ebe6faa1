"""The service and people, without Kafka: a mail of an alert over a real SMTP server, a restart that repeats nothing, and what status and
metrics show."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.servers.mail import MailServer, needed  # noqa: E402
from tests.servers.process import free_port, wait_for  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOCSIN = os.environ.get("TOCSIN", str(ROOT / "build/release/adapters/cli/tocsin"))


class Service:
    """`tocsin run` with a log of its own."""

    def __init__(self, folder, *options):
        self.port = free_port()
        self.arguments = [TOCSIN, "run", "--rules", folder / "rules", "--listen", f"127.0.0.1:{self.port}", *options]
        self.environment = dict(os.environ, XDG_STATE_HOME=str(folder / "state"))

    def __enter__(self):
        self.log = []
        self.process = subprocess.Popen(self.arguments, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()
        wait_for(lambda: self.get("/-/ready"), 60, "the service")
        return self

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        finally:
            self.process.kill()


class People(unittest.TestCase):
    def test_an_alert_is_a_mail_and_a_restart_sends_it_no_second_time(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        (folder / "rules").mkdir()
        shutil.copytree(ROOT / "rules" / "progress", folder / "rules" / "progress")
        for rule in (ROOT / "rules/signals.lua", ROOT / "rules/verdict.lua", ROOT / "tests/service/quiet.lua"):
            shutil.copy(rule, folder / "rules")
        away = f"127.0.0.1:{free_port()}"
        with MailServer() as server:
            service = Service(folder, "--notify", f"smtp://localhost:{server.port}/?to=ops@site.example&from=tocsin@site.example&group=1s",
                              "--notify", f"webhook:http://{away}/")
            gate = folder / "gate"
            script = (f"for i in 1 2 3 4 5; do echo \"iter $i: loss 2.$i, time 100.00ms, mfu 10.00%\"; done; while [ ! -e {gate} ]; do sleep 0.1; "
                      "done; for i in 6 7 8; do echo \"iter $i: loss 2.$i, time 100.00ms, mfu 10.00%\"; sleep 1; done")
            with service:
                job = subprocess.Popen([TOCSIN, "wrap", "--job", "llama", "--to", f"http://127.0.0.1:{service.port}", "--", "sh", "-c", script],
                                       env=dict(os.environ, XDG_STATE_HOME=str(folder / "job"), RANK="0", WORLD_SIZE="1"),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                wait_for(server.mails, 90, "a mail")
                waits = wait_for(lambda: [one for one in self.status(service) if one["name"] == f"webhook:{away}" and one["backs_off"]], 30, "a failure")
                self.assertEqual(waits[0]["waiting"], 1)
            with service:    # the same log, and the same messages that wait
                gate.touch()
                wait_for(lambda: len(server.mails()) >= 2, 120, "the resolve")
                job.wait(60)
                metrics = service.get("/metrics")
                self.assertEqual([one["waiting"] > 0 for one in self.status(service)], [False, True])
            subjects = [mail["Subject"] for mail in server.mails()]
        summary = "llama: The job has made no step for two seconds"
        self.assertEqual(subjects[:2], [f"[warning] {summary}", f"[resolved] {summary}"])
        self.assertEqual(len(subjects), len(set(subjects)))
        self.assertRegex(metrics, r'tocsin_notifications_total\{receiver="mailto:ops@site.example",result="sent"\} 1\n')
        self.assertTrue(re.search(rf"webhook:{away} cannot be reached and is retried: ", "".join(service.log)), service.log)

    def status(self, service):
        return json.loads(service.get("/api/v1/status"))["data"]["notify"]["receivers"]


if __name__ == "__main__":
    needed()
    unittest.main()
