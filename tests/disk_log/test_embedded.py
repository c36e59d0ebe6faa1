"""`tocsin run` without Kafka: what is pushed is on disk and judged, once, whatever ends the process."""

import json
import pathlib
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from embedded import Embedded, Place, messages_of, tocsin, wait_for  # noqa: E402


def steps(job, first, count):
    return [{"job": job, "rank": 0, "values": {"step": step, "loss": 2.0}} for step in range(first, first + count)]


class EmbeddedLog(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def test_a_service_that_is_killed_goes_on_where_it_was_and_reports_nothing_twice(self):
        service = self.place.start().ready()
        self.assertRegex(service.log[0], r"^tocsin: the page is at http://127\.0\.0\.1:\d+/, the log of records in .*/tocsin/log$")
        for step in range(1, 6):
            self.assertEqual(service.push(steps("killed", step, 1)), (200, {"records": 1, "jobs": 1}))
            time.sleep(0.2)
        firing = lambda: [one["id"] for one in service.data("alerts") if one["rule"] == "quiet"]  # noqa: E731
        before = wait_for(firing, 20, "an alert on silence")
        service.kill()
        service.start()
        service.ready()
        self.assertEqual(wait_for(firing, 20, "the alert that fires"), before)
        self.assertEqual([job["job"] for job in wait_for(lambda: service.data("jobs"), 10, "the job")], ["killed"])
        self.assertEqual(service.push(steps("killed", 6, 1))[0], 200)
        resolved = lambda: [line for line in service.history() if '"state":"resolved"' in line]  # noqa: E731
        wait_for(resolved, 20, "the end of the alert")
        self.assertEqual(service.stop(), 0)
        self.assertIn("tocsin: drained", service.log)
        self.assertEqual(service.history(), service.replayed())

    def test_messages_of_a_client_are_taken_compressed_or_not_and_count_once(self):
        service = self.place.start().ready()
        messages = messages_of("binary-job")
        self.assertEqual(service.push_messages(messages), (200, {"accepted": len(messages)}))
        self.assertEqual(service.push_messages(messages, compressed=True), (200, {"accepted": len(messages)}))
        duplicates = lambda: sum(float(value) for name, value in service.metrics().items() if name.startswith("tocsin_duplicates_total"))  # noqa: E731
        wait_for(lambda: duplicates() == len(messages), 10, "the count of what was sent again")
        self.assertEqual([job["job"] for job in wait_for(lambda: service.data("jobs"), 10, "the job")], ["binary-job"])
        for body, why in ((b"\x05\0\0\0abc", "message 1: 5 bytes are announced, and 3 are there"), (b"\x03\0\0\0abc", "message 1: "), (b"", "no message"),
                          (b"\xff\xff\xff\x7f", "message 1: 2147483647 bytes")):
            status, error = service.post(body, headers={"Content-Type": "application/vnd.tocsin.telemetry"})
            self.assertEqual((status, error[:len(why)]), (413 if "2147483647" in why else 400, why))
        other = messages_of("other-job")
        self.assertEqual(service.push_messages(other + [b"torn"])[0], 400)
        self.assertEqual(service.post(b"no zstd", headers={"Content-Type": "application/vnd.tocsin.telemetry", "Content-Encoding": "zstd"})[0], 400)
        self.assertEqual(service.stop(), 0)
        self.assertFalse(any(b"other-job" in path.read_bytes() for path in service.directory.glob("partition-*/*.journal")))

    def test_a_second_instance_and_another_number_of_partitions_are_refused_with_the_remedy(self):
        service = self.place.start().ready()
        second = self.place.start()
        self.assertEqual(second.process.wait(20), 2)
        second.reading.join(timeout=10)
        self.assertIn(f"process {service.process.pid} uses the log in {service.directory}: stop it, or name another directory in log.directory", "".join(second.log))
        self.assertEqual(service.stop(), 0)
        config = pathlib.Path(self.place.folder, "tocsin.yml")
        config.write_text(json.dumps({"log": {"directory": str(service.directory), "partitions": 8}, "rules": [str(self.place.rules)]}))
        third = self.place.start("--config", str(config))
        self.assertEqual(third.process.wait(20), 2)
        third.reading.join(timeout=10)
        self.assertIn("has 4 partitions, and log.partitions is 8: write log.partitions: 4", "".join(third.log))

    def test_commands_for_journals_take_the_log_and_forward_moves_it_to_another_service(self):
        service = self.place.start().ready()
        for step in range(1, 4):
            self.assertEqual(service.push(steps("moved", step, 1))[0], 200)
            time.sleep(0.2)
        self.assertEqual(service.push_messages(messages_of("from-a-client"))[0], 200)
        wait_for(lambda: any('"rule":"quiet"' in line for line in service.history()), 20, "an alert on silence")
        self.assertEqual(service.stop(), 0)
        log = service.directory
        explained = tocsin("explain", log, "--job", "moved", "--rule", "quiet")
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertIn("quiet", explained.stdout)
        without_job = tocsin("explain", log, "--rule", "quiet")
        self.assertIn("name a job with --job, or one of its 4 partitions", without_job.stderr)
        backtest = tocsin("backtest", log, "--rules", self.place.rules)
        self.assertEqual(backtest.returncode, 0, backtest.stderr)
        copied = tocsin("record", "--log", log, "--job", "moved", pathlib.Path(self.place.folder, "copy"))
        self.assertEqual(copied.returncode, 0, copied.stderr)
        self.assertRegex(copied.stdout, r"entries recorded in .*/copy, 3 of them of job moved")
        replayed = tocsin("replay", pathlib.Path(self.place.folder, "copy"), "--quiet", "--alerts", "-").stdout.splitlines()
        self.assertEqual([line for line in replayed if '"moved"' in line], [line for line in service.history() if '"moved"' in line])
        other = Embedded(pathlib.Path(self.place.folder, "other"), self.place.rules)
        self.place.started.append(other)
        forward = ("forward", log, "--to", f"http://127.0.0.1:{other.ready().port()}")
        sent = tocsin(*forward)
        self.assertEqual((sent.returncode, sent.stderr), (0, ""), sent.stdout)
        self.assertNotEqual(sent.stdout, tocsin(*forward).stdout)
        wait_for(lambda: {job["job"] for job in other.data("jobs")} == {"moved", "from-a-client"}, 20, "both jobs")
        self.assertEqual(other.stop(), 0)

    def test_a_server_that_others_reach_does_not_start_without_credentials(self):
        open_to_all = self.place.start(listen="0.0.0.0:0")
        self.assertEqual(open_to_all.process.wait(20), 2)
        self.assertIn("set http.token_file, or http.user and http.password_file", "".join(open_to_all.log))

    def test_senders_with_tokens_of_their_own_send_what_they_may_and_read_nothing(self):
        service, send = self.senders({"name": "alice", "jobs": ["alice-*"]}, {"name": "bob", "users": ["bob"]}, {"name": "often", "requests_per_second": 1},
                                     {"name": "much", "size_per_second": "1KiB"})
        line = json.dumps(steps("alice-1", 1, 1)[0]).encode()
        self.assertEqual(send("alice", line), (200, {"records": 1, "jobs": 1}))
        for sender, body, why in (("alice", line.replace(b"alice-1", b"llama"), "alice may not send records of job llama, but of alice-*"),
                                  ("bob", line, "bob may not send records of job alice-1, whose name is another sender's"),
                                  ("bob", b'{"job": "b", "event": "start", "labels.user": "root"}', "of user root, but of bob"),
                                  ("alice", line + b"\n" + line.replace(b"alice-1", b"llama"), "job llama")):
            status, error = send(sender, body)
            self.assertEqual(status, 403)
            self.assertIn(why, error)
        self.assertEqual(send("bob", b'{"job": "b", "event": "start", "labels.user": "bob"}')[0], 200)
        self.assertEqual(send("token", b'{"job": "r", "event": "start", "labels.user": "root"}')[0], 200)
        wait_for(lambda: {"alice-1", "b", "r"} <= {job["job"] for job in self.jobs(send)}, 20, "the jobs")
        self.assertEqual({job["job"]: job.get("user") for job in self.jobs(send)}, {"alice-1": None, "b": "bob", "r": "root"})
        self.assertEqual(send("bob", b'{"job": "r", "event": "end", "exit_code": 1}')[0], 403)
        for path in ("/api/v1/jobs", "/metrics", "/", "/-/reload"):
            self.assertEqual(send("alice", None if path != "/-/reload" else b"", path=path), (403, "the token of sender alice is for sending records alone\n"))
        self.assertEqual(service.post(line), (401, "credentials are missing or wrong\n"))
        self.assertIn((429, "too many requests\n"), [send("often", line) for _ in range(20)])
        self.assertEqual(send("much", b"\n".join([line] * 500))[0], 200)
        for path in ("/api/v1/push", "/v1/metrics"):
            self.assertEqual(send("much", line, path=path), (503, "the sender much sends more than its size_per_second: push again later"))
        service.kill()
        service.start()
        wait_for(lambda: send("bob", b'{"job": "b", "values": {"step": 1}}')[0] == 200, 20, "a service that knows its jobs again")

    def test_a_request_that_is_refused_leaves_nothing_behind(self):
        service, send = self.senders({"name": "alice", "jobs": ["alice-*"]}, {"name": "collector"})
        otlp = {"path": "/v1/metrics", "Content-Type": "application/json"}

        def gauge(metric, **labels):
            attributes = [{"key": key.replace("_name", ".name"), "value": {"stringValue": value}} for key, value in labels.items()]
            return json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": metric, "gauge": {"dataPoints": [
                {"timeUnixNano": str(time.time_ns()), "asDouble": 50.0, "attributes": attributes}]}}]}]}]}).encode()

        self.assertEqual(send("alice", gauge("loss", job_id="victim", host_name="n2"), **otlp)[0], 403)
        self.assertEqual(send("collector", gauge("DCGM_FI_DEV_GPU_TEMP", host_name="n2", gpu="0"), **otlp)[0], 200)
        own = gauge("DCGM_FI_DEV_GPU_TEMP", job_id="alice-1", host_name="n1", gpu="0", UUID="GPU-1")
        self.assertEqual([send("alice", own, **otlp)[0] for _ in range(2)], [200, 200])
        self.assertEqual(send("collector", gauge("loss", job_id="theirs", host_name="n3"), **otlp)[0], 200)
        status, answer = send("alice", gauge("DCGM_FI_DEV_GPU_TEMP", host_name="n3", gpu="0"), **otlp)      # of no job of hers
        self.assertNotIn("theirs", str(answer))
        self.assertEqual(send("alice", b"\x1f\x8b no gzip", **otlp, **{"Content-Encoding": "gzip"})[0], 400)
        wait_for(lambda: {job["job"] for job in self.jobs(send)} == {"alice-1", "theirs"}, 20, "the jobs, and no others")

    def test_wrap_keeps_what_it_may_not_send_until_it_may(self):
        service, send = self.senders({"name": "alice", "jobs": ["alice-*"]})
        folder = pathlib.Path(self.place.folder)
        wrap = ("wrap", "--job", "alice-late", "--journal", folder / "journal", "--to", f"http://127.0.0.1:{service.port()}", "--token", folder / "alice")
        self.assertEqual(tocsin(*wrap, "--", "true").returncode, 0)
        wait_for(lambda: [job["state"] for job in self.jobs(send)] == ["ended"], 20, "the end")
        refused = tocsin("wrap", "--job", "other", "--journal", folder / "other", "--to", f"http://127.0.0.1:{service.port()}", "--token", folder / "alice", "--", "false")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("the sender alice may not send records of job other", refused.stderr)
        sent = tocsin("forward", folder / "other", "--to", f"http://127.0.0.1:{service.port()}", "--token", folder / "token")
        self.assertEqual(sent.returncode, 0, sent.stderr)
        wait_for(lambda: {job["job"] for job in self.jobs(send)} == {"alice-late", "other"}, 20, "both jobs")

    def senders(self, *senders):
        """A service with these, and a function that posts as one of them, or as "token", the service's own."""
        folder = pathlib.Path(self.place.folder)
        for name in ("token", *(one["name"] for one in senders)):
            (folder / name).write_text(name + "-secret\n")
        (folder / "tocsin.yml").write_text(json.dumps({
            "http": {"token_file": str(folder / "token"), "senders": [{**one, "token_file": str(folder / one["name"])} for one in senders]},
            "ingest": {"sources": [{"name": "otel", "format": "otlp_metrics", "post": True}]}}))
        service = self.place.start("--config", str(folder / "tocsin.yml")).ready()
        return service, lambda sender, body, path="/api/v1/push", **more: service.post(body, "", {"Authorization": f"Bearer {sender}-secret", **more}, path)

    @staticmethod
    def jobs(send):
        return send("token", None, path="/api/v1/jobs")[1]

    def test_a_full_disk_refuses_pushes_and_the_service_judges_on_and_recovers(self):
        self.place.state.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", self.place.state], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("not allowed to mount")
        service = self.place.start().ready()
        self.assertEqual(service.push(steps("full", 1, 1))[0], 200)
        filler = self.place.state / "filler"
        with filler.open("wb") as file:
            try:
                while file.write(bytes(65536)):
                    file.flush()
            except OSError:
                pass
        status, why = wait_for(lambda: (answer := service.push(steps("full", 2, 1)))[0] == 503 and answer, 20, "a refusal")
        self.assertIn("make room on the disk, or lower log.retention", why)
        self.assertEqual(service.data("status")["not_ready"], "")
        filler.unlink()
        wait_for(lambda: service.push(steps("full", 3, 1))[0] == 200, 20, "room")
        self.assertEqual(len([line for line in service.log if "nothing is taken until there is room" in line]), 1)
        wait_for(lambda: any('"rule":"quiet"' in line for line in service.history()), 20, "an alert on silence")
        self.assertEqual(service.stop(), 0)


if __name__ == "__main__":
    unittest.main()
