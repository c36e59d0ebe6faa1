"""The service against a real broker: its topics, alerts of jobs that run, and what a restart or a second instance changes (nothing)."""

import json
import os
import pathlib
import random
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from service import Workplace, of_job, tocsin, topic, until, while_it_runs  # noqa: E402
from tests.servers.kafka import Kafka, Unavailable  # noqa: E402

kafka = None


def setUpModule():
    global kafka
    try:
        kafka = Kafka()
        kafka.start()
    except Unavailable as missing:
        raise unittest.SkipTest(str(missing)) from None


def tearDownModule():
    kafka.stop()


class Topics(unittest.TestCase):
    def test_topics_are_made_once_and_with_the_settings_that_they_need(self):
        address = f"{kafka.address}/made"
        first, again = (tocsin("topics", "create", "--kafka", address, "--partitions", "3") for _ in range(2))
        self.assertEqual((first.returncode, len(first.stdout.splitlines())), (0, 8), first.stderr)
        self.assertEqual((again.returncode, again.stdout), (0, ""), again.stderr)
        self.assertEqual(tocsin("topics", "check", "--kafka", address).returncode, 0)

    def test_a_topic_with_the_producers_times_is_refused_and_the_remedy_mends_it(self):
        address = f"{kafka.address}/times"
        self.assertEqual(tocsin("topics", "create", "--kafka", address, "--partitions", "1").returncode, 0)
        alter = ["kafka.admin.ConfigCommand", "--bootstrap-server", f"127.0.0.1:{kafka.port}", "--alter", "--entity-type", "topics",
                 "--entity-name", "times.telemetry", "--add-config"]
        kafka.java(*alter, "message.timestamp.type=CreateTime")
        remedy = (f"topic times.telemetry: message.timestamp.type is CreateTime, it must be LogAppendTime; mend it: kafka-configs.sh "
                  f"--bootstrap-server 127.0.0.1:{kafka.port} --alter --entity-type topics --entity-name times.telemetry --add-config "
                  "message.timestamp.type=LogAppendTime")
        for command, code in ((["topics", "check"], 1), (["run"], 2)):
            done = tocsin(*command, "--kafka", address)
            self.assertEqual((done.returncode, done.stderr), (code, f"tocsin: {remedy}\n"))
        kafka.java(*alter, remedy.split()[-1])
        self.assertEqual(tocsin("topics", "check", "--kafka", address).returncode, 0)

    def test_topics_that_are_not_there_are_named_with_the_command_that_makes_them(self):
        done = tocsin("run", "--kafka", f"{kafka.address}/none")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"topic none.telemetry does not exist; make it: tocsin topics create --kafka 127.0.0.1:{kafka.port}/none", done.stderr)

    def test_a_broker_that_is_not_there_is_named(self):
        done = tocsin("run", "--kafka", "kafka://127.0.0.1:1")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no Kafka broker answers at 127.0.0.1:1", done.stderr)


class Service(unittest.TestCase):
    def place(self, prefix, **options):
        place = Workplace(kafka, prefix, **options)
        self.addCleanup(place.close)
        return place

    def assert_alerts_of(self, place, job, seconds=20):
        """What the topic has of the job is what a replay of its journal gives, each once and in its order. Equal are whole lines: records
        arrive when they were appended to the journal, and the job's clock is the journal's, by watermarks. Only what follows from the end
        two minutes later is left out."""
        expected = while_it_runs(job.replayed())
        self.assertGreaterEqual(len(expected), 2)
        found = lambda: while_it_runs(of_job(topic(place.address, "alerts"), job.name))  # noqa: E731
        until(lambda: len(found()) >= len(expected), seconds, f"{len(expected)} alerts of {job.name}")
        self.assertEqual(found(), expected)

    def test_a_wrapped_job_makes_the_alerts_that_its_journal_makes(self):
        place = self.place("one")
        service = place.instance()
        job = place.job("one", 12, 0.25, 6, 8, 0.25, 0)
        self.assertEqual(job.wait(), 0)
        self.assert_alerts_of(place, job)
        self.assertEqual(service.stop(), 0)
        fired = [json.loads(line)["rule"] for line in of_job(topic(place.address, "alerts"), "one")]
        self.assertIn("quiet", fired)


if __name__ == "__main__":
    unittest.main()
