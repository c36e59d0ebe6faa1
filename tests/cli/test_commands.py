"""The commands of the binary, end to end: ingest, replay, check, explain and the rest."""

import json
import os
import re
import shutil
import signal
import subprocess
import unittest
from unittest import mock

from journal import BEGIN, HANG, ROOT, TOCSIN, WithJournal, records, tocsin


class Commands(WithJournal):
    def test_a_rank_that_hangs_is_named_while_the_job_stands(self):
        alerts = [json.loads(line) for line in self.plain.stdout.splitlines() if line.startswith("{")]
        hang = [a for a in alerts if a.get("rule") == "collective_hang" and a["state"] == "firing"]
        self.assertEqual(len(hang), 1)
        self.assertIn(2, [who if isinstance(who, int) else who.get("rank") for who in hang[0]["who"]])
        self.assertLess(hang[0]["at"] / 1e9 - BEGIN - HANG, hang[0]["evidence"]["stalled.limit"] + 30)
        self.assertEqual([a["verdict"]["family"] for a in alerts if "verdict" in a], ["C2"])

    def test_an_alert_has_its_form_on_standard_output(self):
        done = tocsin("replay", self.base / "journal")
        self.assertEqual(done.stderr, "")
        alert = done.stdout[done.stdout.index("▲ critical  collective_hang"):done.stdout.index("▼ resolved")]
        titles = re.findall(r"^    (\w[\w ]*?)  ", alert, re.MULTILINE)
        self.assertEqual(titles, [title for title in ("what", "who", "since", "seen", "likely", "do", "not known", "more") if title in titles])
        for part in ("(C2, collective hang)", "rank 2", " UTC", "rank 2"):
            self.assertIn(part, " ".join(alert.split()))
        self.assertIn("C2, collective hang  (ended ", done.stdout)
        more = " ".join(alert[alert.index("    more"):].split()[1:])
        again = subprocess.run(["sh", "-c", f'"{TOCSIN}" {more.removeprefix("tocsin ")}'], capture_output=True, text=True)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertRegex(again.stdout, r"\Acollective_hang at [-0-9]+ [:0-9]+ UTC for the job: yes\n")

    def test_the_same_form_stands_in_each_line_of_json(self):
        alerts = [json.loads(line) for line in self.plain.stdout.splitlines() if line.startswith("{")]
        hang = [a for a in alerts if a.get("rule") == "collective_hang" and a["state"] == "firing"][0]
        self.assertTrue(hang["form"]["what"].endswith("(C2, collective hang)"))
        self.assertIn("rank 2", hang["form"]["do"])
        self.assertEqual(hang["form"]["do"], "; or ".join(hang["actions"]))
        self.assertRegex(hang["form"]["since"], r"\A\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
        self.assertIn("--rule collective_hang", hang["form"]["more"])

    def test_the_terminal_says_each_doubt_of_an_alert_once(self):
        reported = tocsin("replay", self.base / "journal", "--verbose").stdout
        doubts = ", ".join(re.findall(r" cannot decide +([\w ,]+) (?:is|are) missing:", reported.split("resolved")[0])).split(", ")
        self.assertIn("gr_engine_active", doubts)      # which the rule reads through a finding
        self.assertEqual(sorted(doubts), sorted(set(doubts)), reported)

    def test_a_verdict_has_five_lines_at_most_and_all_with_verbose(self):
        for columns in (60, 80, 120):
            with mock.patch.dict(os.environ, COLUMNS=str(columns)):
                done = tocsin("replay", self.base / "journal")
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout[done.stdout.index("■ verdict"):].splitlines()
            titles = [line[:19].strip() for line in lines[1:]]
            self.assertEqual(titles, ["found", "ruled out", "cannot decide"])
            self.assertRegex(lines[2], r"ruled out      \w[^;]*(; .*)? and \d+ more$")
            self.assertTrue(all(len(line) <= columns for line in lines[2:]), lines)
        self.assertIn("C2, collective hang: collective_hang", lines[1])
        whole = tocsin("replay", self.base / "journal", "--verbose").stdout
        whole = " ".join(whole[whole.index("■ verdict"):].split())
        self.assertNotIn(" more", whole)
        self.assertRegex(whole, r"ruled out A1, application error; .* cannot decide .*; D1, slow data loading \(missing: data_time\)")

    def test_a_run_that_failed_is_not_reported_to_have_no_fault(self):
        for reason, reported in (("failed", "failed, and no cause was found"), ("completed", "no fault found")):
            lines, journal = self.base / f"{reason}.jsonl", self.base / f"{reason}-journal"
            lines.write_text("".join(json.dumps(dict(record, job="j")) + "\n" for record in (
                {"t": BEGIN, "event": "start"}, {"t": BEGIN + 1, "line": "hello"}, {"t": BEGIN + 2, "event": "end", "reason": reason})))
            self.assertEqual(tocsin("ingest", lines, "--to", journal).returncode, 0)
            self.assertIn(f"attempt 1: {reported}  (ended", tocsin("replay", journal).stdout)

    def test_what_cannot_be_written_to_a_full_stderr_changes_no_result(self):
        lines = self.base / "partly.jsonl"
        lines.write_text("".join(line + "\n" for line in (
            json.dumps({"t": BEGIN, "job": "j", "event": "start"}), "this is no JSON", json.dumps({"t": BEGIN + 5, "job": "j", "line": "hello"}))))
        self.assertEqual(tocsin("ingest", lines, "--to", self.base / "printed").returncode, 0)
        with open("/dev/full", "w") as full:
            done = subprocess.run([TOCSIN, "ingest", lines, "--to", self.base / "unprinted"], stderr=full, stdout=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0)
        digests = [tocsin("replay", self.base / name, "--quiet", "--digest").stdout for name in ("printed", "unprinted")]
        self.assertEqual(digests[0], digests[1])

    def test_explain_prints_why_a_rule_did_not_fire(self):
        done = tocsin("explain", self.base / "journal", "--rule", "collective_hang", "--at", "+60s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("for the job: no", done.stdout)
        self.assertRegex(done.stdout, r"\n  launched +\[0:\d+ 1:")
        wrong = tocsin("explain", self.base / "journal", "--rule", "colective_hang")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("collective_hang", wrong.stderr)

    def test_explain_has_names_json_and_limits(self):
        journal = self.base / "journal"
        done = tocsin("explain", journal, "--rule", "collective_hang", "--at", "+60s", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["rule"], answer["outcome"], answer["member"]), ("collective_hang", "no", "the job"))
        launched = [row for row in answer["values"] if "job.launched" in row["expression"]]
        self.assertTrue(launched, answer["values"])
        self.assertTrue(any(re.search(r"\b0:\S+ 1:\S+ 2:", row["value"]) for row in answer["values"]), answer["values"])
        for arguments, reported in ((["--rank", "2"], "--rank does not fit: 'collective_hang' answers per job"),
                                    (["--gpu", "0"], "--gpu does not fit"),
                                    (["--at", "+5x"], "--at +5x: write a time"),
                                    (["--at", "+9h"], "is outside of the run, which was judged from "),
                                    (["--at", "1999-01-01T00:00:00Z"], "is outside of the run")):
            wrong = tocsin("explain", journal, "--rule", "collective_hang", *arguments)
            self.assertEqual((wrong.returncode, wrong.stdout), (2, ""), arguments)
            self.assertIn(reported, wrong.stderr)

    def test_a_journal_as_lines_is_the_same_journal(self):
        first, second = self.base / "exported.jsonl", self.base / "exported-again.jsonl"
        self.assertEqual(tocsin("export", self.base / "journal", "--to", first).returncode, 0)
        self.assertEqual(tocsin("ingest", first, "--to", self.base / "imported").returncode, 0)
        self.assertEqual(tocsin("export", self.base / "imported", "--to", second).returncode, 0)
        records = lambda path: sorted(line for line in path.read_text().splitlines() if '"control"' not in line and '"coverage"' not in line)
        self.assertEqual(records(first), records(second))
        again = tocsin("replay", self.base / "imported", "--quiet", "--alerts", "-").stdout.splitlines()
        fired = lambda lines: [(a.get("rule"), a.get("state"), a.get("who")) for a in map(json.loads, (l for l in lines if l.startswith("{")))]
        self.assertEqual(fired(again), fired(self.plain.stdout.splitlines()))
        taken = tocsin("export", self.base / "journal", "--to", first)
        self.assertEqual(taken.returncode, 2)
        self.assertIn("is there already", taken.stderr)

    def test_recordings_are_listed_and_the_newest_is_last(self):
        state = self.base / "state" / "tocsin"
        environment = dict(os.environ, XDG_STATE_HOME=str(self.base / "state"))
        run = lambda *arguments: subprocess.run([TOCSIN, *arguments], capture_output=True, text=True, env=environment)
        self.assertIn("there is no recording in", run("replay", "last").stderr)
        state.mkdir(parents=True)
        for name in ("20261121T010203Z-999999991", "20261122T010203Z-999999992"):
            subprocess.run(["cp", "-r", self.base / "journal", state / name], check=True)
        listed = run("runs").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in listed], ["20261121T010203Z-999999991", "20261122T010203Z-999999992"])
        self.assertTrue(all(" demo " in line and "no verdict" in line for line in listed), listed)
        self.assertEqual(json.loads(run("runs", "--json").stdout)[1]["directory"], str(state / "20261122T010203Z-999999992"))
        reused = state / f"20201121T010203Z-{os.getpid()}"  # of a run long ago, and of another process today
        subprocess.run(["cp", "-r", self.base / "journal", reused], check=True)
        self.assertNotIn("running", run("runs").stdout)
        for name in ("last", "20261121T010203Z-999999991"):
            self.assertIn("collective_hang", run("replay", name).stdout)
            self.assertEqual(run("explain", name, "--rule", "stalled").returncode, 0)
            self.assertIn('"t":', run("export", name).stdout)
        self.assertIn(f"tocsin explain {state}/20261122T010203Z-999999992 --rule", " ".join(run("replay", "last").stdout.split()))

    def test_a_rule_that_fails_is_seen_by_everybody(self):
        rules = self.base / "failing"
        rules.mkdir()
        shutil.copy(ROOT / "rules/signals.lua", rules)
        (rules / "site.lua").write_text(
            'rule "site_fails" { severity = "warning", family = "A1", per = "job", every = "10s", summary = "x", shows = "x",\n'
            '  needs = { s = signal "step" { over = "attempt" } },\n'
            '  evaluate = function(job, p)\n'
            '    local n = job.s:last():max("job"):number()\n'
            '    return job.s:last():max("job"):above(n + nothing.at_all)\n'
            '  end }\n'
            'case "it runs" { ranks = 1, { lasting = "1m", step = steps(1) } }\n')
        for command in ("check", "test"):
            done = tocsin(command, rules)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("site.lua:5", done.stdout)
            self.assertIn("nothing is called 'nothing'", done.stdout)
        done = tocsin("replay", self.base / "journal", "--rules", rules)
        self.assertEqual(done.stderr.count("site.lua:5"), 1, done.stderr)
        self.assertIn("rule 'site_fails' failed and is disabled", done.stderr)
        verdict = done.stdout[done.stdout.index("■ verdict"):]
        self.assertRegex(verdict, r"\n    rules failed   site_fails \(site\.lua:5: ")
        self.assertLessEqual(verdict.count("\n"), 5)

    def test_help_completions_and_the_manual_follow_from_the_commands(self):
        self.assertEqual(tocsin("help", "replay").stdout, tocsin("replay", "--help").stdout)
        self.assertEqual(tocsin("help", "replai").returncode, 2)
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("replay", tocsin("completions", shell).stdout)
        script = tocsin("completions", "bash").stdout + 'COMP_WORDS=(tocsin rep); COMP_CWORD=1; _tocsin; echo "${COMPREPLY[@]}"'
        self.assertEqual(subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout, "replay\n")
        manual = tocsin("man").stdout
        self.assertTrue(manual.startswith(".TH TOCSIN 1 "))
        self.assertIn(".SS tocsin explain\n", manual)
        self.assertNotIn("kill-at", manual.replace("\\", ""))

    def test_what_a_job_wrote_cannot_steer_the_terminal(self):
        lines = self.base / "steering.jsonl"
        lines.write_text("".join(json.dumps(dict(record, job="a\x1b[2Jb")) + "\n" for record in records()))
        self.assertEqual(tocsin("ingest", lines, "--to", self.base / "steering").returncode, 0)
        done = tocsin("replay", self.base / "steering", "--verbose", "--digest")
        self.assertIn("\\x1b[2J", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        self.assertNotIn("\x1b", tocsin("replay", self.base / "no\x1bwhere").stderr)
        with lines.open("a") as more:
            more.write(json.dumps({"t": BEGIN, "job": "a", "signal": "loss", "value": 1, "x\x1b[2Jy": 1}) + "\n")
        refused = tocsin("ingest", lines, "--to", self.base / "steered").stderr
        self.assertIn("unknown key 'x\\x1b[2Jy'", refused)
        self.assertNotIn("\x1b", refused)

    def test_check_says_where_a_rule_is_wrong_and_what_to_write(self):
        rules = self.base / "bad"
        subprocess.run(["cp", "-r", ROOT / "rules", rules], check=True)
        (rules / "site.lua").write_text(
            'rule "hot" { severity = "warning", per = "gpu", every = "10s", summary = "x",\n'
            '  needs = { t = signal "gpu_temperature" { over = "30s" } }, shows = "x",\n'
            '  evaluate = function(job, p) return job.t:mean() > 90 end }\n')
        done = tocsin("check", rules)
        self.assertEqual(done.returncode, 1)
        self.assertIn("site.lua:3", done.stdout)
        self.assertIn(":above(90)", done.stdout)

    def test_check_prints_json_whatever_bytes_a_rule_makes(self):
        rules = self.base / "bytes"
        (rules / "patterns").mkdir(parents=True)
        subprocess.run(["cp", ROOT / "rules/signals.lua", ROOT / "rules/verdict.lua", rules], check=True)
        (rules / "patterns" / "site.lua").write_text('pattern "odd\\255" { nothing = 1 }\n')
        head = 'per = "gpu", every = "10s", summary = "s", needs = { t = signal "gpu_temperature" { over = "30s" } },\n'
        body = "evaluate = function(job) return job.t:mean():above(90) end }\n"
        for rule, shown in (('rule "x" { shows = "s", ' + head, "a text that is not UTF-8"), ('rule "x" { shows = "{äääääääääääääää", ' + head, "is not closed")):
            (rules / "site.lua").write_text(rule + body)
            done = tocsin("check", "--json", rules)
            self.assertEqual(done.stderr, "")
            self.assertIn(shown, json.dumps(json.loads(done.stdout), ensure_ascii=False))

    def test_a_directory_that_is_added_to_the_shipped_rules_is_checked_with_them_and_its_tunes_are_shown(self):
        site = self.base / "site"
        (site / "patterns").mkdir(parents=True)
        (site / "signals.lua").write_text('signals { leak = { kind = "event", owner = "node", source = "log" } }\n')
        (site / "patterns" / "leaks.lua").write_text('pattern "leak" { line = [[coolant leak]], event = "leak" }\n')
        (site / "site.lua").write_text("""tune "straggler" { params = { low = 0.9 }, mode = "shadow", jobs = { partition = "X" } }
rule "leaks" {
  family = "B3", severity = "critical", per = "node", every = "10s", summary = "Coolant leaks",
  needs = { leak = signal "leak" { over = "5m" } }, shows = "{node} has {n} reports",
  evaluate = function(job) local n = job.leak:count() return n:above(0), { n = n } end,
}
case "no leak" { ranks = 2, { lasting = "2m" } }
""")
        done = tocsin("check", "shipped", site)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"\nstraggler +tuned at {site}/site\.lua:1: params\.low = 0\.9 \(it was 0\.95\), mode = shadow "
                         r"\(it was live\), jobs = \{ partition = \"X\" \} \(it was \{ \}\)\n")
        self.assertRegex(done.stdout, r"\nleaks +B3")
        report = json.loads(tocsin("check", "--json", "shipped", site).stdout)
        self.assertEqual([(one["name"], one["line"], len(one["changes"])) for one in report["tuned"]], [("straggler", 1, 3)])
        (site / "site.lua").write_text('tune "stragler" { mode = "shadow" }\n\ntune "straggler" { params = { lo = 2 } }\n')
        done = tocsin("check", "shipped", site)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{site}/site.lua:1: tune: no rule 'stragler' (straggler?)", done.stdout)
        self.assertIn(f"{site}/site.lua:3: tune 'straggler': 'lo' is not in params (low?)", done.stdout)

    def test_a_rule_that_another_directory_has_too_is_named_with_both_places_and_all_directories(self):
        site = self.base / "twice"
        site.mkdir()
        (site / "mine.lua").write_text('-- by us\nrule "straggler" {}\n')
        done = tocsin("check", "shipped", site)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, rf"(?m)^{site}/mine\.lua:2: \[straggler\] a second rule 'straggler': the first is at ranks\.lua:\d+; "
                         r"give this one another name, or change that one by tune \"straggler\" \{ … \}$")
        self.assertRegex(done.stdout, rf"\n1 error in {ROOT}/rules, {site}: nothing is loaded\n\Z")

    def test_check_tells_a_signal_that_many_rules_miss_once(self):
        rules = self.base / "missed"
        subprocess.run(["cp", "-r", ROOT / "rules", rules], check=True)
        signals = rules / "signals.lua"
        signals.write_text(signals.read_text().replace("\n  step = {", "\n  stpe = {"))
        done = tocsin("check", rules)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count("no signal 'step' in signals.lua"), 1, done.stdout)
        self.assertRegex(done.stdout, r"and \d\d+ more places: \w+\.lua:\d+, ")
        self.assertLess(len(done.stdout.splitlines()), 70, done.stdout)
        places = json.loads(tocsin("check", "--json", rules).stdout)["problems"]
        self.assertGreater(len(places), 20)
        signals.unlink()
        done = tocsin("check", rules)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\Asignals\.lua: the file is missing.*\n1 error in .*\n\Z")

    def test_the_shipped_pack_is_compiled_and_its_cases_hold(self):
        report = json.loads(tocsin("check", "--json").stdout)
        self.assertTrue(report["ok"])
        self.assertEqual([rule["name"] for rule in report["rules"] if rule["scripted"]], [])
        done = tocsin("test")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"[1-9]\d* passed, 0 failed")

    def test_the_language_is_printed_for_readers_and_for_editors(self):
        reference, stubs = tocsin("reference"), tocsin("stubs")
        for done in (reference, stubs):
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr, "")
        self.assertIn('| `x:median("group")` |', reference.stdout)
        self.assertTrue(stubs.stdout.startswith("---@meta\n"))
        self.assertIn("median", stubs.stdout)
        shipped = tocsin("reference", "shipped").stdout
        for rule in json.loads(tocsin("check", "--json").stdout)["rules"]:
            self.assertIn(f"\n## {rule['name']}\n", shipped)
        self.assertRegex(shipped, r"(?s)\n## stalled\n\nNo training progress.*?\n\| `most` \| `\"10m\"` \|\n")
        self.assertIn("\n| `loss` | gauge | ", shipped)
        everything = tocsin("--help").stdout
        for command in ("reference", "stubs"):
            self.assertIn(f"\n  {command} ", everything)
            self.assertIn("Print", tocsin(command, "--help").stdout)

    def test_what_cannot_be_done_is_one_line_that_says_why(self):
        journal = self.base / "journal"
        for arguments, reported in (
            (["replay", self.base / "nowhere"], "there is no journal"),
            (["replay", ROOT / "docs"], "there is no journal in"),
            (["replay", journal, "--speed", "fast"], "--speed: write max, or a number above 0, not 'fast'"),
            (["replay", journal, "--speed", "-3"], "--speed: write max, or a number above 0, not '-3'"),
            (["replay", journal, "--quite"], "there is no option --quite (--quiet?)"),
            (["check", self.base / "nowhere"], "is not a directory: name the directory of the rules"),
            (["replay", "a", "b"], "'b' is one argument too many"),
            (["replay", journal, "--rules", "shipped", self.base], f"write --rules before each directory, --rules {self.base}"),
            (["replai", journal], "there is no command 'replai' (replay?)"),
            (["--foo"], "there is no option --foo"),
            (["ingest", self.lines], "--to is required"),
            (["wrap", "--jornal", "x", "--", "true"], "there is no option --jornal (--journal?)"),
            (["wrap", "--job", "--", "true"], "--job: a value is missing"),
            (["wrap", "--rules", self.base / "nowhere", "--", "true"], "--rules: Directory does not exist"),
        ):
            done = tocsin(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(reported, done.stderr)
            self.assertLessEqual(len(done.stderr.splitlines()), 2, done.stderr)
            self.assertEqual(done.stdout, "")
        self.assertIn("Subcommands:", tocsin().stderr)

    def test_rules_that_do_not_load_are_reported_while_the_command_of_wrap_runs(self):
        rules, journal, go_on = self.base / "broken", self.base / "wrapped", self.base / "go_on"
        subprocess.run(["cp", "-r", ROOT / "rules", rules], check=True)
        (rules / "site.lua").write_text('rule "site" { per = "gpus" }\n')
        command = "while [ ! -e '%s' ]; do sleep 0.1; done" % go_on
        run = subprocess.Popen([TOCSIN, "wrap", "--rules", rules, "--journal", journal, "--", "sh", "-c", command],
                               stderr=subprocess.PIPE, text=True, env=dict(os.environ, TOCSIN_RULES=str(ROOT / "rules")))
        self.addCleanup(run.stderr.close)
        self.addCleanup(go_on.touch)
        reported = run.stderr.readline() + run.stderr.readline()
        self.assertIn("do not load", reported)
        self.assertIn("site.lua:1: [site]", reported)
        self.assertIsNone(run.poll())
        go_on.touch()
        run.stderr.read()
        self.assertEqual(run.wait(timeout=60), 0)

    def test_a_standard_descriptor_that_is_closed_is_no_other_file(self):
        environment = dict(os.environ, XDG_STATE_HOME=str(self.base / "closed"), TOCSIN_RULES=str(ROOT / "rules"))
        command = [TOCSIN, "wrap", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]
        for closed in ((0,), (1,), (2,), (1, 2), (0, 1, 2)):
            with self.subTest(closed=closed):
                run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
                                       start_new_session=True, preexec_fn=lambda: [os.close(one) for one in closed])
                try:
                    self.assertEqual(run.wait(timeout=60), 7)
                finally:
                    if run.poll() is None:
                        os.killpg(run.pid, signal.SIGKILL)
                        run.wait()
        kept = [line for run in (self.base / "closed/tocsin").iterdir() for line in tocsin("export", run).stdout.splitlines() if '"line"' in line]
        self.assertEqual([sum(f'"{word}"' in line for line in kept) for word in ("out", "err")], [5, 5])


if __name__ == "__main__":
    unittest.main()
