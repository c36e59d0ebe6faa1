"""What the tests of adapters/python/tocsin.py share."""

import io
import os
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "adapters/python"))
import tocsin  # noqa: E402


class Out(io.StringIO):
    def lines(self):
        return self.getvalue().splitlines()

    def clear(self):
        self.seek(0)
        self.truncate()


class Clock:
    """Stands in for the time that the hooks read."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Hooks(unittest.TestCase):
    def setUp(self):
        self.out, self.clock = Out(), Clock()
        environment = {name: value for name, value in os.environ.items() if name not in (*tocsin._RANKS, "TOCSIN_LINES")}
        for patch in (mock.patch.dict(os.environ, environment, clear=True), mock.patch.object(tocsin.time, "perf_counter", self.clock)):
            patch.start()
            self.addCleanup(patch.stop)
        self.addCleanup(tocsin._watches.clear)

    def watch(self, **named):
        return tocsin.Watch(out=self.out, **named)

    def steps(self, watched, count, seconds, *known):
        for _ in range(count):
            self.clock.now += seconds
            watched.stepped(*known)
