"""The shipped rules find what was done to the recorded runs, in time, and blame nobody else. TOCSIN names the program."""

import json
import os
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
RULES = HERE.parents[1] / "rules"
SECOND = 1_000_000_000


class Recorded(unittest.TestCase):
    def alerts(self, name):
        """What a replay publishes, in order."""
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(HERE / f"{name}.tar.xz") as archive:
                archive.extractall(folder)
            outcome = subprocess.run([os.environ["TOCSIN"], "replay", f"{folder}/{name}", "--quiet", "--alerts", "-"],
                                     capture_output=True, text=True, check=True, env=os.environ | {"TOCSIN_RULES": str(RULES)})
        self.assertEqual(outcome.stderr, "")    # the demo replays it like that
        return [json.loads(line) for line in outcome.stdout.splitlines()]

    def assert_found(self, name, family, culprits, within):
        """Every alert that fires is of the family, names the culprits and nobody else, and the first comes in time."""
        truth = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
        records = self.alerts(name)
        fired = [record for record in records if record.get("state") == "firing" and record["mode"] == "live"]
        self.assertTrue(fired, "nothing fired")
        for alert in fired:
            self.assertEqual((alert["rule"], alert["family"]), (alert["rule"], family))
            named = set(alert["who"]) or ({alert["member"]["rank"]} if alert["member"]["level"] == "rank" else set())
            self.assertEqual((alert["rule"], named), (alert["rule"], set(culprits)))
            self.assertTrue(alert["shows"])
        delay = fired[0]["at"] / SECOND - truth["fault_time"]
        self.assertGreater(delay, 0)
        self.assertLess(delay, within)
        (verdict,) = [record["verdict"] for record in records if "verdict" in record]
        self.assertEqual(verdict["family"], family)
        return fired

    def test_the_stopped_rank_is_named_within_20_seconds(self):
        (fired,) = self.assert_found("hang", "C2", [2], within=20)
        self.assertEqual(fired["rule"], "rank_stopped")

    def test_the_slowed_rank_is_named_within_a_minute(self):
        self.assert_found("straggler", "D3", [1], within=60)

    def test_the_loss_that_diverges_is_reported_within_half_a_minute_and_nobody_is_blamed(self):
        fired = self.assert_found("divergence", "E1", [], within=30)
        self.assertEqual([alert["rule"] for alert in fired], ["loss_spike", "loss_diverged"])  # and no jump again while it is lost


if __name__ == "__main__":
    unittest.main()
