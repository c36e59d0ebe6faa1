"""`tocsin explain` answers why a rule did not fire, and `tocsin status --at` how a job stood."""

import json
import pathlib
import tempfile
import unittest

from journal import BEGIN, ROOT, tocsin

SIGNALS = """signals {
  heat  = { kind = "gauge", unit = "celsius", owner = "rank" },
  cold  = { kind = "gauge", unit = "seconds", owner = "rank" },
  event = { kind = "event", owner = "rank", source = "kernel_log" },
  point = { kind = "gauge", unit = "none", owner = "rank", points = true },
}
"""
HEAD = 'severity = "warning", per = "rank", every = "10s", summary = "s", shows = "t", needs = { heat = signal "heat" { over = "30s" } },'
RULES = f"""
rule "often" {{ {HEAD} fire = "5 of 6", params = {{ most = 90 }},
  evaluate = function(job, p)
    local mean  = job.heat:mean()
    local above = mean:above(p.most)
    return above & mean:above(10), {{ twice = 2 * mean }}
  end }}
rule "long" {{ {HEAD} fire = "for 5m", evaluate = function(job) return job.heat:mean():above(90) end }}
rule "parent" {{ {HEAD} fire = "5 of 6", evaluate = function(job) return job.heat:mean():above(90) end }}
rule "child" {{ {HEAD} yields_to = {{ "parent" }}, evaluate = function(job) return job.heat:mean():above(90) end }}
rule "tried" {{ {HEAD} mode = "shadow", evaluate = function(job) return job.heat:mean():above(90) end }}
rule "labelled" {{ {HEAD} jobs = {{ partition = {{ "prod", "batch" }} }}, evaluate = function(job) return job.heat:mean():above(90) end }}
rule "at_event" {{ severity = "warning", per = "rank", every = "event", summary = "s", shows = "t",
  needs = {{ event = signal "event" {{ over = "1m" }} }}, evaluate = function(job) return job.event:count():above(0) end }}
rule "number" {{ {HEAD} evaluate = function(job)
    local mean = job.heat:mean()
    local most = mean:max("job"):number()
    return mean:above(90), {{ twice = 2 * mean, most = most }}
  end }}
rule "lacks" {{ severity = "warning", per = "rank", every = "10s", summary = "s", shows = "t",
  needs = {{ cold = signal "cold" {{ over = "30s" }}, event = signal "event" {{ over = "1m" }}, point = signal "point" {{ over = 64 }},
            late = signal "heat" {{ over = "30s", full = true }}, heat = signal "heat" {{ over = "2m" }} }},
  evaluate = function(job)
    local no_record, uncovered, few = job.cold:mean(), job.event:count(), job.point:median()
    local not_full, half = job.late:mean(), job.heat:mean()
    return no_record:above(uncovered * "1s") | few:above(0) | not_full:above(90) | half:above(90)
  end }}
"""


def records():
    """Two ranks; rank 1 is hot from second 40 on."""
    yield {"t": BEGIN, "job": "j", "event": "start", "world_size": 2, "labels": {"partition": "dev"}}
    for second in range(1, 101):
        for rank in (0, 1):
            values = {"heat": 995 if rank == 1 and second >= 40 else 20}
            if second % 30 == 0:
                values["point"] = second
            yield {"t": BEGIN + second, "job": "j", "rank": rank, "values": values}


class Explain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.base = pathlib.Path(cls.folder.name)
        cls.rules = cls.base / "rules"
        cls.rules.mkdir()
        (cls.rules / "signals.lua").write_text(SIGNALS)
        (cls.rules / "rules.lua").write_text(RULES)
        lines = cls.base / "log.jsonl"
        lines.write_text("".join(json.dumps(record) + "\n" for record in records()))
        cls.journal = cls.base / "journal"
        done = tocsin("ingest", lines, "--to", cls.journal)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def explain(self, rule, *options):
        done = tocsin("explain", self.journal, "--rules", self.rules, "--rule", rule, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def why_not(self, *options):
        done = tocsin("explain", self.journal, "--rules", self.rules, *options)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        return done.stderr.removeprefix("tocsin explain: ").rstrip("\n")

    def test_a_rule_that_was_not_yes_often_enough_is_pending_with_its_count(self):
        lines = self.explain("often", "--rank", "1", "--at", "+60s").splitlines()
        self.assertRegex(lines[0], r"^often at .* UTC for rank 1: yes$")
        self.assertRegex(lines[1], r"^fire: yes in [1-4] of the last 6 evaluations; it fires at 5$")
        self.assertRegex(lines[2], r"^alert: pending since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$")
        self.assertRegex(self.explain("long", "--rank", "1"), r"\nfire: yes for \d\d s; it fires after 5 min\n")
        self.assertRegex(self.explain("long", "--rank", "0"), r"\nfire: not yes now; it fires after 5 min\nalert: none\n")

    def test_the_masks_that_decided_stand_first_and_values_have_the_names_and_units_of_the_rule(self):
        lines = [" ".join(line.split()) for line in self.explain("often", "--rank", "0").splitlines()]
        self.assertEqual(lines[3:5], ["because:", "mean:above(90) no mean = 20 °C"])
        self.assertIn("mean 20 °C job.heat:mean()", lines)
        self.assertIn("above no mean:above(90)", lines)
        self.assertIn("twice 40 °C 2 * mean", lines)
        self.assertIn("answer no above & mean:above(10)", lines)
        self.assertNotIn("mean:above(10)", [line.split(" ", 1)[-1] for line in lines])
        self.assertRegex(self.explain("often", "--rank", "0", "--verbose"), r"\n +yes +mean:above\(10\)\n")

    def test_an_alert_waits_for_a_rule_that_is_pending_and_is_explained_by_one_that_fires(self):
        self.assertIn("\nalert: none yet: it waits for 'parent', which is pending\n", self.explain("child", "--rank", "1", "--at", "+60s"))
        self.assertIn("\nalert: none: explained by 'parent'\n", self.explain("child", "--rank", "1"))
        self.assertRegex(self.explain("parent", "--rank", "1"), r"\nalert: firing since ")

    def test_an_alert_of_a_shadow_rule_is_marked(self):
        self.assertRegex(self.explain("tried", "--rank", "1"), r"\nalert: firing since .* UTC  \(shadow: not posted\)\n")

    def test_each_unknown_value_has_its_reason(self):
        rows = {row["name"]: row["missing"] for row in json.loads(self.explain("lacks", "--rank", "1", "--at", "+20s", "--json"))["values"]}
        for name, missing in (("no_record", "cold: no record"), ("uncovered", "event: the source 'kernel_log' is not covered"),
                              ("few", "point: no record"), ("not_full", r"heat: \d+ values, and the window is not full"),
                              ("half", r"heat: \d+ values, fewer than half of the window")):
            self.assertRegex(rows[name], f"^{missing}$")
        self.assertIn("point: 3 values, needs 16", self.explain("lacks", "--rank", "1"))

    def test_a_rule_that_did_not_run_names_the_label_that_differs_or_when_it_runs(self):
        self.assertEqual(self.why_not("--rule", "labelled"),
                         "rule 'labelled' did not run: its `jobs` wants partition = prod or batch, and the job has 'dev'")
        self.assertEqual(self.why_not("--rule", "at_event", "--job", "j"),
                         "rule 'at_event' did not run for job 'j': it runs when event comes, and was never due")
        self.assertRegex(self.why_not("--rule", "oftn"), r"^no rule 'oftn' ran in this log. These did: .*\boften\b")
        self.assertEqual(self.why_not("--rule", "often", "--rank", "7"),
                         "rule 'often' ran, but not for that rank at or after that time")

    def test_a_span_of_time_is_a_table_of_values_where_they_change(self):
        table = self.explain("often", "--rank", "1", "--from", "+20s", "--until", "+60s").splitlines()
        self.assertEqual(table[0], "often for rank 1, where a value changes")
        self.assertEqual(table[1].split(), ["at", "answer", "twice"])
        rows = [line.split("UTC")[1].split() for line in table[2:]]
        self.assertEqual(rows[0], ["no", "40", "°C"])
        self.assertEqual(rows[-1][0], "yes")
        self.assertLess(len(rows), 6)     # ticks that change nothing are left out
        chosen = self.explain("often", "--rank", "1", "--values", "above,mean", "--from", "+20s")
        self.assertEqual(chosen.splitlines()[1].split(), ["at", "answer", "above", "mean"])
        changes = json.loads(self.explain("often", "--rank", "1", "--from", "+20s", "--json"))["changes"]
        self.assertEqual(changes[0]["values"], {"twice": "40 °C"})

    def test_a_table_of_what_is_not_there_is_refused(self):
        for options, reported in ((["--values", "nothing"], "rule 'often' has no value 'nothing'. It has: above, mean, twice"),
                                  (["--from", "soon"], "--from soon: write a time"),
                                  (["--from", "+9h"], "--from +9h is outside of the run"),
                                  (["--from", "+9s", "--at", "+9s"], "leave one out")):
            done = tocsin("explain", self.journal, "--rules", self.rules, "--rule", "often", *options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertIn(reported, done.stderr)

    def test_values_of_a_rule_that_reads_numbers_are_shown_too(self):
        self.assertRegex(self.explain("number", "--rank", "1"), r"twice +.*199")

    def test_a_table_is_of_one_job_and_of_a_span_that_ends_after_it_begins(self):
        lines, journal = self.base / "two.jsonl", self.base / "two"
        lines.write_text("".join(json.dumps(dict(record, job=job)) + "\n" for record in records() for job in ("j", "k")))
        self.assertEqual(tocsin("ingest", lines, "--to", journal).returncode, 0)

        def table(*options):
            return tocsin("explain", journal, "--rules", self.rules, "--rule", "often", "--values", "mean", *options)

        self.assertIn("name it with --job. There are: j k", table().stderr)
        self.assertEqual(table("--job", "k").returncode, 0)
        self.assertIn("--until is before --from", table("--job", "k", "--from", "+60s", "--until", "+30s").stderr)

    def test_status_shows_how_a_job_stood_at_a_time(self):
        def status(*options):
            return tocsin("status", self.journal, "--rules", self.rules, *options)
        self.assertIn("\n  no alert is firing\n", status("--at", "+30s").stdout)
        self.assertRegex(status("--at", "+99s").stdout, r"\n  fires: warning   often  rank 1\n")
        self.assertEqual(status("--at", "last").stdout, status().stdout)
        self.assertRegex(status().stdout, r"\njob j, attempt 1: ended .* UTC: no fault found\n")     # its end has no reason
        wrong = status("--at", "1999-01-01T00:00:00Z")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("--at: the first record is of ", wrong.stderr)
        self.assertIn("--at soon: write a time", status("--at", "soon").stderr)


if __name__ == "__main__":
    unittest.main()
