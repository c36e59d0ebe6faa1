"""`tocsin stacks`, `bundle` and `dumps` on real processes: where they stand is named, whoever looks, and whatever is missing."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
PY_SPY = shutil.which("py-spy", path=os.environ.get("PATH", "") + f":{ROOT}/build/tools/bin")
LIMIT = 120      # seconds for what would not happen otherwise, on a machine that builds meanwhile

PLAIN = """
import fcntl, os, queue, sys, threading, time

def spin():
    while True:
        sum(range(1000))

def lock():
    held = threading.Lock()
    held.acquire()
    threading.Condition(held).wait()

def flock():
    file = open(sys.argv[0])
    if os.fork() == 0:
        fcntl.flock(file, fcntl.LOCK_EX)
        time.sleep(600)
    time.sleep(1)
    fcntl.flock(open(sys.argv[0]), fcntl.LOCK_EX)

def read():
    os.read(os.pipe()[0], 1)

def sleep():
    time.sleep(600)

def wait():
    held = threading.Lock()
    held.acquire()
    held.acquire()

def train():
    print("ready", flush=True)
    globals()[sys.argv[1]]()

train()
"""

TORCH = """
import os, sys, time, torch, torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

class Stuck(Dataset):
    def __len__(self):
        return 10
    def __getitem__(self, index):
        time.sleep(600)

def collective():
    dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=int(sys.argv[3]), world_size=2)
    print("ready", flush=True)
    if sys.argv[3] == "0":
        dist.all_reduce(torch.ones(4))
    time.sleep(600)

def loading():
    loader = iter(DataLoader(Stuck(), num_workers=1))
    print("ready", flush=True)
    next(loader)

def saving():
    os.mkfifo(sys.argv[2])
    print("ready", flush=True)
    torch.save({"x": torch.ones(4)}, sys.argv[2])

globals()[sys.argv[1]]()
"""


def tocsin(*arguments, path=None, check=True):
    environment = dict(os.environ, PATH=path or os.environ["PATH"])
    done = subprocess.run([TOCSIN, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=LIMIT)
    if check and done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done


class Processes(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def program(self, text, *arguments, python=PYTHON):
        file = self.folder / "job.py"
        if not file.exists():      # others may be reading it
            file.write_text(text)
        process = subprocess.Popen([python, file, *map(str, arguments)], stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.communicate)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        return process

    def stacks(self, processes, wanted, **options):
        """The JSON of all, once each process does what is wanted of it."""
        end = time.monotonic() + LIMIT
        while True:
            pids = [word for process in processes for word in ("--pid", process.pid)]
            found = json.loads(tocsin("stacks", *pids, "--no-gdb", "--json", **options).stdout)
            doing = [one.get("doing") for one in found["processes"]]
            if doing == list(wanted) or time.monotonic() > end:
                self.assertEqual(doing, list(wanted), found)
                return found
            time.sleep(0.2)


@unittest.skipUnless(PY_SPY, "py-spy is not installed: python3 -m venv build/tools && build/tools/bin/pip install py-spy==0.4.3")
class WithPySpy(Processes):
    def setUp(self):
        super().setUp()
        self.path = os.path.dirname(PY_SPY) + ":/usr/bin:/bin"

    def test_a_program_is_named_by_its_own_functions_and_what_it_does(self):
        modes = {"spin": "own", "lock": "lock", "flock": "lock", "read": "reading", "sleep": "sleeping", "wait": "waiting"}
        processes = [self.program(PLAIN, mode) for mode in modes]
        for process in processes:
            self.assertEqual(process.stdout.readline(), "ready\n")
        found = self.stacks(processes, modes.values(), path=self.path)
        for mode, one in zip(modes, found["processes"]):
            self.assertEqual(one["way"], "py-spy")
            self.assertRegex(one["place"], rf"(wait < )?{mode} \(job.py:\d+\) < train \(job.py:\d+\)$")

    def test_a_stopped_process_is_seen_where_it_was_stopped(self):
        process = self.program(PLAIN, "sleep")
        self.stacks([process], ["sleeping"], path=self.path)
        os.kill(process.pid, signal.SIGSTOP)
        found = self.stacks([process], ["stopped"], path=self.path)
        self.assertRegex(found["processes"][0]["place"], r"^sleep \(job.py:\d+\)")

    @unittest.skipUnless(subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0, "PyTorch is not installed")
    def test_what_pytorch_does_is_seen_in_its_frames(self):
        store, pipe = self.folder / "store", self.folder / "pipe"
        processes = [self.program(TORCH, "collective", store, 0), self.program(TORCH, "collective", store, 1),
                     self.program(TORCH, "loading"), self.program(TORCH, "saving", pipe)]
        for process in processes:
            self.assertEqual(process.stdout.readline(), "ready\n")
        found = self.stacks(processes, ["collective", "sleeping", "loading", "saving"], path=self.path)
        places = [one["place"] for one in found["processes"]]
        self.assertRegex(places[0], r"^all_reduce < collective \(job.py:\d+\)")
        self.assertRegex(places[1], r"^collective \(job.py:\d+\)")
        self.assertRegex(places[2], r"^\w+ < loading \(job.py:\d+\)")
        self.assertRegex(places[3], r"^save < saving \(job.py:\d+\)")


class WithoutPySpy(Processes):
    def test_the_kernel_shows_what_a_process_waits_for(self):
        process = self.program(PLAIN, "sleep")
        process.stdout.readline()
        done = tocsin("stacks", "--pid", process.pid, "--no-gdb", path="/nowhere")
        self.assertIn("pip install py-spy", done.stdout)
        self.assertIn("main, idle, state S", done.stdout)

    def test_what_cannot_be_done_is_an_error_with_its_remedy(self):
        for arguments, text in ((["stacks"], "--pid PID or --job NAME is required"), (["stacks", "--pid", "0"], "--pid"),
                                (["stacks", "--job", self.folder / "none"], "none"), (["dumps", self.folder], "no dump of PyTorch"),
                                (["bundle", self.folder / "none"], "none")):
            done = tocsin(*arguments, check=False)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(text, done.stderr)

    def test_a_process_that_has_gone_is_a_stack_with_a_reason(self):
        gone = tocsin("stacks", "--pid", 1 << 22, check=False)
        self.assertEqual(gone.returncode, 2)
        self.assertIn("has ended", gone.stdout)

    def test_dumps_of_a_job_are_judged_by_the_shipped_rules(self):
        done = tocsin("dumps", "--rules", ROOT / "rules", ROOT / "tests/evidence/dumps")
        self.assertIn("ranks 0, 1 wait, rank 2 has not entered", done.stdout)
        self.assertRegex(done.stdout, r"who +rank 2; job dumps")

    def test_a_bundle_is_gathered_from_a_run_and_shown(self):
        journal = self.folder / "journal"
        text = ("import os, subprocess, sys, time\n"
                "if 'RANK' not in os.environ:\n"
                "    [p.wait() for p in [subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, RANK=str(r), WORLD_SIZE='2')) for r in (0, 1)]]\n"
                "os.write(1, b'a line of rank %d\\n' % int(os.environ.get('RANK', 0)))\n"
                "time.sleep(600)\n")
        (self.folder / "ranks.py").write_text(text)
        run = subprocess.Popen([TOCSIN, "wrap", "--journal", journal, "--rules", ROOT / "rules", "--", PYTHON, self.folder / "ranks.py"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(run.wait)
        self.addCleanup(os.killpg, run.pid, signal.SIGTERM)
        end = time.monotonic() + LIMIT
        while (done := tocsin("stacks", "--job", journal, "--json", "--no-gdb", check=False)).returncode != 0 \
                or len(json.loads(done.stdout)["processes"]) < 2:
            self.assertLess(time.monotonic(), end, done.stderr)
            time.sleep(0.5)
        self.assertEqual([one["rank"] for one in json.loads(done.stdout)["processes"]], [0, 1])
        self.assertEqual(tocsin("bundle", journal, check=False).returncode, 1)
        (bundle,) = json.loads(tocsin("bundle", journal, "--take", "--json").stdout)
        self.assertTrue(bundle["complete"])
        parts = {part["name"]: part for part in bundle["parts"]}
        for name in ("stacks.txt", "stacks.json", "lines.txt", "rank_0.txt", "rank_1.txt"):
            self.assertIn("bytes", parts[name], name)
        self.assertIn("a line of rank 1", (journal / bundle["bundle"] / "lines.txt").read_text())
        self.assertIn(bundle["bundle"], tocsin("bundle", journal).stdout)


if __name__ == "__main__":
    unittest.main()
