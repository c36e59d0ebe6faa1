#!/usr/bin/env python3
"""How long `tocsin wrap -- true` takes, from its exec to its exit.

usage: whole.py [--rounds 30] [--cold 5] TOCSIN [OTHER]

Wall and CPU time of all processes of a run, median and 95th percentile: warm, with a cache that an earlier run filled, and cold, with an
empty one. With OTHER, a second program, their runs alternate. The phases are read from a trace of system calls in runs of their own, which
the trace slows down: when the command was started, when the recorder had written the first frame, when the engine opened its
alerts (its rules are loaded then), and the end of the recorder, of the engine and of wrap.
"""
import argparse
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

WRAP = ["wrap", "--", "true"]


class Scratch:
    """Directories of one program: its cache and its state, which does not grow from run to run."""

    def __init__(self, parent, name):
        self.cache, self.state = (os.path.join(parent, name + part) for part in ("-cache", "-state"))
        self.environment = dict(os.environ, TOCSIN_CACHE=self.cache, XDG_STATE_HOME=self.state)

    def clear(self, cold):
        shutil.rmtree(self.state, ignore_errors=True)
        if cold:
            shutil.rmtree(self.cache, ignore_errors=True)


def run(program, scratch, cold):
    """Wall and CPU milliseconds. The CPU time is that of wrap, and of all that it waited for."""
    scratch.clear(cold)
    begun = time.monotonic()
    pid = os.posix_spawn(program, [program, *WRAP], scratch.environment,
                         file_actions=[(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)])
    _, status, used = os.wait4(pid, 0)
    wall = time.monotonic() - begun
    if status != 0:
        raise SystemExit(f"{program} ended with status {status}")
    return 1000 * wall, 1000 * (used.ru_utime + used.ru_stime)


def show(program, kind, runs):
    def figures(values):
        return f"median {statistics.median(values):6.1f} ms  p95 {sorted(values)[math.ceil(0.95 * len(values)) - 1]:6.1f} ms"
    wall, cpu = zip(*runs)
    print(f"{program}  {kind:4}  wall {figures(wall)}  CPU {figures(cpu)}  ({len(runs)} runs)")


def phases(program, scratch):
    """Milliseconds since the exec, by phase, of one warm run under strace."""
    scratch.clear(False)
    trace = scratch.state + "-trace"
    subprocess.run(["strace", "-f", "-ttt", "-s", "64", "-e", "trace=execve,prctl,fdatasync,openat,exit_group", "-o", trace, program, *WRAP],
                   env=scratch.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    lines = [re.match(r"(\d+) +(\d+\.\d+) (.*)", line).groups() for line in pathlib.Path(trace).read_text("utf-8").splitlines()]
    first = float(lines[0][1])
    names, found = {lines[0][0]: "wrap"}, {}
    for pid, at, call in lines:
        if named := re.match(r'prctl\(PR_SET_NAME, "tocsin-(\w+)"', call):
            names[pid] = named[1]
        process = names.get(pid, "")
        for phase, of, begins in (("recorder: first frame", "recorder", "fdatasync"), ("engine: rules loaded", "engine", "alerts.jsonl"),
                                  ("recorder: end", "recorder", "exit_group"), ("engine: end", "engine", "exit_group"),
                                  ("end", "wrap", "exit_group")):
            if process == of and begins in call:
                found.setdefault(phase, 1000 * (float(at) - first))
        if not process and call.startswith(("execve", "<... execve resumed>")) and call.endswith("= 0"):
            found.setdefault("command: begin", 1000 * (float(at) - first))
    return found


def machine():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown CPU")
    return f"machine: {model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30, help="warm runs")
    parser.add_argument("--cold", type=int, default=5, help="runs with an empty cache")
    parser.add_argument("programs", nargs="+", metavar="TOCSIN")
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as parent:
        scratches = {program: Scratch(parent, str(i)) for i, program in enumerate(options.programs)}
        for kind, rounds, cold in (("cold", options.cold, True), ("warm", options.rounds, False)):
            runs = {program: [] for program in options.programs}
            for number in range(-1 if kind == "warm" else 0, rounds):
                for program, scratch in scratches.items():
                    taken = run(program, scratch, cold)
                    if number >= 0:
                        runs[program].append(taken)
            for program in options.programs if rounds > 0 else []:
                show(program, kind, runs[program])
        for program, scratch in scratches.items() if shutil.which("strace") else []:
            each = [phases(program, scratch) for _ in range(5)]
            print(f"{program}  " + ", ".join(f"{phase} {statistics.median(one[phase] for one in each if phase in one):.0f} ms"
                                             for phase in sorted(set().union(*each), key=lambda phase: statistics.median(
                                                 one[phase] for one in each if phase in one))))


if __name__ == "__main__":
    main()
