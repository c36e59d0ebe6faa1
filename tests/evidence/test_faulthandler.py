"""Stacks without py-spy, which processes print themselves: those with tocsin_stacks.py, on a signal, and no others."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from test_commands import LIMIT, PYTHON, ROOT, TOCSIN, Processes, tocsin

MODULES = ROOT / "adapters/python"
NO_TOOLS = "/nowhere"

WAITING = """
import threading, time, tocsin_stacks

def other():
    time.sleep(600)

def spin():
    while True:
        sum(range(1000))

def sleep():
    time.sleep(600)

def lock():
    held = threading.Lock()
    held.acquire()
    threading.Condition(held).wait()

def train(mode):
    print("ready", flush=True)
    globals()[mode]()

import sys
tocsin_stacks.register()
threading.Thread(target=other, daemon=True).start()
train(sys.argv[1])
"""

# SIGURG is blocked, so that one which was sent stays pending and is seen.
UNSUITABLE = """
import ctypes, faulthandler, os, signal, sys, time, tocsin_stacks

def handler(*_):
    pass

mode = sys.argv[1]
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
if mode == "own":
    signal.signal(signal.SIGURG, handler)
tocsin_stacks.register()
if mode == "own":
    assert signal.getsignal(signal.SIGURG) is handler and tocsin_stacks._file is None
elif mode == "unregistered":
    faulthandler.unregister(signal.SIGURG)
elif mode == "closed":
    os.close(tocsin_stacks._file)
elif mode == "forked" and os.fork() != 0 or mode == "forked unseen" and ctypes.CDLL(None).fork() != 0:
    time.sleep(600)
elif mode == "exec":
    os.execv(sys.executable, [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"])
print(os.getpid(), flush=True)
time.sleep(600)
"""

# Rank 0 waits in a collective that rank 1 never enters.
RANKS = """
import os, subprocess, sys

if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, RANK=str(r), WORLD_SIZE="2")) for r in (0, 1)]
    sys.exit(max(rank.wait() for rank in ranks))
import torch, torch.distributed as dist, tocsin

def forever():
    while True:
        sum(range(1000))

def train():
    for step in range(1000):
        model(torch.ones(1, 4)).sum().backward()
        if step == 3 and dist.get_rank() == 1:
            forever()
        dist.all_reduce(model.weight.grad)
        optimizer.step()

dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=int(os.environ["RANK"]), world_size=2)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
tocsin.watch(model, optimizer)
train()
"""


def pending(pid):
    masks = [line.split()[1] for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(("ShdPnd", "SigPnd"))]
    return any(int(mask, 16) >> (signal.SIGURG - 1) & 1 for mask in masks)


class Signalled(Processes):
    def setUp(self):
        super().setUp()
        environment = mock.patch.dict(os.environ, PYTHONPATH=str(MODULES))
        environment.start()
        self.addCleanup(environment.stop)

    def start(self, text, *arguments):
        return self.program(text, *arguments, python=sys.executable)

    def test_a_process_prints_where_its_main_thread_is_and_runs_on(self):
        modes = {"spin": "own", "sleep": "sleeping", "lock": "lock"}
        processes = [self.start(WAITING, mode) for mode in modes]
        for process in processes:
            self.assertEqual(process.stdout.readline(), "ready\n")
        for _ in range(2):
            found = self.stacks(processes, modes.values(), path=NO_TOOLS)
            for mode, one in zip(modes, found["processes"]):
                self.assertEqual((one["way"], one.get("error")), ("faulthandler", None))
                self.assertRegex(one["place"], rf"^(wait < )?{mode} \(job.py:\d+\) < train \(job.py:\d+\)$")
        self.assertEqual([process.poll() for process in processes], [None] * 3)

    def test_a_stopped_process_is_not_signalled(self):
        process = self.start(WAITING, "sleep")
        process.stdout.readline()
        os.kill(process.pid, signal.SIGSTOP)
        found = self.stacks([process], ["stopped"], path=NO_TOOLS)
        self.assertEqual(found["processes"][0]["way"], "kernel")
        self.assertFalse(pending(process.pid))

    def test_only_a_process_that_catches_the_signal_for_it_is_signalled(self):
        for mode in ("registered", "own", "unregistered", "closed", "forked", "forked unseen", "exec"):
            with self.subTest(mode):
                pid = int(self.start(UNSUITABLE, mode).stdout.readline())
                done = json.loads(tocsin("stacks", "--pid", pid, "--no-gdb", "--json", path=NO_TOOLS).stdout)
                self.assertEqual(done["processes"][0]["way"], "kernel")
                self.assertEqual(pending(pid), mode == "registered")
                if mode == "registered":
                    self.assertIn("did not print its stack", done["processes"][0]["error"])


@unittest.skipUnless(subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0, "PyTorch is not installed")
class Job(Processes):
    def test_the_rank_of_a_job_that_loops_is_named_with_its_function(self):
        # Outside its virtual environment, which may have a py-spy.
        paths = json.loads(subprocess.run([PYTHON, "-c", "import json, os, sys; print(json.dumps([os.path.realpath(sys.executable), *sys.path[1:]]))"],
                                          capture_output=True, check=True).stdout)
        journal, script = self.folder / "journal", self.folder / "train.py"
        script.write_text(RANKS)
        run = subprocess.Popen([TOCSIN, "wrap", "--journal", journal, "--rules", ROOT / "rules", "--", paths[0], script, self.folder / "store"],
                               env=dict(os.environ, PATH=NO_TOOLS, PYTHONPATH=":".join(paths[1:])), start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.wait)
        self.addCleanup(os.killpg, run.pid, signal.SIGTERM)
        end, doing = time.monotonic() + LIMIT, None
        while doing != ["collective", "own"]:
            self.assertIsNone(run.poll())
            self.assertLess(time.monotonic(), end, doing)
            time.sleep(0.5)
            done = tocsin("stacks", "--job", journal, "--json", "--no-gdb", path=NO_TOOLS, check=False)
            found = json.loads(done.stdout) if done.returncode == 0 else {"processes": []}
            doing = [one.get("doing") for one in found["processes"]]
        self.assertEqual([one["way"] for one in found["processes"]], ["faulthandler"] * 2)
        self.assertRegex(found["processes"][0]["place"], r"^all_reduce < train \(train.py:\d+\)")
        self.assertRegex(found["processes"][1]["place"], r"^forever \(train.py:\d+\) < train \(train.py:\d+\)")


if __name__ == "__main__":
    unittest.main()
