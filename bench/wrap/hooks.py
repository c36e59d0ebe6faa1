#!/usr/bin/env python3
"""What the hooks of adapters/python/tocsin.py cost a training: a small DDP model over gloo on the CPU, the worst case for them, since the
steps of a real one are longer.

Each rank trains a block of steps with the hooks and one without, in turns, so that whatever else the machine does meets both; every other
pair begins with the hooks. While they are out, their thread has ended.
A ratio is that of the CPU seconds of all ranks, or of the wall clock, and what is printed is its median over the pairs, with the interval
of 95 % of that median. On a machine that others use only CPU seconds mean anything. The last line reads:
    overhead cpu=… % (… to …) wall=… % (… to …) step=… ms; … us of CPU a step are the hooks'
"""
import argparse
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "adapters/python"))

import torch     # noqa: E402
import torch.distributed as dist     # noqa: E402
import torch.multiprocessing as mp     # noqa: E402
from torch.utils.data import dataloader     # noqa: E402

import tocsin     # noqa: E402

LINES = open(os.devnull, "w", encoding="ascii")
TIMED = dataloader._BaseDataLoaderIter


def net(options):
    torch.manual_seed(0)
    w = options.width
    layers = [torch.nn.Linear(64, w), torch.nn.Tanh(), torch.nn.Linear(w, w), torch.nn.Tanh(), torch.nn.Linear(w, 1)]
    return torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))


def batches(options):
    data = torch.utils.data.TensorDataset(torch.randn(4096, 64))
    while True:
        yield from torch.utils.data.DataLoader(data, batch_size=options.batch)


class Hooks:
    """Puts all of them in and takes them out again."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.before, self.watched = TIMED.__next__, None

    def turn(self, on):
        if on == (self.watched is not None):
            return
        if on:
            self.watched = tocsin.watch(self.model, self.optimizer, step=0)
            self.watched.out = LINES
        else:
            if self.watched not in tocsin._watches:
                sys.exit("the hooks switched themselves off")
            self.watched.close()
            self.watched, TIMED.__next__ = None, self.before


def block(model, optimizer, data, steps):
    """CPU and wall seconds of these steps in this process."""
    dist.barrier()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(steps):
        (x,) = next(data)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return time.process_time() - cpu, time.perf_counter() - wall


def train(rank, options, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{options.port}", rank=rank, world_size=options.ranks)
    model = net(options)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data, hooks = batches(options), Hooks(model, optimizer)
    with open(f"{folder}/{rank}", "w", encoding="ascii") as out:
        for n in range(-2, options.pairs):
            times = [None, None]
            for on in (0, 1) if n % 2 else (1, 0):
                hooks.turn(bool(on) and not options.control)
                times[on] = block(model, optimizer, data, options.steps)
            if n >= 0:
                print(*times[0], *times[1], file=out)
    dist.barrier()
    dist.destroy_process_group()


def percent(ratios):
    """The median, and the interval of 95 % that its bootstrap gives."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(2000))
    low, middle, high = (100 * (r - 1) for r in (medians[50], statistics.median(ratios), medians[-51]))
    return f"{middle:.2f} % ({low:.2f} to {high:.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--steps", type=int, default=5, help="in a block")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--port", type=int, default=29717)
    parser.add_argument("--control", action="store_true", help="no hooks in either block: what the method itself prints")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, (options, folder), options.ranks)
        ranks = []
        for rank in range(options.ranks):
            with open(f"{folder}/{rank}", encoding="ascii") as file:
                ranks.append([[float(v) for v in line.split()] for line in file])
    cpu, wall, step, own = [], [], [], []
    for pair in zip(*ranks):
        sums = [sum(column) for column in zip(*pair)]
        cpu.append(sums[2] / sums[0])
        wall.append(sums[3] / sums[1])
        step.append(sums[1] / options.ranks / options.steps)
        own.append((sums[2] - sums[0]) / options.ranks / options.steps)
    print(f"torch {torch.__version__}, {options.ranks} ranks, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {options.pairs} pairs of {options.steps} steps")
    print(f"overhead cpu={percent(cpu)} wall={percent(wall)} step={1000 * statistics.median(step):.1f} ms; {1e6 * statistics.median(own):.0f} us of CPU a step are the hooks'")


if __name__ == "__main__":
    main()
