"""A real job of four ranks of PyTorch over gloo: what the tracer counts, and what is open where one rank is missing."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from probed import Probe, skip_without, until

PYTHON = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
RANK = pathlib.Path(__file__).with_name("gloo_rank.py")
STEPS = 40


class Job:
    def __init__(self, probe, mode):
        self.probe, self.folder = probe, tempfile.TemporaryDirectory()
        store = pathlib.Path(self.folder.name) / "store"
        self.ranks = [subprocess.Popen([PYTHON, RANK, str(rank), "4", store, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                      for rank in range(4)]
        self.pids = [process.pid for process in self.ranks]

    def traces(self):
        self.probe.look(self.pids)
        found = self.probe.read()
        return [found[pid] for pid in self.pids] if all(pid in found for pid in self.pids) else None

    def finished(self):
        """Traces when all have made their steps."""
        traces = self.traces()
        return traces if traces and all(sum(group["functions"].get("barrier", 0) for group in one["groups"]) == STEPS for one in traces) else None

    def stuck(self):
        """Traces when three ranks have waited for two seconds."""
        traces = self.traces()
        return traces if traces and sum(one.get("oldest", {}).get("open", 0) > 2 for one in traces) == 3 else None

    def end(self):
        for process in self.ranks:
            process.kill()
            process.communicate()
        self.folder.cleanup()


class Gloo(unittest.TestCase):
    def setUp(self):
        self.probe = Probe()
        self.addCleanup(self.probe.close)

    def job(self, mode):
        job = Job(self.probe, mode)
        self.addCleanup(job.end)
        return job

    def test_all_ranks_have_launched_and_completed_the_same_collectives(self):
        job = self.job("whole")
        traces = until(job.finished, "the job")
        for process in job.ranks:
            self.assertEqual(process.stdout.readline(), "done\n")
        traces = job.traces()
        self.assertEqual([one["complete"] for one in traces], [True] * 4)
        self.assertEqual(len({one["launched"] for one in traces}), 1, traces)
        for rank, one in enumerate(traces):
            self.assertEqual(one["done"], one["launched"])
            self.assertNotIn("oldest", one)
            self.assertEqual((one["peer_launched"], one["peer_done"]), (STEPS, STEPS) if rank < 2 else (0, 0))
            whole, pair = sorted(one["groups"], key=lambda group: -group["size"])
            self.assertEqual([whole["size"], whole["rank"], pair["size"], pair["rank"]], [4, rank, 2, rank % 2])
            counts = whole["functions"]
            self.assertEqual([counts["barrier"], pair["functions"]["all_reduce"]], [STEPS, STEPS])
            self.assertGreaterEqual(counts["all_gather"], STEPS)      # DDP compares its parameters in one, too
            self.assertGreaterEqual(counts["all_reduce"], 2 * STEPS)   # the gradients', and the job's own
            self.assertEqual(counts.get("send" if rank == 0 else "recv", 0), STEPS if rank < 2 else 0)
        names = [[group["name"] for group in sorted(one["groups"], key=lambda group: -group["size"])] for one in traces]
        self.assertEqual(names[0], names[1])
        self.assertEqual(names[2], names[3])
        self.assertEqual(len({whole for whole, _ in names}), 1)
        self.assertNotEqual(names[0][1], names[2][1])
        self.assertEqual(self.probe.notes, [])

    def test_a_job_that_runs_already_is_known_by_rank_and_size_and_counted_from_now_on(self):
        job = self.job("whole")
        for process in job.ranks:
            self.assertEqual(process.stdout.readline(), "done\n")
        self.probe.look(job.pids)
        self.assertEqual(self.probe.read(), {})
        for process in job.ranks:
            process.stdin.write("again\n")
            process.stdin.flush()
        for process in job.ranks:
            self.assertEqual(process.stdout.readline(), "done\n")
        for rank, one in enumerate(job.traces()):
            self.assertEqual((one["launched"], one["done"], one["complete"]), (2, 2, False))
            self.assertEqual(sorted((group["size"], group["rank"], *group["functions"]) for group in one["groups"]),
                             [(2, rank % 2, "all_reduce"), (4, rank, "barrier")])

    def test_a_rank_in_an_endless_loop_has_nothing_open_and_the_others_wait_in_the_next_all_reduce(self):
        job = self.job("loops")
        traces = until(job.stuck, "the hang")
        self.assertNotIn("oldest", traces[2])
        self.assertEqual(traces[2]["launched"], traces[2]["done"])
        missing = next(group for group in traces[2]["groups"] if group["size"] == 4)
        for rank in (0, 1, 3):
            oldest = traces[rank]["oldest"]
            self.assertEqual((oldest["function"], oldest["sequence"], oldest["group"], oldest["size"]),
                             ("all_reduce", missing["launched"] + 1, missing["name"], 4))


if __name__ == "__main__":
    skip_without(probe := Probe())
    probe.close()
    if subprocess.run([PYTHON, "-c", "import torch.distributed"], capture_output=True).returncode != 0:
        print("SKIPPED: there is no PyTorch here (python3-torch)")
        raise SystemExit(77)
    unittest.main()
