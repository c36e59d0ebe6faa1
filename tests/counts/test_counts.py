"""bench/counts/run: which counts it refuses, and that callgrind counts the same twice."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
COMMAND = pathlib.Path(__file__).resolve().parents[2] / "bench/counts/run"
loader = importlib.machinery.SourceFileLoader("counts", str(COMMAND))
counts = importlib.util.module_from_spec(importlib.util.spec_from_loader("counts", loader))
sys.modules["counts"] = counts
loader.exec_module(counts)

DUMP = """fn=(1) main
cfn=(2) tocsin::stream::Shard::consume(tocsin::stream::Entry const&, unsigned long)
calls=3 16
+5 300

fn=(2)
16 40
cfn=(3) memcpy
calls=4 0
+1 260

fn=(1)
20 7
cfn=(2)
calls=1 16
* 25
"""


class Counts(unittest.TestCase):
    def compared(self, now, recorded):
        with contextlib.redirect_stdout(io.StringIO()):
            return counts.compare(now, recorded)

    def test_the_calls_of_a_function_are_summed_with_what_they_call(self):
        self.assertEqual(counts.costs(DUMP), {"tocsin::stream::Shard::consume(tocsin::stream::Entry const&, unsigned long)": 325, "memcpy": 260})

    def test_a_difference_of_more_than_three_percent_is_a_problem_in_either_direction(self):
        self.assertEqual(self.compared({"a": 102.9, "b": 97.1}, {"a": 100, "b": 100}), [])
        slower, faster, new = self.compared({"a": 103.1, "b": 96.9, "c": 5}, {"a": 100, "b": 100})
        self.assertRegex(slower, r"^a: slower, 1\.031 x .*Fix it")
        self.assertRegex(faster, r"^b: faster, 0\.969 x .*Record it: bench/counts/run --record")
        self.assertRegex(new, r"^c: not in counts.txt yet\. Record it")

    def test_every_path_that_is_counted_is_recorded(self):
        self.assertEqual(list(counts.read_recorded()), [path.name for paths in counts.RUNS.values() for path in paths])

    def test_without_valgrind_the_package_is_named(self):
        done = subprocess.run([sys.executable, COMMAND], capture_output=True, text=True, env={**os.environ, "PATH": "/nonexistent"})
        self.assertEqual((done.returncode, done.stderr), (1, "error: valgrind is not installed: apt-get install valgrind, then build again\n"))

    def test_two_runs_count_the_same(self):
        command, path = counts.peers("1", 1024, "ordered").replace("120", "4"), counts.of_peers("W1")
        first, second = (counts.count(command, path)["W1, a sample"] for _ in range(2))
        self.assertAlmostEqual(second / first, 1, delta=0.001)


if __name__ == "__main__":
    unittest.main()
