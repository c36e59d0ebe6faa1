"""The service against a real broker: its topics, alerts of jobs that run, and what a restart or a second instance changes (nothing)."""

import json
import os
import pathlib
import random
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from open_transaction import OpenTransaction  # noqa: E402
from service import Instance, Workplace, broker, of_job, recorded, tocsin, topic, while_it_runs  # noqa: E402
from tests.servers.alertmanager import Alertmanager  # noqa: E402
from tests.servers.process import free_port, wait_for  # noqa: E402

kafka = None


def setUpModule():
    global kafka
    kafka = broker()


class Topics(unittest.TestCase):
    def test_topics_are_made_once_and_with_the_settings_that_they_need(self):
        address = f"{kafka.address}/made"
        first, again = (tocsin("topics", "create", "--kafka", address, "--partitions", "3") for _ in range(2))
        self.assertEqual((first.returncode, len(first.stdout.splitlines())), (0, 7), first.stderr)
        self.assertEqual((again.returncode, again.stdout), (0, ""), again.stderr)
        other = tocsin("topics", "create", "--kafka", address, "--partitions", "5")
        self.assertEqual((other.returncode, other.stdout), (2, ""))
        self.assertIn("--partitions 5: topic made.telemetry has 3, which never change; more are a new prefix", other.stderr)
        self.assertEqual(tocsin("topics", "create", "--kafka", address).returncode, 0)
        self.assertEqual(tocsin("topics", "check", "--kafka", address).returncode, 0)

    def test_a_topic_with_the_producers_times_is_refused_and_the_remedy_mends_it(self):
        address = f"{kafka.address}/times"
        self.assertEqual(tocsin("topics", "create", "--kafka", address, "--partitions", "1").returncode, 0)
        alter = ["kafka.admin.ConfigCommand", "--bootstrap-server", f"127.0.0.1:{kafka.port}", "--alter", "--entity-type", "topics",
                 "--entity-name", "times.telemetry", "--add-config"]
        kafka.java(*alter, "message.timestamp.type=CreateTime")
        remedy = (f"topic times.telemetry: message.timestamp.type is CreateTime, it must be LogAppendTime; fix it: kafka-configs.sh "
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

    def test_a_broker_that_is_not_there_is_named_and_librdkafka_logs_in_the_form_that_is_configured(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write("kafka: {brokers: [127.0.0.1:1]}\nlog: {format: json}\n")
            file.flush()
            done = tocsin("run", "--config", file.name)
        self.assertEqual(done.returncode, 3)
        lines = done.stderr.splitlines()
        self.assertIn("no Kafka broker answers at 127.0.0.1:1", lines.pop())
        self.assertTrue(lines)
        for line in lines:
            self.assertEqual(json.loads(line)["level"], "error")
            self.assertRegex(json.loads(line)["message"], "^kafka: .*127.0.0.1:1")


class Service(unittest.TestCase):
    def place(self, prefix, **options):
        place = Workplace(kafka, prefix, **options)
        self.addCleanup(place.close)
        return place

    def assert_alerts(self, place, job, expect, seconds=40):
        """The job ends, and the topic has what `expect` gives of it, line for line, each once and in their order; and seconds later it still has."""
        self.assertEqual(job.wait(), 0)
        found = lambda: while_it_runs(of_job(topic(place.address, "alerts"), job.name))  # noqa: E731
        try:
            wait_for(lambda: 2 <= len(found()) == len(while_it_runs(expect())), seconds, f"the alerts of {job.name}")
        except AssertionError:
            self.assertEqual(found(), while_it_runs(expect()))
            raise
        time.sleep(3)
        self.assertEqual(found(), while_it_runs(expect()))

    def assert_shown(self, service):
        """An alert of the job "one" fires: the server of the instance shows it, and what the engine does."""
        self.assertEqual(service.get("/-/ready")[0], 200)
        shown = lambda: json.loads(service.get("/api/v1/alerts?job=one&state=firing")[1])["data"]  # noqa: E731
        self.assertEqual(wait_for(shown, 5, "the alert by the API")[0]["rule"], "quiet")
        self.assertIn("quiet", [rule["name"] for rule in json.loads(service.get("/api/v1/rules")[1])["data"]])
        status = json.loads(service.get("/api/v1/status")[1])["data"]
        self.assertRegex(status["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
        self.assertIn('src="page.js"', service.get("/")[1])
        self.assertEqual([(one["partition"], one["restored"]) for one in status["partitions"]], [(0, 1), (1, 1), (2, 1)])
        metrics = lambda: dict(line.rsplit(" ", 1) for line in service.get("/metrics")[1].splitlines() if not line.startswith("#"))  # noqa: E731
        total = lambda of: sum(float(value) for name, value in metrics().items() if name.startswith(of))  # noqa: E731
        wait_for(lambda: total("tocsin_commits_total") > 0 and total("tocsin_lines_total") > 5, 5, "figures of what was judged")
        self.assertEqual(metrics()["tocsin_ready"], "1")
        for partition in range(3):
            self.assertLess(float(metrics()[f'tocsin_lag_seconds{{partition="{partition}"}}']), 10)
            self.assertLess(float(metrics()[f'tocsin_lag_records{{partition="{partition}"}}']), 100)

    def test_a_configuration_does_what_the_options_do(self):
        place = self.place("configured", partitions=1)
        file = pathlib.Path(place.folder, "tocsin.yml")
        broker = place.address.removeprefix("kafka://").split("/")[0]
        site = pathlib.Path(place.folder, "site")
        site.mkdir()
        (site / "quiet.lua").write_text((pathlib.Path(__file__).parent / "quiet.lua").read_text())
        file.write_text(f"""kafka:
  brokers: [{broker}]
  prefix: configured
  instance_id: by-file
  session_timeout: 6s
rules: [shipped, {site}]
http:
  listen: 127.0.0.1:0
log:
  format: json
""")
        service = Instance(None, None, config=file)
        place.started.append(service)
        wait_for(lambda: any("judging from offset" in line for line in service.log), 40, "a partition")
        for line in service.log:
            one = json.loads(line)     # also librdkafka's own
            self.assertEqual(one["level"] == "info" or one["message"].startswith("kafka: "), True, line)
        self.assertEqual(json.loads(service.get("/api/v1/status")[1])["data"]["instance"], "by-file")
        rules = [rule["name"] for rule in json.loads(service.get("/api/v1/rules")[1])["data"]]
        self.assertIn("quiet", rules)
        self.assertIn("straggler", rules)
        self.assertEqual(service.stop(), 0)
        port = free_port()
        file.write_text(file.read_text().replace("format: json", "level: warning").replace("127.0.0.1:0", f"127.0.0.1:{port}"))
        service.start()
        wait_for(lambda: service.get("/-/ready", port=port)[0] == 200, 40, "an instance that is ready")
        self.assertEqual(service.stop(), 0)
        self.assertEqual([line for line in service.log if "level=warning" not in line and "level=error" not in line], [])
        file.write_text("kafka:\n  brokers: [" + broker + "]\n  prefx: configured\n")
        wrong = tocsin("run", "--config", file)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("tocsin.yml:3:3: ", wrong.stderr)

    def test_a_wrapped_job_makes_the_alerts_that_its_journal_makes(self):
        place = self.place("one")
        manager = Alertmanager()
        self.addCleanup(manager.stop)
        manager.start()
        service = place.instance(session=30, more=["--alertmanager", manager.url])
        wait_for(lambda: len(service.partitions()) == 3, 40, "partitions")
        job = place.job("one", 12, 0.25, 6, 8, 0.25, 0)
        posted = lambda: manager.alerts(alertname="quiet", job_id="one")  # noqa: E731
        wait_for(posted, 30, "an alert at Alertmanager while the job runs")
        self.assertIsNone(job.process.poll())
        self.assert_shown(service)
        wait_for(lambda: not posted(), 30, "its end at Alertmanager")
        # Whole lines are equal: records arrive when they were appended to the journal, and the job's clock is the journal's, by watermarks.
        self.assert_alerts(place, job, job.replayed)
        self.assertEqual(service.stop(), 0)
        alerts = [json.loads(line) for line in of_job(topic(place.address, "alerts"), "one")]
        self.assertIn("quiet", [alert["rule"] for alert in alerts])
        self.assert_replayed(place, next(alert["at"] for alert in alerts if alert["rule"] == "quiet") / 1e9)

    def test_an_alert_does_not_end_at_alertmanager_while_it_fires_and_nothing_else_happens(self):
        place = self.place("repeated", partitions=1)
        manager = Alertmanager()
        self.addCleanup(manager.stop)
        manager.start()
        file = pathlib.Path(place.folder, "tocsin.yml")
        file.write_text(f"""kafka: {{brokers: ["127.0.0.1:{kafka.port}"], prefix: repeated, instance_id: one, session_timeout: 6s}}
rules: [{place.rules}]
http: {{listen: "127.0.0.1:0"}}
alertmanager: {{instances: [{{url: "{manager.url}"}}], resend: 2s}}
""")
        service = Instance(None, None, config=file)
        place.started.append(service)
        wait_for(lambda: service.partitions(), 40, "a partition")
        place.job("one", 12, 0.25, 60, 8, 0.25, 0)
        posted = lambda: manager.alerts(alertname="quiet", job_id="one")  # noqa: E731
        wait_for(posted, 30, "an alert at Alertmanager while the job runs")
        until = time.monotonic() + 40
        while time.monotonic() < until:
            self.assertTrue(posted(), "it has ended")
            time.sleep(0.25)
        new = pathlib.Path(place.folder, "new")
        unknown = "tocsin: no record of job 'oen' (one?) in repeated.telemetry/0; it has those of one\n"
        for command in (("record", "--kafka", place.address, "--job", "oen", new), ("replay", place.address, "--job", "oen")):
            done = tocsin(*command)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", unknown))
        done = tocsin("record", "--kafka", place.address, "--job", "one", new)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^(\d+) entries recorded in .*/new, [1-9]\d* of them of job one\n$")

    def assert_replayed(self, place, fired):
        """A partition is replayed without a journal that stays, whole or in part."""
        own = tempfile.TemporaryDirectory()
        self.addCleanup(own.cleanup)
        environment = dict(os.environ, TMPDIR=own.name)
        replay = lambda *more: tocsin("replay", place.address, "--job", "one", "--quiet", "--alerts", "-", *more, env=environment)  # noqa: E731
        lines = lambda done: of_job([line for line in done.stdout.splitlines() if line.startswith("{")], "one")  # noqa: E731
        iso = lambda seconds: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))  # noqa: E731
        whole = recorded(place, "one")
        self.assertIn("quiet", [json.loads(line).get("rule") for line in whole])
        for part in ((), ("--from", "0"), ("--from", iso(fired - 3600), "--until", iso(fired + 3600))):
            self.assertEqual(lines(replay(*part)), whole, part)
        # The brokers' time decides: where they had nothing before the alert's moment, the part is empty.
        before = replay("--until", iso(fired - 2))
        self.assertEqual([json.loads(line).get("rule") for line in lines(before)].count("quiet"), 0)
        if before.returncode != 0:
            self.assertEqual(before.returncode, 2)
            self.assertRegex(before.stderr, r"^tocsin: (there is no record in this part of the topic|no record of job 'one' in this part of one\.telemetry/\d: there is "
                             r"none of any job)\n$")
        for code, reason, *part in ((2, "there is no record in this part of the topic", "--from", iso(fired + 3600)),
                                    (2, "--from soon: write an offset, or a time", "--from", "soon")):
            done = replay(*part)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(reason, done.stderr)
        done = tocsin("replay", place.address)
        self.assertEqual((done.returncode, done.stderr), (2, "tocsin: name a --partition or a --job\n"))
        self.assertEqual(os.listdir(own.name), [])

    def test_an_instance_that_is_killed_again_and_again_loses_nothing_and_repeats_nothing(self):
        seed = int(os.environ.get("TOCSIN_SEED") or random.SystemRandom().randrange(1 << 32))
        print(f"TOCSIN_SEED={seed}", end=" ", flush=True)
        draw = random.Random(seed)
        place = self.place("killed")
        service = place.instance()
        job = place.job("killed", *[8, 0.2, 4.2] * 6)
        kills = 0
        while job.process.poll() is None:
            time.sleep(draw.uniform(1, 8))
            service.kill()
            service.start()
            kills += 1
        wait_for(lambda: len(service.partitions()) == 3, 40, "the instance has its partitions again")
        self.assertGreaterEqual(kills, 3)
        # The log has gaps in which nobody was there to beat: an undisturbed engine is one that reads this log, not the journal.
        self.assert_alerts(place, job, lambda: recorded(place, "killed"))
        self.assertEqual(service.stop(), 0)

    def test_an_alert_that_fires_over_a_restart_is_posted_by_the_next_owner(self):
        place = self.place("over")
        service = place.instance()
        wait_for(lambda: len(service.partitions()) == 3, 40, "partitions")
        job = place.job("over", 8, 0.2, 60)
        wait_for(lambda: of_job(topic(place.address, "alerts"), "over"), 40, "an alert")
        service.kill()
        manager = Alertmanager()     # one that knows nothing
        self.addCleanup(manager.stop)
        manager.start()
        place.instance(more=["--alertmanager", manager.url])
        found = wait_for(lambda: manager.alerts(alertname="quiet", job_id="over"), 40, "the alert at the new Alertmanager")
        self.assertIn("no step for", found[0]["annotations"]["description"])
        self.assertIsNone(job.process.poll())
        self.assertEqual(len(of_job(topic(place.address, "alerts"), "over")), 1)
        job.process.terminate()
        job.wait()

    def test_an_open_transaction_of_a_producer_delays_no_record_behind_it(self):
        place = self.place("open", partitions=1)
        service = place.instance()
        wait_for(lambda: service.partitions(), 40, "a partition")
        other = OpenTransaction(f"127.0.0.1:{kafka.port}", "open.telemetry", 0)
        job = place.job("open", 8, 0.2, 60)
        wait_for(lambda: of_job(topic(place.address, "alerts"), "open"), 40, "an alert")
        other.end()
        job.process.terminate()
        job.wait()

    def test_instances_share_the_partitions_and_the_one_that_is_left_goes_on_alone(self):
        place = self.place("shared", partitions=4)
        first, second = place.instance("first", session=3), place.instance("second", session=3)
        both = lambda: first.partitions() | second.partitions() == set(range(4)) and len(first.partitions()) == len(second.partitions()) == 2  # noqa: E731
        wait_for(both, 30, "two partitions each")
        jobs = [place.job(f"shared{i}", *[8, 0.25, 4.2] * 4) for i in range(3)]
        wait_for(lambda: topic(place.address, "alerts"), 40, "an alert")
        first.kill()
        wait_for(lambda: second.partitions() == set(range(4)), 30, "all partitions at the one that is left")
        for job in jobs:
            self.assert_alerts(place, job, lambda: recorded(place, job.name))
        self.assertEqual(second.stop(), 0)

    def test_a_broker_that_is_killed_and_comes_back_costs_no_alert(self):
        place = self.place("back")
        service = place.instance(session=30)
        wait_for(lambda: len(service.partitions()) == 3, 40, "partitions")
        job = place.job("back", *[8, 0.2, 4.2] * 4)
        wait_for(lambda: topic(place.address, "alerts"), 30, "an alert")
        kafka.kill()
        time.sleep(3)
        kafka.start()
        self.assert_alerts(place, job, lambda: recorded(place, "back"), 60)
        self.assertIsNone(service.process.poll())
        self.assertEqual(service.stop(), 0)

    def test_a_second_instance_of_the_same_name_ends_the_first_with_the_reason(self):
        place = self.place("same")
        first = place.instance("same")
        wait_for(lambda: len(first.partitions()) == 3, 40, "partitions")
        second = place.instance("same")
        self.assertEqual(first.process.wait(60), 2, first.log)
        wait_for(lambda: any("give each instance a name of its own (--instance)" in line for line in first.log), 5, "the reason")
        wait_for(lambda: len(second.partitions()) == 3, 40, "the second has the partitions")
        self.assertEqual(second.stop(), 0, second.log + first.log)

    def test_an_instance_whose_name_the_brokers_gave_to_one_that_is_gone_joins_again(self):
        place = self.place("contested")
        first = place.instance("contested")
        wait_for(lambda: len(first.partitions()) == 3, 40, "partitions")
        second = place.instance("contested")
        wait_for(lambda: len(second.partitions()) == 3, 40, "the second has the partitions")
        second.process.kill()
        wait_for(lambda: any("no other instance has the name of this one" in line for line in first.log), 40, "the end of the contest")
        wait_for(lambda: len(first.partitions()) == 3, 40, "the first has the partitions again")
        job = place.job("again", *[8, 0.25, 4.2] * 2)
        self.assert_alerts(place, job, lambda: recorded(place, "again"))
        self.assertEqual(first.stop(), 0, first.log)

    def test_what_cannot_be_done_is_refused_with_the_reason(self):
        place = self.place("refused", partitions=2)
        for code, reason, *command in ((2, "refused.telemetry has no partition 7: they are 0 to 1", "record", "--partition", 7, "--kafka", place.address, place.folder + "/new"),
                                       (2, "is not empty: name a new directory", "record", "--job", "x", "--kafka", place.address, place.folder),
                                       (2, "the service has no topic 'alert' (alerts?); it has ", "topics", "read", "alert", "--kafka", place.address),
                                       (2, "there is no topic more.alerts", "topics", "read", "alerts", "--kafka", f"{kafka.address}/more"),
                                       (2, "'nothing' is not HOST:PORT; write kafka://HOST:PORT", "run", "--kafka", "nothing"),
                                       (2, "write kafka://HOST:PORT, or http://HOST:PORT of a service", "wrap", "--to", "ftp://one:1", "--", "true"),
                                       (2, "do not load", "run", "--kafka", place.address, "--rules", place.folder),
                                       (2, "--replication 3: the cluster", "topics", "create", "--replication", 3, "--kafka", f"{kafka.address}/more")):
            done = tocsin(*command)
            self.assertIn(reason, done.stderr)
            self.assertEqual(done.returncode, code, (command, done.stderr))


if __name__ == "__main__":
    unittest.main()
