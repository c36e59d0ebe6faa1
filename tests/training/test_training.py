"""The launcher behaves as torchrun does, and controls reach the rank they are meant for. Needs no PyTorch."""

import json
import os
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from controls import POLL_SECONDS, Controls  # noqa: E402
from launch import Launcher  # noqa: E402


class Launching(unittest.TestCase):
    """Ranks that are scripts of a few words."""

    def launched(self, text, ranks=2):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = os.path.join(folder.name, "rank.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import os, signal, sys, time\nrank = int(os.environ['RANK'])\n" + text)
        launcher = Launcher(ranks, [], script=script)
        self.addCleanup(launcher.stop, signal.SIGKILL)
        launcher.start()
        return launcher

    def test_every_rank_knows_its_place(self):
        launcher = self.launched("assert os.environ['WORLD_SIZE'] == '2' and os.environ['MASTER_PORT'].isdigit()\n"
                                 "sys.exit(0 if rank in (0, 1) else 1)")
        self.assertIsNone(launcher.wait())
        self.assertNotIn("RANK", os.environ)

    def test_the_first_failure_is_named_and_the_others_are_stopped(self):
        launcher = self.launched("time.sleep(60) if rank == 0 else os.kill(os.getpid(), signal.SIGKILL)")
        failed = launcher.wait()
        self.assertEqual(failed, (1, -9))
        launcher.stop()
        summary = launcher.summary(1)
        self.assertIn("rank      : 1 (local_rank: 1)", summary)
        self.assertIn("exitcode  : -9 (pid:", summary)
        self.assertLess(summary.index("exitcode  : -9"), summary.index("exitcode  : -15"))


class Controlling(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path, self.marks = os.path.join(folder.name, "controls"), os.path.join(folder.name, "marks")

    def set(self, *settings):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        time.sleep(POLL_SECONDS)

    def test_a_setting_reaches_its_rank_from_its_step_on(self):
        self.set({"rank": 1, "from_step": 5, "name": "compute_factor", "value": 3})
        mine, other = Controls(1, self.path, self.marks), Controls(0, self.path, self.marks)
        self.assertEqual(mine.number("compute_factor", 1.0), 1.0)
        mine.step = other.step = 5
        self.assertEqual((mine.number("compute_factor", 1.0), other.number("compute_factor", 1.0)), (3.0, 1.0))

    def test_the_first_effect_leaves_a_mark(self):
        self.set({"rank": None, "name": "lr_factor", "value": 2})
        controls = Controls(0, self.path, self.marks)
        controls.number("lr_factor", 1.0)
        controls.number("lr_factor", 1.0)
        with open(self.marks, encoding="utf-8") as file:
            (mark,) = [json.loads(line) for line in file]
        self.assertEqual((mark["name"], mark["rank"]), ("lr_factor", 0))


if __name__ == "__main__":
    unittest.main()
