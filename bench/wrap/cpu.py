#!/usr/bin/env python3
"""The share of CPU that wrap's own processes take, against the command's.

usage: cpu.py [--seconds 60] [--ranks 4] [--lines 10] -- WRAP [OPTIONS...] --

WRAP is the program with its options, to which `-- COMMAND` can be added: `tocsin wrap`, or the tests' wrap_probe. The command is a
launcher of ranks, each with a loader worker and some threads, that compute for half of each second and print lines; on a machine that
others use too they come to fewer lines, with as much work for each. Ten minutes: --seconds 600. Counts the CPU time of the parent, the
recorder and the engine until just before the end, from /proc; and what of it came after the first 20 seconds, in which the rules are
compiled.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

RANK = r"""
import sys, threading, time, os
seconds, lines, duty = float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
for _ in range(20): threading.Thread(target=time.sleep, args=(seconds,), daemon=True).start()
worker = os.fork()
if worker == 0:
    time.sleep(seconds)
    os._exit(0)
end, step = time.time() + seconds, 0
while time.time() < end:
    turn, used = time.time(), time.process_time()
    while time.process_time() - used < duty / lines: pass
    step += 1
    print(f"[rank{os.environ['RANK']}] step {step} | loss 2.31 | grad norm 0.93 | {lines} lines a second", flush=True)
    time.sleep(max(0, 1 / lines - (time.time() - turn)))
os.waitpid(worker, 0)
"""
LAUNCHER = """
import os, subprocess, sys
ranks = int(sys.argv[1])
started = [subprocess.Popen([sys.executable, "-c", sys.argv[2], *sys.argv[3:]],
                            env=dict(os.environ, RANK=str(r), WORLD_SIZE=str(ranks))) for r in range(ranks)]
sys.exit(max(p.wait() for p in started))
"""


def processes():
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    text = file.read()
            except OSError:
                continue
            name = text[text.index(b"(") + 1:text.rindex(b")")].decode(errors="replace")
            fields = text[text.rindex(b")") + 2:].split()
            found[int(entry)] = (name, int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14]))
    return found


def schedstat(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) * 1e-9


class Usage:
    """CPU seconds up to now of wrap's processes, and of the command with all that it runs."""

    def __init__(self, wrap):
        seen = processes()
        self.names = {wrap: "parent"}
        self.names.update({pid: p[0].removeprefix("tocsin-") for pid, p in seen.items() if p[1] == wrap and p[0].startswith("tocsin-")})
        self.ours = {pid: schedstat(pid) for pid in self.names}
        tick = 1 / os.sysconf("SC_CLK_TCK")
        self.command, below = 0.0, [pid for pid, p in seen.items() if p[1] == wrap and pid not in self.names]
        while below:
            pid = below.pop()
            self.command += (seen[pid][2] + seen[pid][3]) * tick
            below += [child for child, p in seen.items() if p[1] == pid]


def machine():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown CPU")
    return f"machine: {model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def main():
    arguments = sys.argv[1:]
    if "--" not in arguments:
        sys.exit(__doc__)
    cut = arguments.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--lines", type=int, default=10, help="a second, of each rank")
    parser.add_argument("--duty", type=float, default=0.5, help="of a core, of each rank")
    options = parser.parse_args(arguments[:cut])
    wrap = [word for word in arguments[cut + 1:] if word != "--"]
    with tempfile.TemporaryDirectory() as state:
        command = [*wrap, "--", sys.executable, "-c", LAUNCHER, str(options.ranks), RANK, str(options.seconds), str(options.lines),
                   str(options.duty)]
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=dict(os.environ, XDG_STATE_HOME=state))
        print(machine())
        beginning = min(20.0, options.seconds / 2)
        time.sleep(beginning)
        early = Usage(run.pid)
        time.sleep(options.seconds - 1 - beginning)
        usage = Usage(run.pid)
        total = sum(usage.ours.values())
        for pid, name in usage.names.items():
            with open(f"/proc/{pid}/statm", encoding="ascii") as file:
                resident = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
            print(f"{name:9} {usage.ours[pid]:8.3f} s  {100 * usage.ours[pid] / usage.command:6.3f} % of the command  {resident:6.1f} MiB resident")
        print(f"command   {usage.command:8.3f} s; ours together {100 * total / usage.command:.3f} % of it, "
              f"{100 * (total - sum(early.ours.values())) / (usage.command - early.command):.3f} % after the first {beginning:.0f} s")
        run.wait()


if __name__ == "__main__":
    main()
