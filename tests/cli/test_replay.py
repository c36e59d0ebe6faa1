"""A replay that is killed, finds damage or a full disk, or runs in other steps ends with the history of an undisturbed one."""

import json
import os
import pty
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from journal import BEGIN, ROOT, TOCSIN, WithJournal, history, tocsin

sys.path.insert(0, str(ROOT))
from tests.servers.process import wait_for  # noqa: E402


class Replay(WithJournal):
    def test_status_says_of_a_run_that_failed_that_no_cause_was_found(self):
        for reason, reported in (("failed", "no cause found"), ("completed", "no fault found")):
            lines, journal = self.base / f"status-{reason}.jsonl", self.base / f"status-{reason}"
            lines.write_text("".join(json.dumps(dict(record, job="j")) + "\n" for record in (
                {"t": BEGIN, "event": "start"}, {"t": BEGIN + 1, "line": "hello"}, {"t": BEGIN + 2, "event": "end", "reason": reason})))
            self.assertEqual(tocsin("ingest", lines, "--to", journal).returncode, 0)
            self.assertIn(f" UTC, {reason}: {reported}\n", tocsin("status", journal).stdout)

    def test_a_rule_runs_only_on_jobs_with_its_labels(self):
        site = self.base / "labelled"
        site.mkdir()
        rules = ("--rules", "shipped", "--rules", site)     # of every command
        (site / "site.lua").write_text(
            'rule "site_hot" { severity = "warning", per = "job", every = "10s", summary = "x", jobs = { partition = "a" },\n'
            '  needs = { s = signal "step" { over = "attempt" } }, shows = "x",\n'
            '  evaluate = function(job, p) return job.s:count():above(0):any("job") end }\n'
            'rule "site_any" { severity = "none", per = "job", every = "10s", needs = { s = signal "step" { over = "attempt" } },\n'
            '  evaluate = function(job, p) return job.s:seen():any("job") end }\n')
        lines = self.base / "labelled.jsonl"
        with lines.open("w") as out:
            for job in "ab":
                out.write(json.dumps({"t": BEGIN, "job": job, "event": "start", "world_size": 1, "labels": {"partition": job}}) + "\n")
            for second in range(1, 60):
                for job in "ab":
                    out.write(json.dumps({"t": BEGIN + second, "job": job, "rank": 0, "signal": "step", "value": second}) + "\n")
        self.assertEqual(tocsin("ingest", lines, "--to", self.base / "labelled-journal").returncode, 0)
        reported = tocsin("replay", self.base / "labelled-journal", *rules, "--quiet", "--alerts", "-").stdout
        alerts = [json.loads(line) for line in reported.splitlines() if line.startswith("{")]
        self.assertEqual({a["subject"] for a in alerts if a.get("rule") == "site_hot"}, {"a"})
        why = tocsin("explain", self.base / "labelled-journal", *rules, "--rule", "site_hot", "--job", "b").stderr
        self.assertIn("rule 'site_hot' did not run for job 'b': its `jobs` wants partition = a, and the job has 'b'. It ran for: a", why)
        stands = [tocsin("status", self.base / "labelled-journal", *some) for some in (rules, rules[2:])]
        self.assertEqual([one.returncode for one in stands], [0, 2])
        self.assertIn("signals.lua: the file is missing", stands[1].stderr)
        wrapped = tocsin("wrap", *rules, "--journal", self.base / "labelled-run", "--", "true")
        self.assertEqual(wrapped.returncode, 0, wrapped.stderr)
        self.assertRegex(tocsin("explain", self.base / "labelled-run", "--rule", "none").stderr, "These did: .* site_any .*stalled")

    def test_new_jobs_beyond_a_state_size_are_refused_counted_and_named(self):
        lines, journal = self.base / "room.jsonl", self.base / "room"
        lines.write_text("".join(json.dumps({"t": BEGIN + place, "job": job, "line": "hello"}) + "\n"
                                 for place, job in enumerate(("first", "second", "first", "second", "third"))))
        self.assertEqual(tocsin("ingest", lines, "--to", journal).returncode, 0)
        done = tocsin("replay", journal, "--counters", "--state-size", "1B")
        self.assertIn(" lines 2 ", done.stdout)
        self.assertIn(" state_limit 3 ", done.stdout)
        self.assertRegex(done.stdout + done.stderr, r"dropped 3 records, of 'second' \(2\), 'third' \(1\)")
        self.assertIn(" state_limit 0 ", tocsin("replay", journal, "--counters").stdout)

    def test_ranks_that_no_collector_has_seen_are_missed_where_those_that_are_seen_rest_from_the_start(self):
        records = [{"t": BEGIN, "event": "start", "world_size": 3}, {"t": BEGIN, "line": "starting"}]
        for second in range(0, 151):
            t = BEGIN + second
            if second % 10 == 0:
                records += [{"t": t, "coverage": "log"}, {"t": t, "coverage": "log", "ranks": [0, 1]}, {"t": t, "coverage": "sampler", "ranks": [0, 1]}]
            records += [{"t": t, "rank": rank, "source": "sampler", "values": {"process_cpu": 0.005, "wait_syscall": "recvfrom"}} for rank in (0, 1)]
        lines, journal = self.base / "world.jsonl", self.base / "world"
        lines.write_text("".join(json.dumps(dict(record, job="j")) + "\n" for record in records))
        self.assertEqual(tocsin("ingest", lines, "--to", journal).returncode, 0)
        alerts = [json.loads(line) for line in tocsin("replay", journal, "--quiet", "--alerts", "-").stdout.splitlines()]
        self.assertEqual([(alert["rule"], alert["who"]) for alert in alerts if alert.get("state") == "firing"], [("rendezvous_hang", [2])])

    def test_a_jump_of_the_loss_lasts_until_the_alert_that_the_loss_stays_high_explains_it(self):
        chance = random.Random(4)
        losses = [3 - 2.5 * place / 40 for place in range(40)] + [0.5] * 40 + [2.3] * 3 + [2.8] * 97     # back near where the run began
        lines, journal = self.base / "jump.jsonl", self.base / "jump"
        lines.write_text("".join(json.dumps(dict(record, job="j")) + "\n" for record in [{"t": BEGIN, "event": "start"}] + [
            {"t": BEGIN + 20 * place, "rank": 0, "line": f"step {60 * place} loss {loss + chance.gauss(0, 0.05):.4f}"}
            for place, loss in enumerate(losses, 1)]))
        self.assertEqual(tocsin("ingest", lines, "--to", journal).returncode, 0)
        alerts = [json.loads(line) for line in tocsin("replay", journal, "--quiet", "--alerts", "-").stdout.splitlines()]
        spikes = [alert for alert in alerts if alert.get("rule") == "loss_spike"]
        self.assertRegex(spikes[0]["shows"], r"^loss 2\.\d+ near step 4980, 0\.\d+ before")    # the first high one is of step 4860
        self.assertEqual([(alert.get("reason"), alert["explained_by"]) for alert in spikes if alert["state"] != "firing"],
                         [("explained", "loss_stays_high")])

    def test_the_alert_of_a_shadow_rule_is_printed_and_marked(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = shutil.copytree(ROOT / "rules", os.path.join(folder, "rules"))
            with open(os.path.join(rules, "site.lua"), "w", encoding="utf-8") as site:
                site.write('tune "collective_hang" { mode = "shadow" }\n')
            printed = tocsin("replay", self.base / "journal", "--rules", rules).stdout
        self.assertIn("▲ critical  collective_hang  (shadow)\n", printed)
        self.assertIn("▼ resolved  collective_hang  (shadow)  ", printed)

    def test_what_cannot_be_written_to_a_full_standard_output_is_no_success(self):
        journal = self.base / "journal"
        for arguments in (["replay", journal], ["replay", "--quiet", "--digest", journal], ["status", journal], ["completions", "bash"],
                          ["--version"]):
            with self.subTest(arguments=arguments), open("/dev/full", "w") as full:
                done = subprocess.run([TOCSIN, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                      env=dict(os.environ, TOCSIN_RULES=str(ROOT / "rules")))
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr, "tocsin: cannot write to stdout\n")

    def test_the_progress_on_a_terminal_begins_with_the_time_of_a_record(self):
        ours, its = pty.openpty()
        with subprocess.Popen([TOCSIN, "replay", self.fresh_journal("shown")], stdin=its, stdout=its, stderr=its,
                              env=dict(os.environ, TOCSIN_RULES=str(ROOT / "rules"), TERM="xterm")):
            os.close(its)
            shown = b""
            try:
                while more := os.read(ours, 65536):
                    shown += more
            except OSError:     # it has ended
                pass
        os.close(ours)
        self.assertEqual(set(re.findall(rb"replaying (\d{4})-", shown)), {b"2026"})

    def test_explain_of_a_job_that_is_not_there_names_those_that_are(self):
        wrong = tocsin("explain", self.base / "journal", "--rule", "collective_hang", "--job", "dmeo")
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertIn("there is no job 'dmeo' in this log. There are: demo\n", wrong.stderr)

    def test_a_kind_of_digest_that_there_is_none_of_is_refused(self):
        wrong = tocsin("replay", self.base / "journal", "--digest=columms")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("--digest: columms not in {columns}", wrong.stderr)
        right = tocsin("replay", self.base / "journal", "--quiet", "--digest=columns")
        self.assertIn("digest ", right.stdout)

    def test_any_speed_and_both_sets_of_loops_give_the_same_digest(self):
        digest = [line for line in self.plain.stdout.splitlines() if line.startswith("digest")]
        for options in (["--speed", "100"],):
            again = tocsin("replay", self.base / "journal", "--quiet", "--digest", *options)
            self.assertEqual([line for line in again.stdout.splitlines() if line.startswith("digest")], digest)
        baseline = tocsin("--kernels", "baseline", "replay", self.base / "journal", "--quiet", "--digest")
        self.assertEqual([line for line in baseline.stdout.splitlines() if line.startswith("digest")], digest)

    def test_of_the_copy_of_a_topic_nothing_is_left_whatever_ends_it(self):
        for number in (signal.SIGINT, *[signal.SIGKILL] * 10, None):
            with tempfile.TemporaryDirectory() as folder:
                # It makes the copy's directory first; that no broker answers takes it seconds to find out.
                process = subprocess.Popen([TOCSIN, "replay", "kafka://127.0.0.1:1", "--partition", "0"], stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=folder),
                                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
                end = time.monotonic() + 30
                while not os.listdir(folder):  # without a pause: the signal comes as soon as the directory is there
                    self.assertLess(time.monotonic(), end, "the copy's directory did not come")
                if number:
                    process.send_signal(number)
                self.assertEqual(process.wait(60), -number if number else 3)
                wait_for(lambda: not os.listdir(folder), 30, "that it is removed")

    def killed_soon(self, name, records, entries):
        """The undisturbed replay of the records, and those that were killed before each of the entries, as digests."""
        lines, whole = self.base / f"{name}.jsonl", self.base / name
        lines.write_text("".join(json.dumps(dict(record, t=BEGIN - BEGIN % 60 + record["t"], job="j")) + "\n" for record in records))
        self.assertEqual(tocsin("ingest", lines, "--to", whole).returncode, 0)
        quiet = ("--quiet", "--digest=columns")
        digests = [tocsin("replay", whole, *quiet).stdout]
        for entry in entries:
            killed = shutil.copytree(whole, self.base / f"{name}-{entry}")
            self.assertEqual(tocsin("replay", killed, *quiet, "--resume", "--kill-at", entry).returncode, -signal.SIGKILL)
            digests.append(tocsin("replay", killed, *quiet, "--resume").stdout)
        return digests

    def test_a_gpu_index_that_went_over_to_another_gpu_shortly_before_a_kill_changes_nothing(self):
        signals = {"throttle_thermal": 1, "clock_event_reasons": 8}
        of_gpu = {"rank": 0, "node": "n0", "gpu": 0}
        records = [dict(of_gpu, t=0, values=dict(signals, gpu_index=0, gpu_uuid="GPU-b"))]
        records += [dict(of_gpu, t=second, values=signals) for second in (1, 2)]
        records += [dict(of_gpu, t=3, event="member", gpu="GPU-a", gpu_index=0)]
        records += [{"rank": 0, "t": second, "line": "x"} for second in range(5, 90, 5)]
        self.assertEqual(len(set(self.killed_soon("renamed", records, range(18, 23)))), 1)

    def test_a_rank_that_only_a_line_or_an_event_has_placed_before_a_kill_has_its_gpu_after_it(self):
        placed = {"rank": 1, "node": "n0", "gpu": 0}
        measured = [{"t": 2, "rank": 1, "values": {"throttle_thermal": 1, "DCGM_FI_DEV_GPU_UTIL": 33}}]
        after = [{"t": second, "rank": 1, "line": "x"} for second in range(5, 90, 5)]
        for name, first in (("line", dict(placed, t=0, line="x")), ("event", dict(placed, t=0, event="startup_error"))):
            self.assertEqual(len(set(self.killed_soon(name, [first, *measured, *after], range(18, 30, 3)))), 1, name)

    def test_killed_again_and_again_it_ends_with_the_history_of_an_unkilled_run(self):
        whole = self.fresh_journal("whole")
        plain = tocsin("replay", whole, "--quiet", "--resume", "--digest")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        killed = self.fresh_journal("killed")
        seed = int(os.environ.get("TOCSIN_SEED") or random.SystemRandom().randrange(2**32))
        print(f"TOCSIN_SEED={seed}", file=sys.stderr)
        chance = random.Random(seed)
        deaths = 0
        while True:
            dies = deaths < 8
            # Counted from where it resumes: further than a snapshot's distance, so that it comes forward.
            arguments = ["--kill-at", chance.randrange(100, 500)] if dies else []
            done = tocsin("replay", killed, "--quiet", "--resume", "--digest", *arguments)
            if done.returncode == 0:
                break
            self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
            deaths += 1
        self.assertGreater(deaths, 2)
        self.assertEqual(history(killed), history(whole))
        self.assertEqual(done.stdout, plain.stdout)

    def test_killed_under_rules_that_are_gone_it_goes_on_under_them(self):
        rules = self.base / "own-rules"
        shutil.copytree(ROOT / "rules", rules)
        with (rules / "healthy.lua").open("a") as file:
            file.write("-- changed\n")
        whole, killed = self.fresh_journal("own-whole"), self.fresh_journal("own-killed")
        plain = tocsin("replay", whole, "--quiet", "--resume", "--digest", "--rules", rules)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        for entry in (600, 300):
            done = tocsin("replay", killed, "--quiet", "--resume", "--rules", rules, "--kill-at", entry)
            self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        self.assertTrue(any((killed / "state" / "packs").iterdir()))
        shutil.rmtree(rules)   # their text is kept beside the state
        done = tocsin("replay", killed, "--quiet", "--resume", "--digest")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, plain.stdout)
        self.assertEqual(history(killed), history(whole))

    def test_a_second_engine_that_goes_on_from_the_same_state_is_refused(self):
        journal, alone = self.fresh_journal("shared"), self.fresh_journal("alone")
        self.assertEqual(tocsin("replay", alone, "--resume", "--quiet").returncode, 0)
        first = subprocess.Popen([TOCSIN, "replay", journal, "--resume", "--quiet", "--speed", "1"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: (journal / "alerts.jsonl").exists() or (journal / "state").exists(), 30, "the first engine")
            second = tocsin("replay", journal, "--resume", "--quiet")
            self.assertEqual(second.returncode, 2, second.stderr)
            self.assertIn("another engine judges the journal", second.stderr)
            self.assertEqual(tocsin("replay", journal, "--quiet").returncode, 0)
        finally:
            first.kill()
            first.wait()
        again = tocsin("replay", journal, "--resume", "--quiet")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(history(journal), history(alone))

    def test_what_cannot_be_kept_is_a_failure_and_the_next_run_keeps_and_publishes_it(self):
        def on_a_full_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))

        full, whole = self.fresh_journal("full"), self.fresh_journal("kept")
        kept = tocsin("replay", whole, "--resume", "--alerts", "-")
        self.assertEqual(kept.returncode, 0, kept.stderr)
        files = {path.name for path in full.iterdir()}
        done = tocsin("replay", full, "--resume", "--quiet", "--alerts", "-", preexec_fn=on_a_full_disk)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(re.findall("cannot (?:append to|write) .*(?:alerts.jsonl|state/)", done.stderr)), 1, done.stderr)
        self.assertLessEqual({path.name for path in full.rglob("*")} - files, {"alerts.jsonl", "state", "packs"})
        again = tocsin("replay", full, "--resume", "--quiet", "--alerts", "-")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stdout, kept.stdout)
        self.assertEqual(history(full), history(whole))
        self.assertEqual(tocsin("replay", full, "--resume", "--quiet", "--alerts", "-").stdout, "")

    def test_a_torn_state_is_refused_with_the_name_of_the_file(self):
        torn = self.fresh_journal("torn-state")
        self.assertEqual(tocsin("replay", torn, "--resume", "--quiet").returncode, 0)
        section = next((torn / "state").glob("section-*"))
        section.write_bytes(section.read_bytes()[:-1])
        done = tocsin("replay", torn, "--resume", "--quiet")
        self.assertEqual(done.returncode, 2)
        self.assertIn(str(section), done.stderr)

    def test_a_damaged_journal_loses_no_more_than_the_bad_frames(self):
        damaged = self.fresh_journal("damaged")
        segment = max(damaged.iterdir(), key=lambda path: path.stat().st_size)
        data = bytearray(segment.read_bytes())
        for at in range(len(data) // 3, len(data), len(data) // 3):
            data[at] ^= 0xFF
        segment.write_bytes(data[:-7])
        done = tocsin("replay", damaged, "--quiet", "--alerts", "-", "--counters")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("collective_hang", done.stdout)
        self.assertNotIn("corrupt_frames 0 ", done.stdout)
        read, whole = (int(re.search(r"^entries (\d+) ", text, re.MULTILINE)[1]) for text in (done.stdout, self.plain.stdout))
        self.assertLess(read, whole)
        self.assertGreaterEqual(read, whole - 4)   # three bytes and the tail


if __name__ == "__main__":
    unittest.main()
