"""The service and people: a mail of an alert over a real SMTP server, a restart that repeats nothing, and what status and metrics show."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from service import Workplace, broker, small_rules  # noqa: E402
from tests.servers.mail import MailServer  # noqa: E402
from tests.servers.process import free_port, wait_for  # noqa: E402


class Notify(unittest.TestCase):
    def test_an_alert_is_a_mail_and_a_restart_sends_it_no_second_time(self):
        with tempfile.TemporaryDirectory() as state, MailServer() as server:
            os.environ["XDG_STATE_HOME"] = state
            self.addCleanup(os.environ.pop, "XDG_STATE_HOME")
            place = Workplace(broker(), "notify", partitions=1, rules=small_rules)
            self.addCleanup(place.close)
            away = f"webhook:http://127.0.0.1:{free_port()}/"
            more = ["--notify", f"smtp://localhost:{server.port}/?to=ops@site.example&from=tocsin@site.example&group=1s", "--notify", away]
            instance = place.instance("a", more=more)
            job = place.job("llama", 10, 0.1, 12, 20, 0.1, 0)
            wait_for(server.mails, 90, "a mail")
            self.assertEqual(instance.stop(), 0, "\n".join(instance.log))
            instance.start()
            wait_for(lambda: any(mail["Subject"].startswith("[resolved]") for mail in server.mails()), 90, "the resolve")
            job.wait()
            status = {one["name"]: one for one in instance.data("status")["notify"]["receivers"]}
            metrics = instance.metrics()
            self.assertEqual(instance.stop(), 0, "\n".join(instance.log))
            subjects = [mail["Subject"] for mail in server.mails()]
        self.assertEqual(subjects, ["[warning] llama: The job has made no step for two seconds",
                                    "[resolved] llama: The job has made no step for two seconds"])
        self.assertEqual(status["mailto:ops@site.example"]["last_error"], "")
        self.assertTrue(status[away.rstrip("/").replace("http://", "")]["backs_off"])
        self.assertEqual(metrics['tocsin_notifications_waiting{receiver="mailto:ops@site.example"}'], "0")


if __name__ == "__main__":
    unittest.main()
