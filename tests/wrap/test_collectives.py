"""A real job of four ranks of PyTorch over gloo under wrap, one of which does not come to a collective: no line of it says so."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.servers.process import free_port  # noqa: E402
from tests.servers.service import TOCSIN, why_not_traced  # noqa: E402

PYTHON = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
LIMIT = 150      # seconds for a job to start and be judged, on a machine that builds meanwhile
# A launcher of its own: Debian's torchrun needs a package that Debian does not have.
RANK = """
import os, subprocess, sys, time
if "RANK" not in os.environ:
    common = dict(os.environ, WORLD_SIZE="4", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[2])
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env=dict(common, RANK=str(rank))) for rank in range(4)]
    sys.exit(max(rank.wait() for rank in ranks))
import torch, torch.distributed as dist

def fetch_a_batch():
    time.sleep(600)

torch.set_num_threads(1)
dist.init_process_group("gloo")
groups = [dist.new_group(), dist.new_group()]
for step in range(40):
    dist.all_reduce(torch.ones(4))
    time.sleep(0.02)
mode, rank = sys.argv[1], dist.get_rank()
if mode == "missing" and rank == 2:
    fetch_a_batch()
if mode == "outside":
    pair = dist.new_group([0, 1])
    if rank > 0:
        fetch_a_batch()
    dist.all_reduce(torch.ones(4), group=pair)
if mode == "mismatch" and rank == 3:
    dist.broadcast(torch.ones(4), 0)
if mode == "order":
    for group in groups[::-1] if rank == 1 else groups:
        dist.barrier(group=group)
dist.all_reduce(torch.ones(4))
"""


class Job:
    def __init__(self, mode):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        (folder / "rank.py").write_text(RANK)
        self.alerts = folder / "journal" / "alerts.jsonl"
        command = [PYTHON, str(folder / "rank.py"), mode, str(free_port())]
        self.process = subprocess.Popen(
            [TOCSIN, "wrap", "--job", "job", "--rules", str(ROOT / "rules"), "--journal", str(folder / "journal"), "--", *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def first_alert(self):
        for _ in range(LIMIT * 5):
            lines = self.alerts.read_text().splitlines() if self.alerts.exists() else []
            for line in lines:
                if line.endswith("}") and json.loads(line).get("state") == "firing":
                    return json.loads(line)
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        self.process.kill()
        raise AssertionError("no alert; the job printed:\n" + self.process.communicate()[0])

    def bundle(self):
        """The manifest of what was gathered beside the journal; it takes some seconds."""
        for _ in range(LIMIT):
            if found := list(self.alerts.parent.glob("bundle-*/manifest.json")):
                return found[0]
            time.sleep(1)
        return None

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.communicate()
        self.folder.cleanup()


class Collectives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.jobs = {mode: Job(mode) for mode in ("missing", "outside", "mismatch", "order")}      # they mostly wait

    @classmethod
    def tearDownClass(cls):
        for job in cls.jobs.values():
            job.end()

    def alert(self, mode):
        return self.jobs[mode].first_alert()

    def test_a_rank_that_does_not_enter_a_collective_is_named_with_the_collective(self):
        alert = self.alert("missing")
        self.assertEqual((alert["rule"], alert["who"]), ("collective_not_entered", [2]), alert)
        self.assertIn("all_reduce 41 was not entered by rank 2", alert["form"]["seen"])
        self.assertIn("; rank 2: ", alert["form"]["seen"])      # where it is, also without py-spy
        self.assertIsNotNone(self.jobs["missing"].bundle())

    def test_a_rank_that_is_no_member_of_the_group_that_waits_is_not_named(self):
        alert = self.alert("outside")
        self.assertEqual((alert["rule"], alert["who"]), ("collective_not_entered", [1]), alert)

    def test_a_rank_that_calls_another_function_is_named_with_both(self):
        alert = self.alert("mismatch")
        self.assertEqual((alert["rule"], alert["who"]), ("collective_mismatch", [3]), alert)
        self.assertIn("calls broadcast where the others call all_reduce, as number 41 of group 0", alert["form"]["seen"])

    def test_two_groups_in_opposite_order_are_a_deadlock(self):
        alert = self.alert("order")
        self.assertEqual((alert["rule"], alert["who"]), ("collective_deadlock", [1]), alert)


if __name__ == "__main__":
    if why := why_not_traced(PYTHON):
        print("SKIPPED:", why)
        sys.exit(77)
    unittest.main()
