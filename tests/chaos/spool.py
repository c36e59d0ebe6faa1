"""The disk under the spool of `wrap --to` is full while the broker is away: the training goes on, what was spooled is delivered, and what is
lost is counted."""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from tests.chaos.cluster import Cluster, pause
from tests.servers.kafka import Kafka
from tests.servers.process import Missing, wait_for
from tests.service.service import ROOT, TOCSIN, tocsin, topic

SIZE = 4096      # KiB of the disk
EXIT_CODE = 7    # of the training
# A training that prints a step and a long line four times a second, until a file is there.
TRAINING = f"""
import os, sys, time
step = 0
while not os.path.exists(sys.argv[1]):
    step += 1
    print(f"iter {{step}}: loss {{3 - step / 1000:.4f}}, time 250.00ms, mfu 10.00%", flush=True)
    print(f"batch {{step}}: " + "x" * 2000, flush=True)
    time.sleep(0.25)
sys.exit({EXIT_CODE})
"""


class Disk:
    """A file system of its own that can be filled."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}k", "tmpfs", folder], capture_output=True, text=True)
        if mounted.returncode != 0:
            raise Missing(f"a small file system cannot be mounted (run as root): {mounted.stderr.strip()}")

    def fill(self):
        with open(self.folder / "ballast", "wb", buffering=0) as ballast:
            try:
                while ballast.write(b"\0" * 4096):
                    pass
            except OSError:
                pass

    def make_space(self):
        (self.folder / "ballast").unlink()

    def close(self):
        subprocess.run(["umount", self.folder], check=True)


class Spool:
    """One job under `wrap`, on a disk that becomes full; with `again` there is space again before it ends."""

    def __init__(self, kafka, again):
        self.again, self.kafka, self.faults, self.notes = again, kafka, [], {}
        self.name = "again" if again else "full"
        self.cluster = Cluster(kafka, self.name, partitions=1)
        shutil.copytree(ROOT / "rules" / "progress", self.cluster.rules / "progress")
        self.disk = Disk(self.cluster.folder / "disk")
        self.journal = self.cluster.folder / "disk" / "journal"

    def start(self):
        self.cluster.instance()
        self.cluster.until_judging()
        self.stop = self.cluster.folder / "stop"
        self.process = subprocess.Popen(
            [TOCSIN, "wrap", "--job", self.name, "--journal", self.journal, "--to", self.cluster.address, "--", sys.executable, "-c", TRAINING, self.stop],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.out, self.err = [], []
        self.reading = [threading.Thread(target=Spool.read, args=(stream, lines), daemon=True)
                        for stream, lines in ((self.process.stdout, self.out), (self.process.stderr, self.err))]
        for thread in self.reading:
            thread.start()
        wait_for(lambda: len(topic(self.cluster.address, "telemetry")) > 8, 30, "records of the job")

    @staticmethod
    def read(stream, lines):
        with stream:
            for line in stream:
                lines.append(line.rstrip("\n"))

    def printed(self, text):
        return next((line for line in self.err if re.search(text, line)), None)

    def while_the_broker_is_away(self):
        pause(2)
        self.disk.fill()
        wait_for(lambda: self.printed("not recorded: .*No space left on device"), 30, "a message about the disk")
        pause(7)         # longer than the rule `quiet` waits
        if self.again:
            self.disk.make_space()
            wait_for(lambda: self.printed(r"recording goes on; \d+ entries are missing"), 60, "the recording that goes on")
            pause(3)

    def finish(self):
        pause(3)
        self.stop.touch()
        code = self.process.wait(90)
        for thread in self.reading:
            thread.join(20)
        if code != EXIT_CODE:
            self.faults.append(f"wrap ended with {code}, the training with {EXIT_CODE}")
        steps = [int(found[1]) for line in self.out if (found := re.match(r"iter (\d+):", line))]
        if steps != list(range(1, len(steps) + 1)) or len(self.out) != 2 * len(steps):
            self.faults.append(f"the training's output is not whole: {len(self.out)} lines, {len(steps)} steps")
        if not self.again:
            self.disk.make_space()    # whoever looks at the journal later
        lost = re.findall(r"(\d+) entries are (?:missing|not recorded)", "\n".join(self.err))
        if not lost:
            self.faults.append("nobody reported how much is lost")
        else:
            self.notes["entries lost"] = int(lost[-1])
        if len([line for line in self.err if "not recorded:" in line]) > 1:
            self.faults.append(f"the same is printed again and again: {self.err}")

    def steps_in(self, journal):
        done = tocsin("export", journal)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        records = [json.loads(line) for line in done.stdout.splitlines()]
        return sorted(int(found[1]) for one in records if (found := re.match(r"iter (\d+):", one.get("line", ""))))

    def check(self):
        later = tocsin("forward", self.journal, "--to", self.cluster.address)
        if later.returncode != 0:
            self.faults.append(f"forward ended with {later.returncode}: {later.stderr}")
        spooled = self.steps_in(self.journal)
        recorded = self.cluster.folder / "recorded"
        done = tocsin("record", "--kafka", self.cluster.address, "--job", self.name, recorded)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        delivered = self.steps_in(recorded)
        self.notes.update({"steps printed": len(self.out) // 2, "spooled": len(spooled), "delivered": len(set(delivered))})
        if set(delivered) != set(spooled):
            self.faults.append(f"spooled were the steps {spooled}, delivered {sorted(set(delivered))}")
        if not 0 < len(spooled) < len(self.out) // 2:
            self.faults.append(f"the disk was not full for some of the time: {len(spooled)} of {len(self.out) // 2} steps are in the journal")
        # A watermark does not say that nobody could write: the service takes the hole in the journal for silence.
        silences = [one for line in topic(self.cluster.address, "alerts") if (one := json.loads(line))["rule"] == "quiet" and one["state"] == "firing"]
        self.notes["silences reported in the hole"] = len(silences)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.disk.close()
        self.cluster.close()


def run(keep=None):
    """Both kinds at once: jobs with their notes and faults."""
    with Kafka() as kafka:
        jobs = [Spool(kafka, again) for again in (True, False)]
        try:
            for job in jobs:
                job.start()
            kafka.end(signal.SIGKILL)
            threads = [threading.Thread(target=guarded, args=(job, job.while_the_broker_is_away)) for job in jobs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            kafka.start()
            for job in jobs:
                guarded(job, job.finish)
                guarded(job, job.check)
                if keep:
                    (pathlib.Path(keep) / f"{job.name}.err").write_text("\n".join(job.err))
        finally:
            for job in jobs:
                job.close()
    return jobs


def guarded(job, act):
    try:
        act()
    except Exception as wrong:    # noqa: BLE001: one job's fault is no other's
        job.faults.append(f"{wrong!r}; it printed: {job.err[-5:]}")
