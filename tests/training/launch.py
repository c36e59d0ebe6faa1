#!/usr/bin/env python3
"""Starts the ranks of train.py on this machine and, as torchrun does, stops all of them when one fails.

Everything after `--` goes to train.py. Exit code: 0 when every rank ended well, 1 when one failed, 128 + the signal when asked to stop.
"""

import argparse
import ctypes
import datetime
import os
import signal
import socket
import subprocess
import sys
import time

GRACE_SECONDS = 5.0   # between SIGTERM and SIGKILL: a stopped rank cannot answer the first
POLL_SECONDS = 0.1
PR_SET_PDEATHSIG = 1
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py")


class Launcher:
    """The ranks of one job. Each gets its rank in its environment; this process has none in its own."""

    def __init__(self, ranks, arguments, script=SCRIPT, port=None):
        self._arguments, self._script = arguments, script
        self._port = port or free_port()
        self._count = ranks
        self._processes = []
        self.stopped_by = None

    def start(self):
        for rank in range(self._count):
            environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(self._count),
                               LOCAL_WORLD_SIZE=str(self._count), MASTER_ADDR="127.0.0.1",
                               MASTER_PORT=str(self._port), OMP_NUM_THREADS="1", PYTHONUNBUFFERED="1")
            self._processes.append(subprocess.Popen([sys.executable, self._script, *self._arguments],
                                                    env=environment, preexec_fn=die_with_parent))
            say(f"started rank {rank} of {self._count} (pid: {self._processes[-1].pid})")

    def wait(self):
        """Waits for all ranks; returns the (rank, exit code) of the first that failed, or None."""
        while self.stopped_by is None:
            codes = [process.poll() for process in self._processes]
            for rank, code in enumerate(codes):
                if code not in (None, 0):
                    return rank, code
            if all(code == 0 for code in codes):
                return None
            time.sleep(POLL_SECONDS)
        return None

    def stop(self, number=signal.SIGTERM):
        """Asks the ranks that still run to end, and insists after the grace period."""
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(number)
        deadline = time.monotonic() + GRACE_SECONDS
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def summary(self, first):
        """What a person wants to read after a failure; `first` is the rank that failed first."""
        rule = "=" * 60
        lines = [rule, f"{os.path.basename(self._script)} failed", "first failure:", *self._describe(first)]
        others = [rank for rank, process in enumerate(self._processes) if rank != first and process.returncode]
        if others:
            lines += ["stopped or failed after it:", *(line for rank in others for line in self._describe(rank))]
        return "\n".join([*lines, rule])

    def _describe(self, rank):
        process = self._processes[rank]
        now = datetime.datetime.now().strftime("%Y-%m-%d_%H:%M:%S")
        return [f"  time      : {now}", f"  host      : {socket.gethostname()}",
                f"  rank      : {rank} (local_rank: {rank})",
                f"  exitcode  : {process.returncode} (pid: {process.pid})", f"  ended by  : {ending(process.returncode)}"]


def ending(code):
    """How a process ended, in words."""
    if code < 0:
        return f"signal {-code} ({signal.Signals(-code).name})"
    return f"exit code {code}"


def die_with_parent():
    """In a child, before it runs: the kernel kills it when its parent dies, so that nothing is left behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def say(text):
    print(f"launch: {text}\n", end="", file=sys.stderr, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4, help="processes to start")
    parser.add_argument("--port", type=int, help="rendezvous port on 127.0.0.1 (default: a free one)")
    parser.add_argument("training", nargs="*", metavar="-- ARGUMENT", help="arguments of train.py")
    return parser.parse_args()


def main():
    options = parse_arguments()
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        os.environ.pop(name, None)
    launcher = Launcher(options.ranks, options.training, port=options.port)

    def on_signal(number, _frame):
        launcher.stopped_by = number

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    launcher.start()
    failed = launcher.wait()
    if launcher.stopped_by is not None:
        say(f"received {signal.Signals(launcher.stopped_by).name}, stopping all ranks")
        launcher.stop(launcher.stopped_by)
        return 128 + launcher.stopped_by
    if failed is not None:
        rank, code = failed
        say(f"rank {rank} failed: exitcode: {code}, {ending(code)}; stopping the others")
        launcher.stop()
        print(launcher.summary(rank), file=sys.stderr, flush=True)
        return 1
    say("all ranks ended well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
