"""Rules that change while the service runs: by a request, a signal, or a file that changes; and packs that are gone back to."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from service import HERE, ROOT, TOCSIN as PROGRAM, Workplace, broker, of_job, recorded, small_rules, tocsin, topic, while_it_runs  # noqa: E402
from tests.servers.process import wait_for  # noqa: E402

TOCSIN = pathlib.Path(PROGRAM).resolve()
QUIET = (HERE / "quiet.lua").read_text()
LOUD = QUIET.replace('rule "quiet"', 'rule "loud"')
CASE = """
case "a job that stops" {
  ranks = 1, { lasting = "20s", step = steps(1) }, { lasting = "20s", step = silent },
  fires = { { "%s" } },
}
"""


def pack_in_force(service):
    return service.data("status")["pack"]


def rule_names(service):
    return [rule["name"] for rule in service.data("rules")]


class Reload(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kafka = broker()

    def place(self, prefix, **options):
        place = Workplace(self.kafka, prefix, rules=small_rules, **options)
        self.addCleanup(place.close)
        return place

    def until_judging(self, service, partitions):
        try:
            wait_for(lambda: len(service.partitions()) == partitions, 30, "partitions")
        except AssertionError as late:
            raise AssertionError("\n".join([str(late), *service.log])) from None

    def swapped(self, mount, quiet):
        """What kubelet does with a ConfigMap: the files are links through ..data, which is renamed to lead to a new directory."""
        new = pathlib.Path(mount, f"..{time.monotonic_ns()}")
        new.mkdir()
        for name in ("signals.lua", "verdict.lua"):
            shutil.copy(ROOT / "rules" / name, new)
        (new / "quiet.lua").write_text(quiet)
        for file in new.iterdir():
            if not (mount / file.name).is_symlink():
                (mount / file.name).symlink_to(f"..data/{file.name}")
        (mount / "..data_tmp").symlink_to(new.name)
        old = (mount / "..data").exists() and (mount / "..data").resolve()
        (mount / "..data_tmp").rename(mount / "..data")
        if old:
            shutil.rmtree(old)

    def config_map(self, folder):
        mount = pathlib.Path(folder, "mount")
        mount.mkdir()
        self.swapped(mount, QUIET)
        return mount

    def test_a_config_map_that_is_swapped_is_taken_and_a_broken_one_changes_nothing(self):
        place = Workplace(self.kafka, "swapped", partitions=1, rules=self.config_map)
        self.addCleanup(place.close)
        service = place.instance()
        self.until_judging(service, 1)
        failed = lambda: service.metrics()["tocsin_rules_load_failed"]  # noqa: E731
        self.assertEqual((failed(), rule_names(service)), ("0", ["quiet"]))
        self.swapped(place.rules, LOUD)
        wait_for(lambda: rule_names(service) == ["loud"], 60, "the swapped rules")
        self.assertGreater(float(service.metrics()["tocsin_last_reload_success_timestamp_seconds"]), time.time() - 60)

        before = pack_in_force(service)
        self.swapped(place.rules, LOUD.replace("evaluate = function(job)", "evaluate = function(job"))
        wait_for(lambda: failed() == "1", 60, "the failure")
        status, text = service.get("/-/reload", "POST")
        answer = json.loads(text)
        self.assertEqual((status, answer["errorType"]), (422, "execution"))
        self.assertRegex(answer["error"], r"quiet\.lua:8: ")
        self.assertIn("local age", answer["error"])
        logged = "\n".join(service.log)
        self.assertRegex(logged, r"rules not reloaded, those in force stay: the rules in .*mount do not load:\n?.*quiet\.lua:8: ")
        self.assertEqual(service.data("status")["reload_failure"], answer["error"])
        self.assertEqual((pack_in_force(service), rule_names(service)), (before, ["loud"]))

        both = QUIET + LOUD + CASE % "quiet"     # and nothing else
        self.swapped(place.rules, both)
        wait_for(lambda: "do not pass their cases" in service.data("status")["reload_failure"], 60, "the case that fails")
        line = both.splitlines().index('case "a job that stops" {') + 1
        self.assertIn(f"quiet.lua:{line}: the case 'a job that stops' fails", service.data("status")["reload_failure"])
        self.swapped(place.rules, QUIET + CASE % "quiet")
        wait_for(lambda: rule_names(service) == ["quiet"], 60, "what was mended")
        self.assertEqual((failed(), service.data("status")["reload_failure"]), ("0", ""))
        self.assertEqual(len(tocsin("packs", "--kafka", place.address).stdout.splitlines()), 1 + 3)
        self.assertEqual(service.stop(), 0)

    def test_a_reload_under_a_live_job_changes_its_alerts_as_a_replay_does(self):
        place = self.place("live", partitions=2)
        service = place.instance()
        self.until_judging(service, 2)
        job = place.job("live", 4, 0.2, 60)
        wait_for(lambda: of_job(topic(place.address, "alerts"), "live"), 20, "an alert")
        before = pack_in_force(service)
        (place.rules / "quiet.lua").write_text(LOUD)
        status, text = service.get("/-/reload", "POST")
        answer = json.loads(text)
        self.assertEqual((status, answer["status"], answer["data"]["changed"]), (200, "success", True), text)
        alerts = lambda: [(one["rule"], one["state"], one["reason"]) for one in map(json.loads, of_job(topic(place.address, "alerts"), "live"))  # noqa: E731
                          if "verdict" not in one]
        wait_for(lambda: len(alerts()) >= 3, 15, "the old rule's end, and the new one's alert")
        self.assertEqual(pack_in_force(service), answer["data"]["pack"])
        self.assertNotEqual(before, answer["data"]["pack"])
        self.assertEqual(rule_names(service), ["loud"])
        service.process.send_signal(signal.SIGHUP)
        wait_for(lambda: any("rules reloaded: they are the same" in line for line in service.log), 60, "a reload after SIGHUP")
        self.assertEqual(service.metrics()[f'tocsin_pack_info{{hash="{answer["data"]["pack"]}"}}'], "1")
        self.assertEqual(alerts()[:3], [("quiet", "firing", ""), ("quiet", "resolved", "rule removed"), ("loud", "firing", "")])
        job.process.terminate()
        job.wait()
        time.sleep(1)
        self.assertEqual(while_it_runs(of_job(topic(place.address, "alerts"), "live")), while_it_runs(recorded(place, "live")))
        self.assertEqual(service.stop(), 0)

    def test_two_instances_that_watch_one_directory_judge_by_the_same_rules_also_when_one_is_left(self):
        place = self.place("watched", partitions=4)
        first, second = place.instance("first"), place.instance("second")
        wait_for(lambda: len(first.partitions()) == len(second.partitions()) == 2, 30, "two partitions each")
        jobs = [place.job(f"watched{i}", 4, 0.2, 60) for i in range(2)]
        fired = lambda rule: {json.loads(line)["subject"] for line in topic(place.address, "alerts") if json.loads(line)["rule"] == rule}  # noqa: E731
        wait_for(lambda: len(fired("quiet")) == 2, 20, "an alert of each job")
        (place.rules / "new.lua").write_text(LOUD)
        (place.rules / "quiet.lua").unlink()
        wait_for(lambda: rule_names(first) == rule_names(second) == ["loud"], 60, "the new rules at both")
        self.assertEqual(pack_in_force(first), pack_in_force(second))
        wait_for(lambda: len(fired("loud")) == 2, 60, "the new rule's alert of each job")
        second.kill()
        wait_for(lambda: first.partitions() == set(range(4)), 20, "all partitions at the one that is left")
        for job in jobs:
            job.process.terminate()
            job.wait()
        time.sleep(1)
        for job in jobs:
            self.assertEqual(while_it_runs(of_job(topic(place.address, "alerts"), job.name)), while_it_runs(recorded(place, job.name)))
        self.assertEqual(len(tocsin("packs", "--kafka", place.address).stdout.splitlines()), 1 + 2)
        self.assertEqual(first.stop(), 0)

    def test_an_announcement_whose_maker_ended_half_way_is_brought_to_all_logs_by_an_instance(self):
        place = self.place("half", partitions=3)
        service = place.instance()
        self.until_judging(service, 3)
        packs = lambda: sorted(int(line.split()[0]) for line in topic(place.address, "telemetry") if int(line.split()[-2]) > 5000)  # noqa: E731
        self.assertEqual(packs(), [0, 1, 2])
        other = shutil.copytree(place.rules, pathlib.Path(place.folder, "other"))
        (other / "quiet.lua").write_text(LOUD)
        half = subprocess.run([TOCSIN.parents[2] / "tests/reload/half_announced", place.address, other], capture_output=True, text=True)
        self.assertEqual(half.returncode, 0, half.stderr)
        wait_for(lambda: packs() == [0, 0, 1, 1, 2, 2], 20, "the record of the pack in each partition")
        self.assertEqual(rule_names(service), ["loud"])
        self.assertEqual(service.stop(), 0)

    def test_packs_are_listed_and_gone_back_to_until_the_rules_are_reloaded(self):
        place = self.place("packs", partitions=1)
        none = tocsin("packs", "--kafka", place.address)
        self.assertEqual((none.returncode, none.stderr), (2, "tocsin: no instance of tocsin has run with these topics yet: there are no packs\n"))
        service = place.instance()
        self.until_judging(service, 1)
        quiet = pack_in_force(service)
        (place.rules / "quiet.lua").write_text(QUIET + LOUD)
        loud = json.loads(service.get("/-/reload", "POST")[1])["data"]["pack"]
        listed = lambda: {line.split()[0]: line.split(None, 2)[2] for line in tocsin("packs", "--kafka", place.address).stdout.splitlines()[1:]}  # noqa: E731
        wait_for(lambda: listed() == {loud: "2  in force", quiet: "1  -"}, 5, "the packs")

        for code, reason, *arguments in ((2, f"tocsin: no pack of this cluster begins with {'0' * 32}: `tocsin packs` lists them\n", "0" * 32),
                                         (2, "'latest' is not the hash of a pack: write at least four of the digits that `tocsin packs` prints", "latest"),
                                         (2, "HASH is required")):
            done = tocsin("packs", "use", *arguments, "--kafka", place.address)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(reason, done.stderr)
        self.assertIn("no Kafka broker answers at 127.0.0.1:1", tocsin("packs", "--kafka", "kafka://127.0.0.1:1").stderr)

        back = tocsin("packs", "use", quiet[:12], "--kafka", place.address)
        self.assertRegex(back.stdout, rf"^pack {quiet} judges from \S+Z on\n$", back.stderr)
        wait_for(lambda: rule_names(service) == ["quiet"], 15, "the pack that was gone back to")
        wait_for(lambda: any(f"pack {quiet[:8]} is in force" in line for line in service.log), 5, "a line that says so")
        again = tocsin("packs", "use", quiet, "--kafka", place.address)
        self.assertEqual((again.returncode, again.stdout), (0, f"pack {quiet} is in force already\n"))
        # A restart brings nothing back, although its directory still has it; whoever reloads does.
        service.stop()
        service.start()
        self.until_judging(service, 1)
        self.assertEqual((pack_in_force(service), rule_names(service)), (quiet, ["quiet"]))
        self.assertTrue(any("were gone back from" in line for line in service.log), service.log)
        done = lambda: service.metrics()['tocsin_reloads_total{result="success"}'] != "0"  # noqa: E731
        (place.rules / "quiet.lua").write_text(QUIET)
        wait_for(done, 60, "the directory is as what judges")
        (place.rules / "quiet.lua").write_text(QUIET + LOUD)
        wait_for(lambda: pack_in_force(service) == loud, 15, "the rules that were gone back from, since they were written again")
        self.assertEqual(service.stop(), 0)


if __name__ == "__main__":
    unittest.main()
