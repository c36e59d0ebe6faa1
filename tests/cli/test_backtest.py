"""status and backtest: how the jobs of a journal stand, and what other rules would have reported."""

import json
import re
import unittest

from journal import ROOT, SECONDS, WithJournal, records, tocsin

# Fires for a minute and a half about the rank that computes longest, which nobody is: each takes 0.2 s.
EXTRA = """
rule "computes" {
  family = "D3", severity = "warning", per = "rank", every = "10s",
  summary = "A rank computes at all", needs = { compute = signal "compute_time" { over = "30s" } }, params = { least = 0.1 },
  shows = "rank {rank} computes {own} a step", actions = { otherwise = "nothing" },
  evaluate = function(job, p)
    local own = job.compute:mean()
    return own:above(p.least), { own = own }
  end,
}
"""


class Status(WithJournal):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.open = cls.base / "open"    # the same without its end: more may follow
        lines = cls.base / "open.jsonl"
        lines.write_text("".join(json.dumps(r) + "\n" for r in records() if r.get("event") != "end"))
        assert tocsin("ingest", lines, "--to", cls.open).returncode == 0
        with open(max(cls.open.glob("*.journal")), "r+b") as segment:
            segment.truncate(segment.seek(0, 2) - 1)    # the seal is torn

    def test_a_job_that_runs_shows_its_figures_what_fires_and_the_rules_that_cannot_decide_with_what_they_miss(self):
        done = tocsin("status", self.open)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\Aas of 2026-05-28 20:\d\d:\d\d UTC\njob demo, attempt 1: hung, 4 ranks, step 357, 300 ms a step, loss ")
        self.assertRegex(done.stdout, r"\n  fires: critical  collective_hang  rank \d on \S+\n")
        self.assertRegex(done.stdout, r"\n  \d+ rules cannot decide:\n")
        self.assertRegex(done.stdout, r"\n    without [^:]*\bsm_clock\b[^:]*: [^\n]*\bthrottle\b")
        self.assertNotRegex(done.stdout, r"without [^:]*\b(step|compute_time|process_cpu)\b")

    def test_a_job_that_has_ended_shows_its_verdict_and_what_it_could_not_decide(self):
        done = tocsin("status", self.base / "journal")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\njob demo, attempt 1: ended 2026-05-28 20:30:00 UTC, cancelled: C2, collective hang\n")
        self.assertIn("\n  could not decide F1, node failure (missing: node_state)\n", done.stdout)
        self.assertRegex(done.stdout, r"\n  found C2, collective hang: [^\n]*\bcollective_hang\b")
        self.assertRegex(done.stdout, r"\n  ruled out A1, application error \(never yes: [^\n]*\bstartup_crash\b")

    def test_json_has_the_jobs_that_run_and_the_verdicts_of_the_others(self):
        status = json.loads(tocsin("status", self.open, "--json").stdout)
        self.assertEqual([(job["job"], job["state"], job["step"]) for job in status["jobs"]], [("demo", "hung", 357)])
        self.assertIn("sm_clock", {rule["rule"]: rule["missing"] for rule in status["jobs"][0]["undecided"]}["throttle"])
        ended = json.loads(tocsin("status", self.base / "journal", "--json").stdout)
        self.assertEqual((ended["jobs"], [one["verdict"]["family"] for one in ended["ended"]]), ([], ["C2"]))

    def test_a_job_that_is_not_there_is_an_error_that_names_those_that_are(self):
        done = tocsin("status", self.base / "journal", "--job", "other")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "tocsin status: there is no job 'other' here; there is demo\n")

    def test_a_directory_without_a_journal_is_an_error_that_names_the_remedy(self):
        done = tocsin("status", self.base)
        self.assertEqual(done.returncode, 2)
        self.assertIn("name a directory that `tocsin wrap` or `tocsin ingest` made", done.stderr)


class Backtest(WithJournal):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site = cls.base / "site"
        cls.site.mkdir()
        (cls.site / "extra.lua").write_text(EXTRA)

    def site_alone(self):
        """The same rule without the shipped ones."""
        alone = self.base / "alone"
        alone.mkdir()
        for name in ("signals.lua", "verdict.lua"):
            (alone / name).write_text((ROOT / "rules" / name).read_text())
        (alone / "extra.lua").write_text(EXTRA)
        return alone

    def test_each_rule_has_its_alerts_and_the_time_for_which_they_fired(self):
        done = tocsin("backtest", self.base / "journal")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\A1 recording, 1 job, 3 min 2\d s in all; judged by \d+ rules of ")
        self.assertRegex(done.stdout, r"\n  collective_hang +1 +1  \d")
        self.assertRegex(done.stdout, r"\nalerts:\n(  .*\n)*  2026-05-28 20:2\d:\d\d UTC  collective_hang  rank 2 on n1, job demo, for .*\(.*/journal\)\n")

    def test_what_other_rules_add_is_listed_without_what_stays(self):
        done = tocsin("backtest", self.base / "journal", "--rules", "shipped", self.site, "--against", "shipped")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\n  collective_hang +1 +1  ")
        self.assertRegex(done.stdout, r"\n  computes +0 -> 4 +0 -> 1  ")
        only_now = done.stdout[done.stdout.index("only now:"):done.stdout.index("no longer:")]
        self.assertEqual(sorted(re.findall(r"computes  (rank \d)", only_now)), [f"rank {n}" for n in range(4)])
        self.assertNotIn("collective_hang", only_now)
        self.assertIn("\nno longer: none\n", done.stdout)

    def test_what_other_rules_take_away_is_listed_with_the_verdicts_that_differ(self):
        done = tocsin("backtest", self.base / "journal", "--rules", self.site_alone(), "--against", "shipped", "--json")
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, {alert["rule"] for alert in report["only_now"]}), (0, {"computes"}))
        self.assertIn(("collective_hang", "the job", "rank 2 on n1"), {(alert["rule"], alert["member"], alert["who"]) for alert in report["no_longer"]})
        self.assertEqual([(v["job"], v["before"], v["now"]) for v in report["changed_verdicts"]], [("demo", "C2", "D3")])
        self.assertEqual((report["rules"]["computes"]["alerts"], report["before"]["rules"]["collective_hang"]["alerts"]), (4, 1))

    def test_an_alert_of_the_same_rule_and_member_at_another_time_is_another_one(self):
        packs = []
        for name, condition in (("early", "below(100)"), ("late", "above(200)")):
            packs.append(self.base / name)
            packs[-1].mkdir()
            (packs[-1] / "extra.lua").write_text(EXTRA.replace('"compute_time"', '"step"').replace("job.compute:mean()", "job.compute:last()")
                                                 .replace("above(p.least)", condition))
        report = json.loads(tocsin("backtest", self.base / "journal", "--rules", "shipped", packs[1], "--against", "shipped", packs[0], "--json").stdout)
        for side in ("only_now", "no_longer"):
            self.assertEqual([alert["rule"] for alert in report[side]], ["computes"] * 4, report[side])

    def test_a_directory_of_journals_is_all_of_them(self):
        runs = self.base / "runs"
        runs.mkdir()
        for name in ("one", "two"):
            self.assertEqual(tocsin("ingest", self.lines, "--to", runs / name).returncode, 0)
        report = json.loads(tocsin("backtest", runs, "--json").stdout)
        self.assertEqual((report["recordings"], report["jobs"], report["rules"]["collective_hang"]["alerts"]), (2, 2, 2))
        self.assertEqual({verdict["family"] for verdict in report["verdicts"]}, {"C2"})
        self.assertAlmostEqual(report["seconds"], 2 * SECONDS, delta=30)

    def test_a_rule_that_fails_is_reported_and_ends_with_1(self):
        broken = self.base / "broken"
        broken.mkdir()
        (broken / "bad.lua").write_text(EXTRA.replace("return own:above", "local none; for rank, value in own:each() do none.x = value end\n    return own:above"))
        done = tocsin("backtest", self.base / "journal", "--rules", "shipped", broken)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\nrule computes failed and was disabled: .*bad.lua:\d+")

    def test_what_is_no_journal_and_rules_that_do_not_load_end_with_2(self):
        for arguments, why in (((self.site,), "there is no journal in "), ((self.base / "journal", "--rules", self.base), "")):
            done = tocsin("backtest", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("tocsin backtest: " + why, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
