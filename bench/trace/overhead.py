#!/usr/bin/env python3
"""What the tracer adds to a step of a real job, and to a call.

usage: overhead.py [--pairs 100] [--seconds 1] [--ranks 2] [--width 1200] [--python /usr/bin/python3] [--same] PROBE CALLER

PROBE and CALLER are build/release/tests/trace/trace_probe and trace_caller. One job of PyTorch (DDP over gloo, ten collectives a step) runs on through
short blocks of steps, in pairs, one with probes and one without, the order drawn. The tracer starts and ends while the ranks wait between two blocks, and is
read each second as in `tocsin wrap`. Of each block the median step counts, and of the pairs the median difference, with its 95 % interval by bootstrap.
A machine that is shared makes that interval wide. So the cost is also put together from its parts, of which each is measured finely: what the tracer adds to
a collective (a burst of them behind each step, of which the median counts), times the collectives of a step, and the CPU that the tracer itself takes, as if
all of it were taken from a rank. At last the same of calls of stub libraries, and what 5,000 of them a second cost.
--same: no probes in either block of a pair. What it prints is the error of the method on this machine.
For less noise: chrt -f 10 overhead.py ...
"""
import argparse
import json
import os
import random
import select
import statistics
import subprocess
import sys
import tempfile
import time

RANK = r"""
import sys, time, torch, torch.distributed as dist
rank, ranks, store, width, burst = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=ranks)
layers = [torch.nn.Linear(width, width) for _ in range(8)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.75 * width * width * 4 / 2**20)
optimizer, some, batch = torch.optim.SGD(model.parameters(), lr=1e-4), torch.ones(4), torch.ones(64, width)
print("up", flush=True)
for line in sys.stdin:
    rows = []
    for _ in range(int(line)):
        dist.barrier()
        wall, used = time.perf_counter(), time.process_time()
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(some)
        dist.broadcast(some, 0)
        wall, used = time.perf_counter() - wall, time.process_time() - used
        began = time.perf_counter()
        for _ in range(burst):
            dist.all_reduce(some)
        rows.append(f"{wall:.7f},{used:.7f},{(time.perf_counter() - began) / burst:.8f}")
    print(*rows, flush=True)
"""
BURST = 20      # collectives behind each step
SETTLE = 1      # steps before a block that do not count


class Probe:
    """A tracer, off at first. Counts its own CPU time between its start and its end."""

    def __init__(self, program, pids, *arguments):
        self.process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            sys.exit(f"overhead.py: {answer['error']}")
        self.pids, self.used, self.seconds, self.since = pids, 0.0, 0.0, None
        self.ask("off")

    def cpu(self):
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) * 1e-9

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def on(self):
        self.ask("on")
        self.read()
        self.since = time.monotonic(), self.cpu()

    def read(self):
        self.ask(" ".join(["look", *map(str, self.pids)]))
        return self.ask("read")["processes"]

    def off(self):
        self.seconds, self.used = self.seconds + time.monotonic() - self.since[0], self.used + self.cpu() - self.since[1]
        self.ask("off")


def start(command, count, *arguments):
    return [subprocess.Popen([*command, *(str(one) for one in (rank, *arguments))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for rank in range(count)]


def block(ranks, steps, each_second):
    """Of each step: seconds of wall time, of all ranks' CPU time, and of a collective behind it."""
    for process in ranks:
        process.stdin.write(f"{steps}\n")
        process.stdin.flush()
    while not select.select([ranks[0].stdout], [], [], 1)[0]:
        each_second()
    answers = [[tuple(map(float, one.split(","))) for one in process.stdout.readline().split()] for process in ranks]
    return [(max(one[0] for one in step), sum(one[1] for one in step), max(one[2] for one in step)) for step in zip(*answers)]


def interval(values):
    draws = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), draws[50], draws[1949]


def pairs_of_blocks(options, ranks, probe, steps):
    """Of each pair the medians of the block without probes and of that with them, and how many collectives a step of a rank has."""
    pairs, calls = [], 0
    for _ in range(options.pairs):
        pair = {}
        for second in random.sample([False, True], 2):
            traced = second and not options.same
            if traced:
                probe.on()
            before = probe.read() if traced else []
            rows = block(ranks, SETTLE + steps, probe.read if traced else lambda: None)[SETTLE:]
            if traced:
                calls = sum(one["launched"] for one in probe.read()) - sum(one["launched"] for one in before)
                probe.off()
            pair[second] = [statistics.median(column) for column in zip(*rows)]
        pairs.append((pair[False], pair[True]))
    return pairs, calls / (SETTLE + steps) / options.ranks - BURST - 1


def steps_of_a_job(options):
    """Returns the share of a core that the tracer takes."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = start([options.python, "-c", RANK], options.ranks, options.ranks, f"{folder}/store", options.width, BURST)
        for process in ranks:
            process.stdout.readline()
        probe = Probe(options.probe, [process.pid for process in ranks])
        steps = max(4, round(options.seconds / statistics.median(one[0] for one in block(ranks, 20, lambda: None))))
        pairs, collectives = pairs_of_blocks(options, ranks, probe, steps)
        for process in [*ranks, probe.process]:
            process.communicate()
    step, _, call = (statistics.median(column) for column in zip(*(without for without, _ in pairs)))
    print(f"a step of {1e3 * step:.2f} ms, {collectives:.1f} collectives of each rank, {options.pairs} pairs of {steps} steps")
    for index, what in enumerate(("step time", "CPU of the ranks")):
        middle, low, high = interval([with_it[index] / without[index] - 1 for without, with_it in pairs])
        print(f"  {what}: {100 * middle:+.2f} % ({100 * low:+.2f} to {100 * high:+.2f})")
    if options.same:
        collectives = 10
    added = interval([with_it[2] - without[2] for without, with_it in pairs])
    share = [100 * collectives * one / step for one in added]
    print(f"  a collective, of {1e6 * call:.0f} us: {1e6 * added[0]:+.2f} us ({1e6 * added[1]:+.2f} to {1e6 * added[2]:+.2f}); "
          f"{collectives:.0f} a step: {share[0]:+.3f} % of it ({share[1]:+.3f} to {share[2]:+.3f})")
    tracer = probe.used / probe.seconds if probe.seconds else 0.0
    print(f"  the tracer itself: {100 * tracer:.2f} % of a core; with it at most {share[2] + 100 * tracer:.2f} % of the step")
    return tracer


def calls_of_stubs(options, tracer):
    caller = subprocess.Popen([options.caller], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(line):
        caller.stdin.write(line + "\n")
        caller.stdin.flush()
        caller.stdout.readline()

    def run(count):
        def used():
            with open(f"/proc/{caller.pid}/schedstat", encoding="ascii") as file:
                return int(file.read().split()[0]) * 1e-9
        began = used()
        ask(f"calls {count}")
        return (used() - began) / (7 * count)

    ask("comm 0 2")
    ask("calls 1000")
    probe, costs = Probe(options.probe, [caller.pid], "1e12"), []
    for _ in range(min(options.pairs, 40)):
        plain = run(3000)
        probe.on()
        costs.append(run(3000) - plain)
        probe.off()
    for process in (caller, probe.process):
        process.communicate()
    middle, low, high = interval(costs)
    print(f"a probed call: {1e6 * middle:.2f} us ({1e6 * low:.2f} to {1e6 * high:.2f}); 5,000 a second: {100 * 5000 * middle:.2f} % of a core of the rank, "
          f"{100 * (5000 * middle + tracer / options.ranks):.2f} % with its share of the tracer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe")
    parser.add_argument("caller")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1, help="of a block (default: 1)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--width", type=int, default=1200, help="of each of the eight layers: the length of a step goes with its square (default: 1200)")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--same", action="store_true")
    options = parser.parse_args()
    print(f"Linux {os.uname().release}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    tracer = steps_of_a_job(options)
    if not options.same:
        calls_of_stubs(options, tracer)


if __name__ == "__main__":
    main()
