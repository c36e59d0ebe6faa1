#!/usr/bin/env python3
"""What the tracer adds to a step of a real job, and to a call.

usage: overhead.py [--pairs 40] [--steps 50] [--ranks 2] [--width 1200] [--python /usr/bin/python3] PROBE CALLER

PROBE and CALLER are build/release/tests/trace/trace_probe and trace_caller. One job of PyTorch (DDP over gloo, ten collectives a step) runs on
through blocks of steps, in pairs, one with the tracer and one without, the order drawn, each behind some steps that settle what the start of the
tracer or its end has stirred: printed are the median of the pairs' differences and its 95 % interval by bootstrap, of step time and of the ranks' CPU
time, and the tracer's own CPU. Then calls of stub libraries, with and without.
For less noise: chrt -f 10 overhead.py ...
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

RANK = r"""
import sys, time, torch, torch.distributed as dist
rank, ranks, store, width = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=ranks)
layers = [torch.nn.Linear(width, width) for _ in range(8)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.75 * width * width * 4 / 2**20)
optimizer, some = torch.optim.SGD(model.parameters(), lr=1e-4), torch.ones(4)
print("up", flush=True)
for line in sys.stdin:
    dist.barrier()
    wall, used = time.perf_counter(), time.process_time()
    for _ in range(int(line)):
        model(torch.ones(64, width)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(some)
        dist.broadcast(some, 0)
    print(time.perf_counter() - wall, time.process_time() - used, flush=True)
"""


class Probe:
    def __init__(self, program, pids, *arguments):
        self.process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            sys.exit(f"overhead.py: {answer['error']}")
        self.pids, self.began = pids, self.cpu()
        self.read()

    def cpu(self):
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) * 1e-9

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def read(self):
        self.ask(" ".join(["look", *map(str, self.pids)]))
        return self.ask("read")["processes"]

    def end(self):
        used = self.cpu() - self.began
        self.process.communicate()
        return used


def start(command, count, *arguments):
    return [subprocess.Popen([*command, *(str(one) for one in (rank, *arguments))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for rank in range(count)]


def block(ranks, steps):
    """Seconds of wall time and of all ranks' CPU time, a step."""
    for process in ranks:
        process.stdin.write(f"{steps}\n")
        process.stdin.flush()
    answers = [[float(word) for word in process.stdout.readline().split()] for process in ranks]
    return max(wall for wall, _ in answers) / steps, sum(used for _, used in answers) / steps


def interval(values):
    draws = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), draws[50], draws[1949]


def steps_of_a_job(options):
    with tempfile.TemporaryDirectory() as folder:
        ranks = start([options.python, "-c", RANK], options.ranks, options.ranks, f"{folder}/store", options.width)
        for process in ranks:
            process.stdout.readline()
        pids, plain, wall, cpu, own, seconds = [process.pid for process in ranks], [], [], [], 0.0, 0.0
        block(ranks, options.steps)
        for _ in range(options.pairs):
            pair = {}
            for traced in random.sample([False, True], 2):
                began = time.monotonic()
                probe = Probe(options.probe, pids) if traced else None
                block(ranks, max(options.steps // 4, 1))
                before = probe.read() if probe else None
                pair[traced] = block(ranks, options.steps)
                if probe:
                    after = probe.read()
                    own, seconds = own + probe.end(), seconds + time.monotonic() - began
                    calls = sum(one["launched"] for one in after) - sum(one["launched"] for one in before)
            plain.append(pair[False])
            wall.append(pair[True][0] / pair[False][0] - 1)
            cpu.append(pair[True][1] / pair[False][1] - 1)
        for process in ranks:
            process.communicate()
    step = statistics.median(one[0] for one in plain)
    print(f"a step of {1e3 * step:.2f} ms, {calls / options.steps / options.ranks:.1f} collectives of each rank, {options.pairs} pairs of {options.steps} steps")
    for what, values in (("step time", wall), ("CPU of the ranks", cpu)):
        middle, low, high = interval(values)
        print(f"  {what}: {100 * middle:+.2f} % ({100 * low:+.2f} to {100 * high:+.2f})")
    print(f"  the tracer itself: {100 * own / seconds:.2f} % of a core, with one start in {seconds / options.pairs:.1f} s")


def calls_of_stubs(options):
    caller = subprocess.Popen([options.caller], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(count):
        def used():
            with open(f"/proc/{caller.pid}/schedstat", encoding="ascii") as file:
                return int(file.read().split()[0]) * 1e-9
        began = used()
        caller.stdin.write(f"calls {count}\n")
        caller.stdin.flush()
        caller.stdout.readline()
        return (used() - began) / (7 * count)

    for line in ("comm 0 2", "calls 1000"):
        caller.stdin.write(line + "\n")
        caller.stdin.flush()
        caller.stdout.readline()
    costs = []
    for _ in range(options.pairs):
        plain = run(3000)
        probe = Probe(options.probe, [caller.pid], "1e12")
        costs.append(run(3000) - plain)
        probe.end()
    caller.communicate()
    middle, low, high = interval(costs)
    print(f"a probed call: {1e6 * middle:.2f} us ({1e6 * low:.2f} to {1e6 * high:.2f}); 5,000 a second: {100 * 5000 * middle:.2f} % of a core")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe")
    parser.add_argument("caller")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--width", type=int, default=1200, help="of each of the eight layers: the length of a step goes with its square (default: 1200)")
    parser.add_argument("--python", default="/usr/bin/python3")
    options = parser.parse_args()
    print(f"Linux {os.uname().release}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    steps_of_a_job(options)
    calls_of_stubs(options)


if __name__ == "__main__":
    main()
