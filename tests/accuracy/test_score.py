"""Scoring follows the rules of the corpora: what is right, what is a false alarm, who is the culprit, how long it took."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ACCURACY = Path(__file__).resolve().parents[2] / "bench" / "accuracy"
sys.path.insert(0, str(ACCURACY))
import score  # noqa: E402


def item(label, **more):
    family = label.split("/")[0].rstrip("?")
    return {"id": "x", "label": label, "family": "G1" if family.endswith("-negative") else family, **more}


def firing(family, at=0, severity="critical", **more):
    return {"rule": family.lower(), "family": family, "severity": severity, "state": "firing", "at": at, **more}


def scored(label, predicted="G1", fired=(), **more):
    return score.score_item(item(label, **more), score.Answer(predicted, list(fired)))


class Labels(unittest.TestCase):
    def test_either_family_of_a_label_is_right(self):
        for label, family in (("A1/D2", "D2"), ("B2?/A1", "A1"), ("B2?/A1", "B2"), ("C3/IO", "C3")):
            self.assertTrue(scored(label, family).right, label)
        self.assertFalse(scored("C3/IO", "IO").right)

    def test_a_doubtful_label_alone_is_not_scored(self):
        self.assertFalse(scored("A1?", "B1").scored)

    def test_an_undecided_hang_is_a_miss_and_no_false_alarm(self):
        missed = scored("C2", "C")
        self.assertEqual((missed.right, missed.false_families), (False, []))
        self.assertEqual(scored("E1", "C").false_families, ["C"])

    def test_a_wrong_family_is_a_miss_and_a_false_alarm(self):
        wrong = scored("C2", "E1")
        self.assertEqual((wrong.right, wrong.false_families), (False, ["E1"]))

    def test_on_a_healthy_item_only_what_alarms_somebody_counts(self):
        self.assertTrue(scored("E1-negative", "E1").right)
        self.assertFalse(scored("G1", "G1", [firing("D3", severity="warning")]).right)

    def test_a_cancelled_job_may_be_silent_or_requeued(self):
        self.assertTrue(scored("F-cancel").right)
        self.assertTrue(scored("F-cancel", "F2", [firing("F2")]).right)
        self.assertFalse(scored("F-cancel", "A2", [firing("A2")]).right)


class Healthy(unittest.TestCase):
    def test_a_log_without_times_is_not_scored_by_rules_about_silence(self):
        hang = firing("C") | {"rule": "stalled"}
        self.assertFalse(scored("G1", "C", [hang]).right)
        self.assertTrue(scored("G1", "C", [hang], timed=False).right)
        self.assertFalse(scored("G1", "E1", [firing("E1")], timed=False).right)

    def test_alarms_are_counted_by_log_and_hour_and_what_was_read_by_half(self):
        quiet = scored("G1", shape="wild", half="looked at", hours=2.0, prints=["step", "loss"])
        quiet.answer.read = {"step": True}
        loud = scored("G1", "E1", [firing("E1"), firing("E1")], shape="wild", half="only scored", hours=1.0, prints=["loss"])
        loud.answer.read = {"loss": True}
        shares = score.shares([quiet, loud, scored("C2", "C2", shape="wild", half="looked at")])
        self.assertEqual((shares["all"].logs, shares["all"].hours, shares["all"].alarmed, shares["all"].alerts), (2, 3.0, 1, 2))
        self.assertEqual((shares["all"].prints, shares["all"].read), ({"step": 1, "loss": 2}, {"step": 1, "loss": 1}))
        self.assertEqual(shares["wild, looked at"].alarmed, 0)


class Runs(unittest.TestCase):
    def test_what_must_not_fire_is_a_false_alarm_beside_the_right_verdict(self):
        result = scored("C2", "C2", [firing("C2"), firing("E1")], is_run=True, must_not_fire=["E1"])
        self.assertEqual((result.right, result.false_families), (True, ["E1"]))

    def test_what_is_acceptable_is_right(self):
        self.assertTrue(scored("F3", "G1", is_run=True, acceptable=["G1"]).right)

    def test_the_culprit_must_be_named_and_nobody_else(self):
        def named(*alerts):
            return scored("D3", "D3", [firing("D3", **alert) for alert in alerts], is_run=True, culprit_ranks=[3])
        self.assertTrue(named({"member": {"level": "rank", "rank": 3}}).right)
        self.assertTrue(named({"who": [3], "member": {"level": "job"}}).right)
        for alerts in ([{"who": [2, 3]}], [{"member": {"rank": 3}}, {"member": {"rank": 1}}], [{"member": {"rank": None}}]):
            result = named(*alerts)
            self.assertEqual((result.right, result.wrong_culprit), (False, True))

    def test_the_time_to_detect_is_that_of_the_first_firing(self):
        result = scored("E1", "E1", [firing("E1", at=30_000_000_000), firing("E1", at=20_000_000_000), firing("A1", at=1)],
                        fault_time=12.5)
        self.assertEqual(result.seconds, 7.5)


class Table(unittest.TestCase):
    def test_f1_is_the_mean_over_covered_families(self):
        rows = score.table([scored("C2", "C2"), scored("C2", "E1"), scored("E1", "E1"), scored("B1", "G1"), scored("G1")])
        self.assertEqual((rows["C2"].found, rows["C2"].missed, rows["E1"].false_alarms), (1, 1, 1))
        self.assertAlmostEqual(score.macro_f1(rows, {"C2", "E1"}), (2 / 3 + 2 / 3) / 2)
        self.assertEqual(rows["G1"].false_alarms, 1)

    def test_families_are_read_from_the_rules(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a.lua").write_text('rule "x" { family = "C2" }\nrule "y" { family="G1" }\n', encoding="utf-8")
            self.assertEqual(score.covered_families(folder), {"C2", "G1"})


class Files(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def test_an_alerts_file_is_read(self):
        path = self.folder / "alerts.jsonl"
        records = [firing("C2") | {"state": "pending"}, firing("C2", at=5), firing("G1", severity="none"),
                   {"verdict": {"family": "C2"}, "attempt": 1}, {"verdict": {"family": None}, "attempt": 2}]
        path.write_text("".join(json.dumps(record) + "\n" for record in records) + "torn {", encoding="utf-8")
        answer = score.read_answer(path)
        self.assertEqual((answer.predicted, [alert["at"] for alert in answer.fired]), ("C2", [5]))

    def run_report(self, *arguments):
        return subprocess.run([sys.executable, str(ACCURACY / "run"), *arguments], capture_output=True, text=True, check=False)

    def test_without_recordings_the_report_says_so(self):
        done = self.run_report("--corpora", str(self.folder / "absent"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("nothing was measured", done.stdout)

    def test_the_report_runs_the_program_on_every_item(self):
        logs = self.folder / "corpora" / "logs" / "k"
        logs.mkdir(parents=True)
        logs.joinpath("1.log").write_text("boom\n", encoding="utf-8")
        logs.joinpath("2.log").write_text("fine\n", encoding="utf-8")
        logs.parent.joinpath("labels.csv").write_text("file,class,family,source\nk/1.log,k,A1,s\nk/2.log,k,G1,s\n", encoding="utf-8")
        rules = self.folder / "rules"
        rules.mkdir()
        rules.joinpath("a.lua").write_text('rule "a" { family = "A1" }', encoding="utf-8")
        program = self.folder / "tocsin"
        program.write_text(FAKE_PROGRAM.format(python=sys.executable), encoding="utf-8")
        os.chmod(program, 0o755)
        done = self.run_report("--corpora", str(self.folder / "corpora"), "--tocsin", str(program), "--rules", str(rules))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], "macro_f1=1.000 found=1 missed=0 false_alarms=0 wrong_culprit=0")
        self.assertIn("not covered: G1", done.stdout)


# Stands for tocsin: an item whose line says boom is an A1.
FAKE_PROGRAM = """#!{python}
import json, os, sys
words = sys.argv[1:]
if words[0] == "ingest":
    os.makedirs(words[3])
    with open(words[1]) as source, open(os.path.join(words[3], "log"), "w") as target:
        target.write(source.read())
else:
    with open(os.path.join(words[1], "log")) as source, open(words[words.index("--alerts") + 1], "w") as target:
        family = "A1" if "boom" in source.read() else "G1"
        if family == "A1":
            target.write(json.dumps({{"state": "firing", "family": "A1", "rule": "a", "severity": "critical", "at": 1}}) + "\\n")
        target.write(json.dumps({{"verdict": {{"family": family}}, "attempt": 1}}) + "\\n")
"""


if __name__ == "__main__":
    unittest.main()
