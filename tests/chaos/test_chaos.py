"""The short form of the chaos tests: the most telling scenarios side by side, few kills. The long form: tests/chaos/run --long."""

import os
import pathlib
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.chaos import cluster, plan  # noqa: E402


class Chaos(unittest.TestCase):
    maxDiff = None

    def test_kills_at_any_point_joins_leaves_and_a_zombie_lose_nothing_and_repeat_nothing(self):
        self.run_and_compare(plan.SHORT, kills=8, jobs=5)

    def test_kills_while_jobs_are_younger_than_their_first_saved_state_lose_nothing_and_repeat_nothing(self):
        self.run_and_compare(plan.YOUNG, kills=12, jobs=8)

    def test_kills_torn_writes_a_full_disk_and_a_clock_that_steps_change_nothing_in_the_log_on_disk(self):
        self.run_and_compare(("disk",), kills=10, jobs=5)

    def run_and_compare(self, scenarios, kills, jobs):
        seed = int(os.environ.get("TOCSIN_SEED") or random.SystemRandom().randrange(1 << 32))
        print(f"TOCSIN_SEED={seed}", end=" ", flush=True)
        for result in plan.run(scenarios, seed, kills, jobs):
            with self.subTest(result.name):
                self.assertEqual(result.faults, [], result.line())
                self.assertGreater(result.compared["alerts"], 20)
                self.assertEqual((result.compared["verdicts"], result.compared["digests"]), (jobs, jobs))
                self.assertNotEqual(result.notes, {})

    def test_what_differs_is_found_and_named(self):
        mine = cluster.Outcome({"a": ['{"id": "1", "number": 1, "rule": "quiet", "shows": "4 s"}']}, {}, {"a": "00", "b": "11"})
        self.assertEqual(mine.differences(mine, "disturbed", "undisturbed"), [])
        other = cluster.Outcome({"a": ['{"id": "1", "number": 1, "rule": "quiet", "shows": "5 s"}', '{"id": "1", "number": 2, "rule": "quiet"}']},
                                {"a": ['{"verdict": {}}']}, {"a": "00", "b": "12"})
        found = "\n".join(mine.differences(other, "disturbed", "undisturbed"))
        for part in ('shows: disturbed "4 s", undisturbed "5 s"', 'only undisturbed: {"id": "1", "number": 2', "verdicts of a: disturbed and undisturbed differ",
                     "digests of b: disturbed and undisturbed differ"):
            self.assertIn(part, found)
        self.assertNotIn("digests of a", found)
        twice = cluster.Outcome({"a": mine.alerts["a"] * 2}, {}, mine.digests)
        self.assertIn("only disturbed", "\n".join(twice.differences(mine, "disturbed", "undisturbed")))


if __name__ == "__main__":
    unittest.main()
