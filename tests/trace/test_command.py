"""`tocsin trace`: what it prints of running processes, and what it says where it cannot."""

import json
import os
import shutil
import subprocess
import unittest

from probed import Caller, Traced

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")


def trace(*arguments, before=()):
    return subprocess.run([*before, TOCSIN, "trace", *map(str, arguments)], capture_output=True, text=True, timeout=60)


class Command(Traced):
    def caller(self):
        caller = Caller(self)
        caller.ask("ready")
        return caller

    def printed_while(self, caller, *words, options=()):
        """The first table after these calls."""
        command = subprocess.Popen([TOCSIN, "trace", "--pid", str(caller.pid), *options], stdout=subprocess.PIPE, text=True)
        self.addCleanup(command.communicate)
        self.addCleanup(command.kill)
        command.stdout.readline()       # it looks from now on
        for one in words:
            caller.ask(*one)
        return command.stdout

    def test_it_prints_what_a_process_calls(self):
        output = self.printed_while(self.caller(), ["comm", 1, 8], ["run", 2, 10])
        lines = [line for line in (output.readline() for _ in range(8)) if "process" in line and "entered" in line]
        self.assertRegex(lines[0], r"^process \d+: 40 collectives entered; GPU: 40 kernels, 0 graphs, 40 copies \(1.95 KiB to it, 200 B from it\)$")

    def test_it_prints_json(self):
        output = self.printed_while(self.caller(), ["comm", 1, 8], ["run", 1, 3], options=["--json"])
        one = next(found[0] for found in map(json.loads, output) if found)
        self.assertEqual([one["launched"], one["gpu"]["kernel_launches"], one["groups"][0]["functions"]["all_reduce"]], [6, 6, 3])

    def test_it_ends_when_the_processes_have_ended(self):
        caller = self.caller()
        command = subprocess.Popen([TOCSIN, "trace", "--pid", str(caller.pid)], stdout=subprocess.PIPE, text=True)
        self.assertIn("no call of c10d, NCCL or CUDA since this trace began", command.stdout.readline())
        caller.end()
        command.communicate(timeout=30)
        self.assertEqual(command.returncode, 0)

class Refusals(unittest.TestCase):
    def test_it_says_that_there_is_no_such_process_and_what_is_missing_in_a_command(self):
        done = trace("--pid", 4194304)
        self.assertEqual((done.returncode, done.stderr), (2, "tocsin trace: none of these processes is here\n"))
        done = trace()
        self.assertEqual(done.returncode, 2)
        self.assertIn("--pid PID or --job NAME is required", done.stderr)

    @unittest.skipUnless(shutil.which("setpriv") and os.geteuid() == 0, "only root can give up its capabilities")
    def test_without_the_right_it_says_how_to_get_it(self):
        done = trace("--pid", os.getpid(), before=["setpriv", "--bounding-set=-bpf,-sys_admin"])
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^tocsin trace: loading a BPF program is not permitted: run as root, or add the capabilities BPF, .*\n$")


if __name__ == "__main__":
    unittest.main()
