#!/usr/bin/env python3
"""Runs the training job of launch.py and makes one thing go wrong in it, at a given step or time.

Its output is the job's own and never tells what was done; that goes to --truth. Everything after `--` goes to train.py.
Signals are passed on, so a wrapper sees an ordinary job:

    faults.py --fault sigstop --rank 2 --at 20 --for 40 --truth truth.json -- --seconds 90

Faults:
  none          a healthy run
  sigstop       the rank is stopped (SIGSTOP), and goes on after --for seconds
  kill          the rank is killed (SIGKILL)
  loader_stuck  the rank's loader blocks in a read, until --for seconds have passed
  slow_rank     the rank's own work takes --factor times as long (default 2)
  lr_explode    the learning rate of all ranks is multiplied by --factor (default 300)
  loss_nan      the rank's loss becomes NaN, and with the next all-reduce every rank's
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from launch import die_with_parent

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.py")
STEP_LINE = re.compile(rb"^\[rank \d+\] step (\d+) ")
START_LINE = re.compile(rb"^launch: started rank (\d+) of \d+ \(pid: (\d+)\)")
DEFAULT_FACTORS = {"slow_rank": 2.0, "lr_explode": 300.0}
MARK_SECONDS = 10.0  # how long to wait for a rank's own word that a setting has had its effect


class Job:
    """launch.py as a child, its two streams passed through and read on the way."""

    def __init__(self, ranks, arguments, environment):
        command = [sys.executable, LAUNCHER, "--ranks", str(ranks), "--", *arguments]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=die_with_parent)
        self.pids = {}
        self.step = 0
        self._relays = [threading.Thread(target=self._relay, args=streams, daemon=True)
                        for streams in ((self.process.stdout, 1), (self.process.stderr, 2))]
        for relay in self._relays:
            relay.start()

    def running(self):
        return self.process.poll() is None

    def send(self, number):
        if self.running():
            self.process.send_signal(number)

    def wait(self):
        """The launcher's exit code, once all its output has been passed on."""
        code = self.process.wait()
        for relay in self._relays:
            relay.join(timeout=5)
        return code

    def _relay(self, source, target):
        for line in source:
            try:
                os.write(target, line)
            except BrokenPipeError:
                self.send(signal.SIGTERM)
            if found := STEP_LINE.match(line):
                self.step = max(self.step, int(found.group(1)))
            elif found := START_LINE.match(line):
                self.pids[int(found.group(1))] = int(found.group(2))


class Fault:
    """One fault: `begin` makes it, `end` takes it back; `time` tells when it took effect."""

    def __init__(self, options, folder):
        self.options = options
        self.controls = os.path.join(folder, "controls.json")
        self.marks = os.path.join(folder, "marks.jsonl")
        self.fifo = os.path.join(folder, "data")

    def begin(self, job):
        """Starts the fault and returns when (epoch seconds)."""
        kind, rank = self.options.fault, self.options.rank
        if kind == "sigstop":
            os.kill(job.pids[rank], signal.SIGSTOP)
        elif kind == "kill":
            os.kill(job.pids[rank], signal.SIGKILL)
        else:
            self._write(self._settings())
            return self._marked(job) or time.time()
        return time.time()

    def end(self, job):
        """Takes the fault back, and returns when."""
        kind = self.options.fault
        if kind == "sigstop":
            os.kill(job.pids[self.options.rank], signal.SIGCONT)
        elif kind == "loader_stuck":
            self._write([])
            os.close(os.open(self.fifo, os.O_RDWR | os.O_NONBLOCK))  # a writer that comes and goes: the read ends
        else:
            self._write([])
        return time.time()

    def _settings(self):
        rank, factor = self.options.rank, self.options.factor
        if self.options.fault == "loader_stuck":
            os.mkfifo(self.fifo)
            return [{"rank": rank, "name": "loader_read", "value": self.fifo}]
        if self.options.fault == "slow_rank":
            return [{"rank": rank, "name": "compute_factor", "value": factor}]
        if self.options.fault == "lr_explode":
            return [{"rank": None, "name": "lr_factor", "value": factor}]
        return [{"rank": rank, "name": "loss_factor", "value": "nan"}]

    def _write(self, settings):
        """Replaced whole, so that no rank reads half a file."""
        with open(self.controls + ".new", "w", encoding="utf-8") as file:
            json.dump(settings, file)
        os.replace(self.controls + ".new", self.controls)

    def _marked(self, job):
        """When a rank first felt the setting, by its own word."""
        deadline = time.monotonic() + MARK_SECONDS
        while time.monotonic() < deadline and job.running():
            if os.path.exists(self.marks):
                with open(self.marks, encoding="utf-8") as file:
                    times = [json.loads(line)["t"] for line in file if line.endswith("\n")]
                if times:
                    return min(times)
            time.sleep(0.05)
        return None


class Truth:
    """What was done to the job, and when: for a test's eyes only."""

    def __init__(self, options):
        self.path = options.truth
        self.facts = {"fault": options.fault, "rank": options.rank if needs_rank(options.fault) else None,
                      "factor": options.factor, "step": None, "fault_time": None, "end_time": None}

    def tell(self, **facts):
        self.facts.update(facts)
        if self.path:
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump(self.facts, file, indent=1)
                file.write("\n")
            os.replace(self.path + ".new", self.path)


def needs_rank(fault):
    return fault not in ("none", "lr_explode")


def wait_until(job, condition):
    """Waits for the condition; false where the job ended first."""
    while job.running():
        if condition():
            return True
        time.sleep(0.05)
    return False


def after(seconds):
    deadline = time.monotonic() + seconds
    return lambda: time.monotonic() >= deadline


def direct(job, options, fault, truth):
    """Begins the fault when it is due, ends it, and cancels the job where that was asked."""
    if options.at_seconds is not None:
        due = after(options.at_seconds)
    else:
        due = lambda: job.step >= options.at  # noqa: E731
    if options.fault == "none" or not wait_until(job, due):
        return
    truth.tell(step=job.step, fault_time=fault.begin(job))
    cancel = after(options.cancel_after) if options.cancel_after else None
    if options.for_seconds and options.fault != "kill" and wait_until(job, after(options.for_seconds)):
        truth.tell(end_time=fault.end(job))
    if cancel and wait_until(job, cancel):
        job.send(signal.SIGTERM)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fault", default="none", metavar="NAME",
                        choices=["none", "sigstop", "kill", "loader_stuck", "slow_rank", "lr_explode", "loss_nan"])
    parser.add_argument("--rank", type=int, default=1, help="the rank it happens to")
    parser.add_argument("--at", type=int, default=40, metavar="STEP", help="begin when this step was reached")
    parser.add_argument("--at-seconds", type=float, help="begin after so many seconds instead")
    parser.add_argument("--for", type=float, dest="for_seconds", metavar="SECONDS",
                        help="end it after so long (default: it lasts)")
    parser.add_argument("--factor", type=float, help="how much slower, or how much more learning rate")
    parser.add_argument("--cancel-after", type=float, metavar="SECONDS",
                        help="stop the whole job so long after the fault began, as an operator would")
    parser.add_argument("--truth", metavar="FILE", help="write what was done, and when, to this file")
    parser.add_argument("--ranks", type=int, default=4, help="processes of the job")
    parser.add_argument("training", nargs="*", metavar="-- ARGUMENT", help="arguments of train.py")
    options = parser.parse_args()
    if needs_rank(options.fault) and not 0 <= options.rank < options.ranks:
        parser.error(f"--rank {options.rank}: the job has ranks 0 to {options.ranks - 1}")
    if options.factor is None:
        options.factor = DEFAULT_FACTORS.get(options.fault)
    return options


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="train-") as folder:
        fault = Fault(options, folder)
        truth = Truth(options)
        truth.tell()
        environment = dict(os.environ, TRAIN_CONTROLS=fault.controls, TRAIN_MARKS=fault.marks)
        job = Job(options.ranks, options.training, environment)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _frame: job.send(received))
        direct(job, options, fault, truth)
        code = job.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
