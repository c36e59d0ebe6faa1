"""One set of topics and what works on it: a feed of telemetry, instances of tocsin, each with a proxy before the one Alertmanager."""

import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from tests.chaos.proxy import Proxy
from tests.chaos.telemetry import LASTS
from tests.servers.alertmanager import Alertmanager
from tests.servers.process import wait_for
from tests.service.service import Instance, TOCSIN, tocsin, topic

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("CHAOS_TOOLS") or pathlib.Path(TOCSIN).resolve().parents[2] / "tests" / "chaos" / "tools")
SESSION = 6    # seconds
CONFIGURATION = """kafka: {{brokers: [{broker}], prefix: {prefix}, group: {prefix}, instance_id: {name}, session_timeout: {session}s}}
rules: [{rules}]
alertmanager: {{instances: [{{url: "{url}"}}], resend: 2s, resolved_for: 30s, timeout: 2s}}
http: {{listen: "127.0.0.1:0"}}
limits: {{save_every: {save_every}}}
"""


class Disturbed(Instance):
    """`tocsin run` that can be stopped for a while, or end itself at a named point."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.proxy = Proxy(lambda: cluster.manager.url)
        self.mark = cluster.folder / f"{name}.mark"
        self.point = None           # POINT:COUNT:SIGNAL of the next start
        self.logs = []
        file = cluster.folder / f"{name}.yml"
        file.write_text(CONFIGURATION.format(broker=cluster.broker, prefix=cluster.prefix, name=name, session=SESSION, rules=cluster.configured_rules,
                                             url=self.proxy.url, save_every=cluster.save_every))
        super().__init__(None, None, config=file)

    def aborted_by_librdkafka(self):
        """By an assertion of its own, of its transactions when the clock steps. To the others it was killed."""
        return self.process.returncode == -signal.SIGABRT and any("rd_kafka_txn_set_state" in line for line in self.log)

    def start(self):
        self.log = []
        self.logs.append(self.log)
        environment = {**os.environ, **self.cluster.environment}
        self.mark.unlink(missing_ok=True)
        if self.point:
            environment.update(LD_PRELOAD=str(TOOLS / "libchaos_points.so"), CHAOS_AT=self.point, CHAOS_MARK=str(self.mark))
        self.process = subprocess.Popen([*self.cluster.launcher, *self.arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env=environment)
        self.reading = threading.Thread(target=self.read, args=(self.log, self.process.stderr), daemon=True)
        self.reading.start()

    def lives(self):
        return self.process.poll() is None

    def signal(self, number):
        if self.lives():
            self.process.send_signal(number)

    def resident(self):
        """MiB in memory."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024

    def close(self):
        if self.lives():
            self.process.kill()
            self.process.wait()
        self.proxy.stop()


class Outcome:
    """What a cluster has committed."""

    def __init__(self, alerts, verdicts, digests):
        self.alerts, self.verdicts, self.digests = alerts, verdicts, digests     # by job: lines, lines, text

    def differences(self, other, mine, others):
        """One line for each thing that is not as in the other: it is called `others`, this `mine`."""
        found = []
        for what in ("alerts", "verdicts", "digests"):
            here, there = getattr(self, what), getattr(other, what)
            for job in sorted(here.keys() | there.keys()):
                if here.get(job) == there.get(job):
                    continue
                found.append(f"{what} of {job}: {mine} and {others} differ")
                if what == "digests":
                    found.append(f"  {mine}: {here.get(job)}, {others}: {there.get(job)}")
                else:
                    found += [f"  {line}" for line in line_differences(here.get(job, []), there.get(job, []), mine, others)]
        return found


def line_differences(here, there, mine, others):
    """Of lines of JSON: those that only one side has; of two that are about the same, the keys that differ."""
    have, want = collections.Counter(here), collections.Counter(there)
    key = lambda one: (one.get("id"), one.get("number"), one.get("attempt"))  # noqa: E731
    mine_only = [json.loads(line) for line in (have - want).elements()]
    others_only = [json.loads(line) for line in (want - have).elements()]
    if not mine_only and not others_only:
        yield "the order differs"
    for one in mine_only:
        twin = next((candidate for candidate in others_only if key(candidate) == key(one)), None)
        if twin is None:
            yield f"only {mine}: {json.dumps(one)[:500]}"
            continue
        others_only.remove(twin)
        yield f"{one.get('rule', 'verdict')} {key(one)}:" + "".join(
            f" {name}: {mine} {json.dumps(one.get(name))[:300]}, {others} {json.dumps(twin.get(name))[:300]};"
            for name in one.keys() | twin.keys() if one.get(name) != twin.get(name))
    for one in others_only:
        yield f"only {others}: {json.dumps(one)[:500]}"


def named(one):
    return one["rule"], one["subject"], str(one["member"].get("rank", one["member"].get("gpu", "")))


def by_job(lines):
    jobs = collections.defaultdict(list)
    for line in lines:
        jobs[json.loads(line)["subject"]].append(line)
    return dict(jobs)


class Cluster:
    """Topics of a prefix on a broker, and all that is started for them."""

    def __init__(self, kafka, prefix, partitions=3, rules=None, save_every="10s"):
        self.kafka, self.prefix, self.partitions, self.save_every = kafka, prefix, partitions, save_every
        self.broker = kafka.address.removeprefix("kafka://")
        self.address = f"{kafka.address}/{prefix}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"tocsin-chaos-{prefix}-"))
        self.rules = self.folder / "rules"
        self.configured_rules = f"shipped, {self.rules}" if rules == "added" else str(self.rules)
        self.instances, self.feeding = {}, None
        self.manager, self.environment, self.launcher = None, {}, []
        self.copy_rules(rules)
        made = tocsin("topics", "create", "--kafka", self.address, "--partitions", partitions)
        if made.returncode != 0:
            raise AssertionError(made.stderr)
        self.manager = Alertmanager().start()

    def copy_rules(self, rules):
        if rules == "shipped":
            shutil.copytree(ROOT / "rules", self.rules)
        elif rules == "added":    # to those that are shipped
            self.rules.mkdir()
        else:
            self.rules.mkdir()
            for name in ("signals.lua", "verdict.lua"):
                shutil.copy(ROOT / "rules" / name, self.rules)
        shutil.copy(ROOT / "tests" / "chaos" / "rules" / "chaos.lua", self.rules)

    def instance(self, name="a"):
        """One that runs; of this name there is one."""
        one = self.instances.get(name)
        if one is None:
            one = self.instances[name] = Disturbed(self, name)
        elif not one.lives():
            one.start()
        return one

    def until_judging(self, seconds=150):
        wait_for(lambda: set().union(*(one.partitions() for one in self.instances.values() if one.lives())) == set(range(self.partitions)), seconds,
                 f"an instance for each partition of {self.prefix}")

    def feed(self, journal, speed, behind=1.5):
        self.feeding = subprocess.Popen([TOOLS / "chaos_feed", journal, self.address, str(speed), str(behind)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def verdicts(self):
        return {job for job in by_job(topic(self.address, "verdicts"))}

    def drain(self):
        """Ends the feed and the instances in order, so that all is committed."""
        self.feeding.terminate()
        wrong = self.feeding.communicate(timeout=60)[1]
        if self.feeding.returncode != 0:
            raise AssertionError(f"the feed of {self.prefix} failed: {wrong}")
        for one in self.instances.values():
            if not one.lives():
                continue
            one.signal(signal.SIGCONT)
            if (code := one.stop()) != 0 and not one.aborted_by_librdkafka():
                raise AssertionError(f"{one.name} of {self.prefix} ended with {code}:\n" + "\n".join(one.log[-20:]))

    def outcome(self):
        """After drain()."""
        digests = subprocess.run([TOOLS / "chaos_digests", self.address], capture_output=True, text=True)
        if digests.returncode != 0:
            raise AssertionError(f"the state of {self.prefix} cannot be read: {digests.stderr}")
        return Outcome(by_job(topic(self.address, "alerts")), by_job(topic(self.address, "verdicts")),
                       {job: digest for job, digest in (line.rsplit(" ", 1) for line in digests.stdout.splitlines()) if not job.startswith(LASTS)})

    def replayed(self):
        """What an undisturbed engine makes of the same log: each partition as a journal, replayed."""
        lines, digests = [], {}
        for partition in range(self.partitions):
            journal = self.folder / f"recorded-{partition}"
            shutil.rmtree(journal, ignore_errors=True)
            for done in (tocsin("record", "--kafka", self.address, "--partition", partition, journal),
                         tocsin("replay", journal, "--quiet", "--digest", "--alerts", "-")):
                if done.returncode != 0:
                    raise AssertionError(done.stderr)
            lines += [line for line in done.stdout.splitlines() if line.startswith("{")]
            for line in done.stdout.splitlines():
                if (found := re.match(r"digest (\S+) rows \S+ (\S+)$", line)) and not found[2].startswith(LASTS):
                    digests[found[2]] = found[1]
        return Outcome(by_job(line for line in lines if "verdict" not in json.loads(line)),
                       by_job(line for line in lines if "verdict" in json.loads(line)), digests)

    def firing(self):
        """The alerts that fire by the committed history, as (rule, job, rank or GPU)."""
        last = {}
        for line in topic(self.address, "alerts"):
            one = json.loads(line)
            last[one["id"]] = one
        return {named(one) for one in last.values() if one["state"] == "firing"}

    def served(self):
        """The alerts that fire by the API of all instances."""
        return {named(one) for instance in self.instances.values() if instance.lives() for one in instance.data("alerts?state=firing&limit=10000")}

    def shown(self):
        """The alerts that are active at Alertmanager."""
        return {(one["labels"]["alertname"], one["labels"]["job_id"], one["labels"].get("rank", one["labels"].get("gpu", "")))
                for one in self.manager.alerts()}

    def close(self):
        for one in self.instances.values():
            one.close()
        if self.feeding and self.feeding.poll() is None:
            self.feeding.kill()
            self.feeding.communicate()
        if self.manager:
            self.manager.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def pause(seconds, until=lambda: False):
    """Waits, or until it is so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not until():
        time.sleep(0.05)
