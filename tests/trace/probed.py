"""trace_probe, and processes that it looks at."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

CALLER = os.environ.get("TRACE_CALLER", "build/release/tests/trace/trace_caller")
PROBE = os.environ.get("TRACE_PROBE", "build/release/tests/trace/trace_probe")


class Probe:
    """A running tracer; `error` says why there is none."""

    def __init__(self, *arguments, before=()):
        self.process = subprocess.Popen([*before, PROBE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.error = json.loads(self.process.stdout.readline()).get("error")
        self.notes = []

    def ask(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def look(self, pids):
        self.ask(" ".join(["look", *map(str, pids)]))

    def read(self):
        answer = self.ask("read")
        self.notes += answer["notes"]
        return {one["pid"]: one for one in answer["processes"]}

    def one(self, pid):
        """What it reads of one process, or an empty one."""
        self.look([pid])
        return self.read().get(pid, {})

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Caller:
    """A process that calls what it is asked to call."""

    def __init__(self, test, *before, program=CALLER):
        self.process = subprocess.Popen([*before, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        test.addCleanup(self.end)

    def send(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().split()

    def ask(self, *words):
        self.send(*words)
        return self.answer()

    def end(self):
        self.process.kill()
        self.process.communicate()


def descendants(pid):
    found = [pid]
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += descendants(int(child))
    except OSError:
        pass
    return found


def environment(pid, name):
    try:
        words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    return next((word.split(b"=", 1)[1].decode() for word in words if word.startswith(name.encode() + b"=")), None)


def until(happens, what, most=60):
    """Looks until it happens; the time is a limit for a machine that is busy, not a measure."""
    end = time.monotonic() + most
    while not (result := happens()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen in {most} s")
        time.sleep(0.05)
    return result


class Traced(unittest.TestCase):
    """Tests that need a tracer."""

    @classmethod
    def setUpClass(cls):
        probe = Probe()
        probe.close()
        if probe.error:
            raise unittest.SkipTest(probe.error)


def skip_without(probe):
    """Exit code 77 is 'skipped' to ctest, with the reason in its output."""
    if probe.error:
        print(f"SKIPPED: {probe.error}")
        sys.exit(77)
