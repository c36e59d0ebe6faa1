#!/usr/bin/env python3
"""What `tocsin node` takes on a machine with many processes: milliseconds of CPU a second of the agent, and of the recorder of one job.

usage: processes.py [--processes 3000] [--seconds 10] TOCSIN

Twice: while nothing is started, and while a process is started five times a second. Nothing listens where the records go. Root, or the
user's own jobs.
"""
import argparse
import os
import pathlib
import subprocess
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")


def cpu(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / TICK


def children(pid):
    return {int(child): pathlib.Path(f"/proc/{child}/comm").read_text().strip()
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("tocsin")
    options = parser.parse_args()
    sleep = ["sleep", "600"]
    started = [subprocess.Popen(sleep) for _ in range(options.processes)]
    started.append(subprocess.Popen(sleep, env={"PATH": os.environ["PATH"], "RANK": "0", "WORLD_SIZE": "1", "TOCSIN_JOB": "bench"}))
    with tempfile.TemporaryDirectory() as state:
        agent = subprocess.Popen([options.tocsin, "node", "--to", "http://127.0.0.1:1", "--job", "bench", "--state", state],
                                 stderr=subprocess.DEVNULL)
        try:
            time.sleep(8)       # processes that have just begun are looked at again
            for name, starts in (("nothing is started", False), ("a process is started each 0.2 s", True)):
                parts = {agent.pid: "agent", **children(agent.pid)}
                before, begun = {pid: cpu(pid) for pid in parts}, time.monotonic()
                while time.monotonic() - begun < options.seconds:
                    time.sleep(0.2)
                    if starts:
                        subprocess.run(["true"], check=True)
                seconds = time.monotonic() - begun
                figures = ", ".join(f"{part} {(cpu(pid) - before[pid]) * 1000 / seconds:.1f}" for pid, part in parts.items())
                print(f"{options.processes} processes, {name}: ms of CPU a second: {figures}")
        finally:
            agent.terminate()
            agent.wait()
            for process in started:
                process.kill()
            for process in started:
                process.wait()


if __name__ == "__main__":
    main()
