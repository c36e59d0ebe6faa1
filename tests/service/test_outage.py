"""The service and a real broker that is killed, or answers nothing for a while; and what is stopped meanwhile."""

import pathlib
import re
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from service import Instance, Workplace, broker, small_rules, tocsin, topic  # noqa: E402
from tests.servers.process import wait_for  # noqa: E402

kafka = None


def setUpModule():
    global kafka
    kafka = broker()


class Outage(unittest.TestCase):
    def place(self, prefix, **options):
        place = Workplace(kafka, prefix, **options)
        self.addCleanup(place.close)
        return place

    def test_beats_go_on_after_the_broker_answered_nothing_for_seconds(self):
        place = self.place("stunned", partitions=2)
        service = place.instance(session=30)
        wait_for(lambda: len(service.partitions()) == 2, 30, "both partitions")
        beats = lambda: min(float(value) for name, value in service.metrics().items() if name.startswith("tocsin_beats_total"))  # noqa: E731
        wait_for(lambda: beats() >= 2, 30, "beats")
        kafka.pause()
        time.sleep(5)
        kafka.resume()
        before = beats()
        wait_for(lambda: beats() >= before + 8, 60, "beats after it")

    def test_an_instance_that_is_stopped_while_the_broker_answers_nothing_ends_in_time_and_names_what_is_not_committed(self):
        held, lost = (self.place(name, partitions=2, rules=small_rules) for name in ("held", "lost"))
        file = pathlib.Path(held.folder, "tocsin.yml")
        file.write_text(f"""kafka: {{brokers: ["127.0.0.1:{kafka.port}"], prefix: held, group: held, instance_id: a, session_timeout: 30s}}
rules: [{held.rules}]
http: {{listen: "127.0.0.1:0"}}
ingest: {{group: held-ingest, sources: [{{name: lines, topic: lost.unattributed, format: influx}}]}}
""")
        service = Instance(None, None, config=file)
        held.started.append(service)
        gone, hasty = lost.instance("gone", session=3), lost.instance("hasty", session=3)
        wait_for(lambda: len(service.partitions()) == 2 and len(gone.partitions()) == len(hasty.partitions()) == 1, 30, "partitions")
        wait_for(lambda: 'tocsin_ingest_behind_seconds{source="lines"}' in service.metrics(), 20, "the source")
        wait_for(lambda: all(service.metrics().get(f'tocsin_beats_total{{partition="{one}"}}', "0") != "0" for one in range(2)), 20, "beats")
        kafka.pause()
        self.addCleanup(kafka.resume)
        wait_for(lambda: all(any("session timed out" in line for line in one.log) for one in (gone, hasty)), 20, "the loss of partitions")
        begun = time.monotonic()
        for one in (service, gone, hasty):
            one.process.send_signal(signal.SIGTERM)
        time.sleep(1)
        hasty.process.send_signal(signal.SIGTERM)
        self.assertEqual(hasty.process.wait(5), 3, hasty.log)
        self.assertEqual((service.process.wait(30), gone.process.wait(30)), (3, 3), service.log + gone.log)
        self.assertLess(time.monotonic() - begun, 24)
        kafka.resume()
        for one in (service, gone, hasty):
            one.reading.join(5)
        logged = [line.split(" message=", 1)[1].strip('"') for line in service.log]
        for partition in range(2):
            self.assertTrue(any(re.match(rf"partition {partition}: what was judged from offset \d+ on (is not|may not be) committed \(\d+ reports?\), and the next "
                                         "owner judges it again: ", line) for line in logged), logged)
        self.assertTrue(any(re.match(r"ingest: not drained: the brokers did not take \d+ records", line) for line in logged), logged)
        again = "not drained: what was judged after the last commit is not committed; the next instance judges it again"
        self.assertIn(again, logged)
        self.assertIn("tocsin: " + again, gone.log)
        self.assertTrue(any("ended at once by a second signal: " in line for line in hasty.log), hasty.log)
        self.assertFalse({"drained", "tocsin: drained"} & {*logged, *gone.log, *hasty.log})
        service.start()
        wait_for(lambda: len(service.partitions()) == 2, 30, "the next instance has the partitions")
        self.assertEqual(service.stop(), 0, service.log)

    def test_what_a_job_wrote_while_the_broker_was_away_is_sent_later(self):
        place = self.place("away")
        job = place.job("away", 8, 0.25, 3.5)
        wait_for(lambda: len(topic(place.address, "telemetry")) > 3, 20, "records")
        kafka.kill()
        job.process.wait(60)
        self.assertEqual(job.wait(), 0)
        self.assertRegex(job.printed, r"tocsin: \d+ entries are not sent; later: tocsin forward ")
        kafka.start()
        later = tocsin("forward", job.journal, "--to", place.address)
        self.assertEqual(later.returncode, 0, later.stderr)
        self.assertRegex(later.stdout, r"^[1-9]\d* entries sent, 0 left\n$")
        again = tocsin("forward", job.journal, "--to", place.address)
        self.assertEqual((again.returncode, again.stdout), (0, "0 entries sent, 0 left\n"), again.stderr)


if __name__ == "__main__":
    unittest.main()
