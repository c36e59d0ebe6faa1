"""The embedded log: SIGKILL at random moments, torn writes, a full disk, a clock that steps and senders that repeat change nothing that is
reported.

The same telemetry goes to an undisturbed service and a disturbed one, each with a log of its own, as messages over HTTP. A batch counts as
delivered once it is answered with 200; until then it is sent again. At the end the history of alerts and verdicts is compared line for line,
and the digests of the jobs; with the undisturbed service, and with a replay of the disturbed one's own log."""

import collections
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import tempfile
import threading
import time

from tests.chaos.cluster import ROOT, TOOLS, Outcome, by_job, pause
from tests.chaos.telemetry import AFTER_THE_END, LASTS, telemetry
from tests.disk_log.embedded import Embedded
from tests.servers.process import Missing, wait_for
from tests.service.service import tocsin

PARTITIONS = 4
LAG = 104            # seconds that the telemetry is behind the clock at first: so a verdict need not be waited for as long as jobs do
SIZE = 64            # MiB of the disturbed service's disk
LEFT = 2 << 20       # bytes of it that are free when it is full
FAKETIME = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


class Feed:
    """The messages as they become due, and those that were: each service takes them at its own pace."""

    def __init__(self, lines, folder):
        (folder / "telemetry.jsonl").write_text("\n".join(lines) + "\n")
        made = tocsin("ingest", folder / "telemetry.jsonl", "--to", folder / "journal", "--strict", "--quiet")
        if made.returncode != 0:
            raise AssertionError(made.stderr)
        self.messages, self.over = [], False
        self.process = subprocess.Popen([TOOLS / "chaos_feed", folder / "journal", "-", "1", "1.5"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.reading = threading.Thread(target=self.read, daemon=True)
        self.reading.start()

    def read(self):
        while len(head := self.process.stdout.read(4)) == 4:
            self.messages.append(self.process.stdout.read(struct.unpack("<I", head)[0]))
        self.over = True

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.reading.join()
        self.process.stdout.close()


class Service(Embedded):
    """`tocsin run` on a directory of its own, with the rules of the chaos tests."""

    def __init__(self, folder, rules):
        self.directory, self.gaps = folder / "log", 0     # seconds in which nobody could write: silence is not judged in them
        file = folder / "tocsin.yml"
        file.write_text(f"log: {{directory: {self.directory}, partitions: {PARTITIONS}}}\nrules: [{rules}]\n"
                        'http: {listen: "127.0.0.1:0"}\nlimits: {save_every: 10s}\n')
        Embedded.with_configuration(self, file)

    def verdicts(self):
        """The jobs that have one."""
        return {json.loads(line)["subject"] for line in self.history() if '"verdict"' in line}

    def outcome(self):
        """What it published, and the digests of its stored state; after it has ended."""
        digests = subprocess.run([TOOLS / "chaos_digests", self.directory], capture_output=True, text=True)
        if digests.returncode != 0:
            raise AssertionError(digests.stderr)
        # The history names each line by an id and a number; a verdict has none of its own.
        lines = [re.sub(r'^\{"id":"[0-9a-f]{16}","number":0,"verdict"', '{"verdict"', line) for line in self.history()]
        return outcome_of(lines, {job: digest for job, digest in (line.rsplit(" ", 1) for line in digests.stdout.splitlines())})

    def replay(self):
        """What an undisturbed engine makes of the same log."""
        lines, digests = [], {}
        for partition in range(PARTITIONS):
            done = tocsin("replay", self.directory / f"partition-{partition}", "--quiet", "--digest", "--counters", "--alerts", "-")
            if done.returncode != 0:
                raise AssertionError(done.stderr)
            lines += [line for line in done.stdout.splitlines() if line.startswith("{")]
            self.gaps += int(re.search(r"\bgaps (\d+)", done.stdout)[1])
            digests.update((found[2], found[1]) for line in done.stdout.splitlines() if (found := re.match(r"digest (\S+) rows \S+ (\S+)$", line)))
        return outcome_of(lines, digests)


def outcome_of(lines, digests):
    return Outcome(by_job(line for line in lines if "verdict" not in json.loads(line)), by_job(line for line in lines if "verdict" in json.loads(line)),
                   {job: digest for job, digest in digests.items() if not job.startswith(LASTS)})


class Disk:
    """One run: two services, and what is done to one of them. It is killed while it judges, and the clock is set right again soon: the log has no gaps."""

    def clock_steps(self):
        self.step(self.draw.choice(["+1", "-8", "-3600"]))
        pause(self.draw.uniform(0.2, 1.5))
        self.step("+0")

    def started(self):
        self.disturbed.ready(PARTITIONS)

    def __init__(self, seed, kills=12, jobs=5, seconds=24, keep=None):
        self.keep = keep
        self.draw, self.kills, self.seconds = random.Random(seed), kills, seconds
        self.jobs = {f"job{number}" for number in range(jobs)}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tocsin-chaos-disk-"))
        self.notes, self.faults, self.compared = collections.Counter(), [], {}
        rules = self.folder / "rules"
        rules.mkdir()
        for file in (ROOT / "rules" / "signals.lua", ROOT / "rules" / "verdict.lua", ROOT / "tests" / "chaos" / "rules" / "chaos.lua"):
            shutil.copy(file, rules)
        (self.folder / "calm").mkdir()
        self.disk = self.folder / "disturbed"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}m", "tmpfs", self.disk], capture_output=True, text=True)
        if mounted.returncode != 0:
            raise Missing(f"a small file system cannot be mounted (run as root): {mounted.stderr.strip()}")
        if not FAKETIME:
            raise Missing("libfaketime is not installed: apt-get install libfaketime")
        self.calm = Service(self.folder / "calm", rules)
        self.clock = self.disk / "clock"
        self.step("+0")
        os.environ.update(LD_PRELOAD=str(FAKETIME[0]), FAKETIME_TIMESTAMP_FILE=str(self.clock), FAKETIME_NO_CACHE="1", FAKETIME_DONT_FAKE_MONOTONIC="1")
        try:
            self.disturbed = Service(self.disk, rules)
        finally:
            self.environment = {name: os.environ.pop(name) for name in ("LD_PRELOAD", "FAKETIME_TIMESTAMP_FILE", "FAKETIME_NO_CACHE", "FAKETIME_DONT_FAKE_MONOTONIC")}
        self.seed, self.feeds = seed, None

    def step(self, offset):
        beside = self.clock.with_suffix(".new")
        beside.write_text(f"{offset}\n")
        beside.rename(self.clock)

    def start_again(self):
        os.environ.update(self.environment)
        try:
            self.disturbed.start()
        finally:
            for name in self.environment:
                del os.environ[name]
        self.started()

    def run(self):
        try:
            self.calm.ready(PARTITIONS), self.disturbed.ready(PARTITIONS)
            self.feeds = Feed(telemetry(self.seed, round(time.time() - LAG, 1), len(self.jobs), self.seconds, 0.25), self.folder)
            feeding = [threading.Thread(target=self.feed, args=(self.calm, False)), threading.Thread(target=self.feed, args=(self.disturbed, True))]
            disturbing = threading.Thread(target=self.disturb)
            for thread in [*feeding, disturbing]:
                thread.start()
            disturbing.join()
            self.step("+0")
            for one in (self.calm, self.disturbed):
                wait_for(lambda one=one: self.jobs <= one.verdicts(), LAG + AFTER_THE_END, "the verdicts")
            self.feeds.stop()
            for thread in feeding:
                thread.join()
            self.compare()
        finally:
            if self.feeds:
                self.feeds.stop()
            for one in (self.calm, self.disturbed):
                if one.process.poll() is None:
                    one.process.kill()
                    one.process.wait()
            if self.keep:
                shutil.copytree(self.folder, pathlib.Path(self.keep, "disk"), dirs_exist_ok=True)
            subprocess.run(["umount", "-l", self.disk], check=False)
            shutil.rmtree(self.folder, ignore_errors=True)
        return self

    def feed(self, service, repeats):
        """All messages, in batches spread over the time; one that is not answered with 200 is sent again, and some that are, too."""
        draw, at = random.Random(1), 0
        while not self.feeds.over or at < len(self.feeds.messages):
            batch = self.feeds.messages[at:at + draw.randrange(1, 60)]
            if not batch:
                pause(0.05)
                continue
            while True:
                try:
                    status, answer = service.push_messages(batch, compressed=draw.random() < 0.5)
                    if status == 200:
                        break
                    if status != 503:
                        self.faults.append(f"a batch was answered with {status}: {answer}")
                        return
                    self.notes["answered 503"] += 1
                except (OSError, AssertionError, http.client.HTTPException):
                    self.notes["sent again"] += 1
                pause(0.1)
            if repeats and self.draw.random() < 0.1:
                self.notes["sent twice"] += 1
                continue
            at += len(batch)
            pause(0.1)

    def disturb(self):
        end = time.monotonic() + self.seconds
        while time.monotonic() < end and self.notes["killed"] < self.kills:
            pause(self.draw.uniform(0.2, 2.5))
            what = self.draw.choice(["kill", "kill", "tear", "fill", "clock"])
            if what == "clock":
                self.clock_steps()
                self.notes["clock steps"] += 1
            elif what == "fill":
                self.fill()
            else:
                self.disturbed.kill()
                self.notes["killed"] += 1
                if what == "tear":
                    self.tear()
                self.start_again()

    def fill(self):
        """Until the log takes no records, and there is still room for beats, reports and state; the process may be killed meanwhile."""
        ballast = self.disk / "ballast"
        with ballast.open("wb", buffering=0) as file:
            while shutil.disk_usage(self.disk).free > LEFT:
                file.write(bytes(1 << 16))
        self.notes["disk filled"] += 1
        killed = self.draw.random() < 0.5
        pause(self.draw.uniform(0.3, 1) if killed else self.draw.uniform(1.2, 2))
        if killed:
            self.disturbed.kill()
            self.notes["killed"] += 1
        ballast.unlink()
        if killed:
            self.start_again()

    def tear(self):
        """As a machine that loses its power does: the end of a segment is half a frame, or blocks of an older file."""
        segments = [max(partition.glob("*.journal")) for partition in self.disturbed.directory.glob("partition-*") if any(partition.glob("*.journal"))]
        segment = self.draw.choice(segments)
        content = segment.read_bytes()
        with segment.open("ab") as file:
            begin = self.draw.randrange(len(content)) if content else 0
            file.write(self.draw.choice([b"TSJ1" + self.draw.randbytes(30), bytes(100), content[begin:begin + 50]]))
        self.notes["torn"] += 1

    def compare(self):
        for one in (self.calm, self.disturbed):
            if (code := one.stop()) != 0:
                self.faults.append(f"it ended with {code}: {one.log[-5:]}")
        calm, disturbed = self.calm.outcome(), self.disturbed.outcome()
        self.compared = {"alerts": sum(map(len, disturbed.alerts.values())), "verdicts": sum(map(len, disturbed.verdicts.values())), "digests": len(disturbed.digests)}
        self.faults += calm.differences(self.calm.replay(), "undisturbed", "its replay")
        self.faults += disturbed.differences(self.disturbed.replay(), "disturbed", "its replay")
        differences = disturbed.differences(calm, "disturbed", "undisturbed")
        # Where no beat came for five seconds, or the log's time went on by as much at once, the two may have judged otherwise.
        # Before the first job of a partition there is a gap in each of them.
        if differences and self.disturbed.gaps > self.calm.gaps:
            self.notes["gaps, so that only replays are compared"] = self.disturbed.gaps - self.calm.gaps
        else:
            self.faults += differences
        lines = self.disturbed.history()
        if len(set(lines)) != len(lines):
            self.faults.append("a line was published twice")


class Gaps(Disk):
    """The same, killed while it starts, too, and with a clock that stays wrong: the log's time runs at half speed meanwhile, and jumps when it is set right."""

    def clock_steps(self):
        self.step(self.draw.choice(["+4", "-8", "-3600", "+0"]))

    def started(self):
        pass
