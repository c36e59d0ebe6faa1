"""The role `ingest` against a real broker: records of other programs are judged, each once, over restarts."""

import base64
import json
import pathlib
import random
import re
import shutil
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from service import Instance, Workplace, of_job, small_rules, tocsin, topic  # noqa: E402
from tests.servers.kafka import Kafka, Producer, SecondBroker  # noqa: E402
from tests.servers.process import wait_for  # noqa: E402

kafka = None
CONFIG = """kafka: {{brokers: [{broker}], prefix: {prefix}, instance_id: one, session_timeout: 6s}}
rules: [{rules}]
http: {{listen: 127.0.0.1:0}}
ingest:
  group: {prefix}-ingest
  sources:
    - {{name: steps, topic: {prefix}-steps, format: influx}}
    - {{name: logs, topic: {prefix}-logs, format: logs_json, extract: {{file: "/log/{{job}}/{{rank}}.out"}}}}
"""


def setUpModule():
    global kafka
    kafka = Kafka(**{"auto.create.topics.enable": "true", "num.partitions": "2"}).start()     # a topic is there once something is written to it


def tearDownModule():
    kafka.stop()


def metric(service, name):
    value = service.metrics().get(name)
    return None if value is None else float(value)


class Ingest(unittest.TestCase):
    def place(self, prefix):
        place = Workplace(kafka, prefix, partitions=2)
        self.addCleanup(place.close)
        place.steps, place.logs = self.producer(f"{prefix}-steps"), self.producer(f"{prefix}-logs")
        place.steps.write("warm value=1")
        place.logs.write('{"message":"warm"}')
        place.config = pathlib.Path(place.folder, "tocsin.yml")
        place.config.write_text(CONFIG.format(broker=f"127.0.0.1:{kafka.port}", prefix=prefix, rules=place.rules))
        return place

    def instance(self, place):
        """One that reads both topics, which may take the broker a moment to make."""
        def started():
            service = Instance(None, None, config=place.config)
            place.started.append(service)
            wait_for(lambda: len(self.reading(service)) == 4 or service.process.poll() is not None, 60, "four partitions of sources")
            return service if service.process.poll() is None else None
        return wait_for(started, 60, "an instance that reads")

    def reading(self, service):
        return {found[1] for line in list(service.log) if (found := re.search(r"ingest: reading (\S+) from offset", line))}

    def producer(self, name, *properties):
        producer = Producer(kafka, name, "partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner", *properties)
        self.addCleanup(producer.close)
        return producer

    def test_records_of_other_programs_are_judged_while_they_come_and_silence_after_them_is_seen(self):
        place = self.place("judged")
        service = self.instance(place)
        steps, logs = place.steps, place.logs
        for step in range(1, 25):
            steps.write(*(f"step,job_id=seven,rank={rank},host=n1 value={step}i" for rank in range(2)))
            logs.write(json.dumps({"file": "/log/seven/1.out", "message": f"hello {step}"}))
            time.sleep(0.25)
        steps.write("step,rank=0 value=1", "oops")
        alerts = lambda: [json.loads(line) for line in of_job(topic(place.address, "alerts"), "seven")]  # noqa: E731
        found = wait_for(lambda: [one for one in alerts() if one["rule"] == "quiet" and one["state"] == "firing"], 40, "an alert on silence")
        self.assertEqual(found[0]["subject"], "seven")

        unattributed = [json.loads(line) for line in wait_for(lambda: topic(place.address, "unattributed"), 10, "what has no job")]
        self.assertEqual({(one["source"], one["topic"], one["reason"], one["text"]) for one in unattributed},
                         {("steps", "judged-steps", "no_job", "step,rank=0 value=1"), ("steps", "judged-steps", "malformed", "oops"),
                          ("steps", "judged-steps", "no_job", "warm value=1"), ("logs", "judged-logs", "no_job", '{"message":"warm"}')})
        wait_for(lambda: metric(service, 'tocsin_ingest_left_out_total{source="steps",reason="no_job"}') == 2, 5, "the count of it")
        self.assertEqual(metric(service, 'tocsin_ingest_messages_total{source="steps"}'), 51)
        self.assertEqual(metric(service, 'tocsin_ingest_entries_total{source="logs"}'), 24)
        self.assertLess(metric(service, 'tocsin_ingest_behind_seconds{source="steps"}'), 5)
        self.assertTrue(any("source steps: 1 times no_job, last judged-steps/" in line for line in service.log))
        self.assertEqual(service.stop(), 0)

    def test_an_instance_that_is_killed_while_it_reads_loses_nothing_and_doubles_nothing(self):
        place = self.place("killed")
        service = self.instance(place)
        steps, messages = place.steps, 0
        for kill in (False, True, True, False):
            for _ in range(60):
                steps.write(*(f"step,job_id=k,rank={rank} value={messages // 4 + 1}i" for rank in range(4)))
                messages += 4
                time.sleep(0.04)
            if kill:
                service.kill()
                service = self.instance(place)
        steps.close()
        wait_for(lambda: (metric(service, 'tocsin_ingest_behind_seconds{source="steps"}') or 99) < 3, 40, "the end of the topic")
        time.sleep(2)
        journal = pathlib.Path(place.folder, "recorded")
        done = tocsin("record", "--kafka", place.address, "--job", "k", journal)
        self.assertEqual(done.returncode, 0, done.stderr)
        replayed = tocsin("replay", journal, "--quiet", "--counters")
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        words = replayed.stdout.split()
        counts = {name: int(count) for name, count in zip(words, words[1:]) if count.isdigit()}
        self.assertEqual(counts["samples"], messages, replayed.stdout)
        self.assertEqual(service.stop(), 0)
        shutil.rmtree(journal)

    def test_a_message_whose_names_are_of_megabytes_costs_itself_alone(self):
        place = self.place("huge")
        service = self.instance(place)
        kafka.configure("huge-logs", "max.message.bytes=8000000")
        name = base64.b64encode(random.Random(1).randbytes(1_500_000)).decode()    # that no compression makes small
        self.producer("huge-logs", "max.request.size=8000000").write(json.dumps({name: 1, "message": "of no job"}))
        wait_for(lambda: metric(service, 'tocsin_ingest_left_out_total{source="logs",reason="no_job"}') == 2 or service.process.poll() is not None,
                 40, "the message")
        place.steps.write("step,job_id=h,rank=0 value=1i")
        wait_for(lambda: metric(service, 'tocsin_ingest_entries_total{source="steps"}') == 1 or service.process.poll() is not None, 20, "what follows")
        time.sleep(2)
        self.assertIsNone(service.process.poll(), service.log[-3:])
        self.assertEqual(service.stop(), 0)

    def test_a_topic_that_is_not_there_is_named(self):
        place = self.place("missing")
        place.config.write_text(place.config.read_text().replace("missing-steps", "no-such-topic"))
        service = Instance(None, None, config=place.config)
        place.started.append(service)
        self.assertEqual(service.process.wait(60), 2)
        wait_for(lambda: any("there is no topic no-such-topic" in line for line in service.log), 5, "the reason")


class TwoBrokers(unittest.TestCase):
    def write(self, broker, name, line):
        """Makes the topic as well."""
        producer = Producer(broker, name)
        producer.write(line)
        producer.close()

    def test_a_source_whose_broker_does_not_answer_makes_no_quiet_source_look_late(self):
        with Kafka(**{"auto.create.topics.enable": "true", "num.partitions": "2", "broker.session.timeout.ms": "300000"}) as first:
            place = Workplace(first, "led", partitions=1, rules=small_rules)
            self.addCleanup(place.close)
            before = place.instance("one")    # the brokers' own topics come with it, on the first broker
            wait_for(lambda: before.partitions() == {0}, 60, "the partition")
            self.assertEqual(before.stop(), 0)
            self.write(first, "b-quiet", "v,job_id=q value=1")
            with SecondBroker(first) as second:
                self.write(first, "a-lost", "v,job_id=l value=1")    # a partition on each broker
                config = pathlib.Path(place.folder, "tocsin.yml")
                config.write_text(f"kafka: {{brokers: [127.0.0.1:{first.port}], prefix: led, group: led, instance_id: one, session_timeout: 6s}}\n"
                                  f"rules: [{place.rules}]\nhttp: {{listen: 127.0.0.1:0}}\ningest:\n  sources:\n"
                                  "    - {name: lost, topic: a-lost, format: influx}\n    - {name: quiet, topic: b-quiet, format: influx}\n")
                service = Instance(None, None, config=config)
                place.started.append(service)
                behind = lambda source: metric(service, f'tocsin_ingest_behind_seconds{{source="{source}"}}') or 99  # noqa: E731
                wait_for(lambda: behind("lost") < 3 and behind("quiet") < 3, 40, "both to be read")
                second.pause()    # as where a firewall drops what is sent to it: no answer, and no refusal
                self.addCleanup(second.kill)
                wait_for(lambda: behind("lost") > 12, 40, "a source that is late")
                self.assertLess(behind("quiet"), 5)
                second.resume()
                wait_for(lambda: behind("lost") < 5, 60, "the source whose broker answers again")
                self.assertEqual(service.stop(), 0)


if __name__ == "__main__":
    unittest.main()
