"""adapters/python/tocsin.py in real trainings of PyTorch, DistributedDataParallel over gloo; left out where there is no PyTorch."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOOKS = ROOT / "adapters/python"

TRAINING = """
import os, sys, time
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.set_num_threads(1)
torch.manual_seed(1)
if world > 1: dist.init_process_group("gloo")
net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
model = DistributedDataParallel(net) if world > 1 else net
first = torch.optim.Adam(net[0].parameters())
second = torch.optim.SGD(net[2].parameters(), lr=0.01)
if "watch" in sys.argv:
    import tocsin
    watched = tocsin.watch(model, first, second)
data = torch.randn(4000, 16, generator=torch.Generator().manual_seed(rank))
n = 0
for x in torch.utils.data.DataLoader(data, batch_size=8):
    n += 1
    if "late" in sys.argv and rank == 1: time.sleep(0.04)
    if "accumulate" in sys.argv and n % 2:
        with model.no_sync(): model(x).square().mean().backward()
        continue
    loss = model(x).square().mean()
    if "raises" in sys.argv and n == 9: raise ValueError("bad batch")
    loss.backward()
    first.step(); second.step()
    first.zero_grad(); second.zero_grad()
    if n == (200 if "late" not in sys.argv else 60): break
torch.save(net.state_dict(), sys.argv[1] + f"/weights.{rank}")
torch.save(model if world == 1 else net, sys.argv[1] + f"/model.{rank}")
if world > 1: dist.barrier(); dist.destroy_process_group()
print("finished")
"""

BROKEN = """
import io, time, torch, tocsin
torch.set_num_threads(1)
tocsin._LOOK = tocsin._COUNTS = 0.001

def trained(watch):
    torch.manual_seed(1)
    net = torch.nn.Linear(16, 1)
    optimizer = torch.optim.Adam(net.parameters())
    watched = tocsin.watch(net, optimizer, every=0.001) if watch else None
    if watch: watched.out = io.StringIO()
    for x in torch.utils.data.DataLoader(torch.ones(60, 16), batch_size=2):
        net(x).square().mean().backward()
        optimizer.step()
        time.sleep(0.002)
    assert not watch or not watched.on
    return net.weight

right = trained(False)
for place in ("_mark", "_measure", "_look_once", "_in_collective", "say", "_print_times", "follow_optimizer", "_clear"):
    def bad(self, *a, **b): raise RuntimeError("planted in " + place)
    kept = getattr(tocsin.Watch, place)
    watches = tocsin.Watch._clear
    if place == "_clear":      # not in what makes a Watch
        def bad(self):
            if hasattr(self, "kept"): raise RuntimeError("planted in _clear")
            watches(self)
    setattr(tocsin.Watch, place, bad)
    assert trained(True).equal(right)
    setattr(tocsin.Watch, place, kept)
    print(place)
"""

WORKERS = """
import time, torch, tocsin

class Items(torch.utils.data.Dataset):
    def __init__(self, seconds):
        self.seconds = seconds
    def __len__(self):
        return 40
    def __getitem__(self, index):
        time.sleep(self.seconds)
        return torch.ones(16)

def train(seconds):
    torch.set_num_threads(1)
    net = torch.nn.Linear(16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    watched = tocsin.watch(net, optimizer, step=0, every=1000)
    for x in torch.utils.data.DataLoader(Items(seconds), batch_size=1, num_workers=2):
        net(x).square().mean().backward()
        optimizer.step()
        time.sleep(0.05)
    watched.close()

if __name__ == "__main__":
    train(0.001)
    train(0.2)
"""


@unittest.skipUnless(find_spec("torch"), "PyTorch is not installed")
class Training(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "train.py").write_text(TRAINING)

    def train(self, name, *options, ranks=2):
        """What each rank printed on stdout and stderr."""
        (self.folder / name).mkdir()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        environment = dict(os.environ, PYTHONPATH=str(HOOKS), PYTHONDONTWRITEBYTECODE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(ranks))
        running = [subprocess.Popen([sys.executable, "-W", "ignore", "train.py", name, *options], cwd=self.folder, env=dict(environment, RANK=str(rank)), text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(ranks)]
        self.addCleanup(lambda: [p.kill() for p in running if p.poll() is None])
        return [p.communicate(timeout=300) for p in running]

    def weights(self, name, rank=0):
        import torch
        return torch.load(self.folder / name / f"weights.{rank}")

    def assert_same_weights(self, one, other):
        for key, value in self.weights(one).items():
            self.assertTrue(value.equal(self.weights(other)[key]), key)

    def test_what_is_trained_is_the_same_to_the_last_bit(self):
        self.train("without")
        printed = self.train("with", "watch")
        self.assert_same_weights("without", "with")
        for out, errors in printed:
            self.assertEqual(errors, "")
            self.assertTrue(out.endswith("finished\n") or "finished\n" in out)

    def test_the_rank_that_is_late_computes_and_the_other_one_waits(self):
        printed = self.train("late", "watch", "late")
        seen = []
        for rank, (out, errors) in enumerate(printed):
            self.assertEqual(errors, "")
            lines = re.findall(rf"^\[rank {rank}\] step (\d+) \| step_time (\S+) \| compute (\S+) \| data (\S+) \| comm (\S+)$", out, re.M)
            self.assertGreater(len(lines), 2, out)
            seen.append([sum(float(line[n]) for line in lines) / len(lines) for n in range(5)])
            self.assertEqual(int(lines[-1][0]), 60)
            self.assertRegex(out, rf"(?m)^\[rank {rank}\] collectives launched \d+ done \d+$")
        (prompt, late) = seen
        self.assertGreater(late[2], 0.035)
        self.assertGreater(prompt[4], late[4] + 0.02)
        self.assertLess(prompt[2], late[2] - 0.015)

    def test_gradients_that_are_accumulated_count_to_their_step(self):
        ((out, errors), _) = self.train("accumulate", "watch", "accumulate")
        self.assertEqual(errors, "")
        self.assertRegex(out, r"(?m)^\[rank 0\] step 100 \|")      # of 200 batches

    def test_one_process_without_torch_distributed_is_measured(self):
        ((out, errors),) = self.train("alone", "watch", ranks=1)
        self.assertEqual(errors, "")
        self.assertRegex(out, r"(?m)^\[rank 0\] step 200 \| .* \| comm 0\.000\d\d$")
        self.assertNotIn("collectives", out)

    def test_workers_of_a_loader_are_as_busy_as_its_batches_are_slow(self):
        (self.folder / "workers.py").write_text(WORKERS)
        done = subprocess.run([sys.executable, "-B", "-W", "ignore", "workers.py"], cwd=self.folder, env=dict(os.environ, PYTHONPATH=str(HOOKS)),
                              capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        fast, slow = (float(line.rpartition(" workers ")[2]) for line in done.stdout.splitlines())
        self.assertLess(fast, 0.5)
        self.assertGreater(slow, 0.9)

    def test_an_exception_of_the_training_is_its_own(self):
        ((_, errors),) = self.train("raises", "watch", "raises", ranks=1)
        self.assertTrue(errors.rstrip().endswith("ValueError: bad batch"), errors)
        self.assertNotIn("tocsin:", errors)

    def test_hooks_that_fail_in_each_place_leave_the_training_alone(self):
        (self.folder / "broken.py").write_text(BROKEN)
        done = subprocess.run([sys.executable, "-B", "-W", "ignore", "broken.py"], cwd=self.folder, env=dict(os.environ, PYTHONPATH=str(HOOKS)),
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        places = done.stdout.split()
        self.assertEqual(len(places), 8)
        self.assertEqual(done.stderr.splitlines(), [f"tocsin: times are no longer printed: RuntimeError: planted in {place}" for place in places])


if __name__ == "__main__":
    unittest.main()
