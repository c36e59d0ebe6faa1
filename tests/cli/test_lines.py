"""What `tocsin lines` shows of a log."""

import json
import pathlib
import tempfile
import unittest

from journal import tocsin

LOG = """[rank3]:[titan] 2026-02-03 04:05:06,338 - root - INFO - step: 14  loss:  3.25000  grad_norm:  0.8125  memory:  9.46GiB
Traceback (most recent call last):
  File "a.py", line 1
ValueError: x
hello
read shard 17 at 0x7f3a52
read shard 18 at 0x7f3b00

it 3 of 9 | objective 2.31
"""
PARSER = r"""parser "ours" { line = [[\bit (?P<step>INT) of INT \| objective (?P<loss>NUM)]], samples = { step = "step", loss = "loss" } }
"""


class Lines(unittest.TestCase):
    def setUp(self):
        self.base = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log = self.base / "train.log"
        self.log.write_text(LOG)

    def test_each_line_is_shown_with_who_reads_it_its_rank_its_time_and_what_it_becomes(self):
        done = tocsin("lines", self.log)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^        parser  torchtitan +rank 3  2026-02-03 04:05:06,338  step 14, grad_norm 0\.8125, loss 3\.25, phase train$")
        self.assertRegex(done.stdout, r"(?m)^        pattern traceback +job  traceback: code library, exception ValueError, message x$")
        self.assertRegex(done.stdout, r"\n     6  read shard 17 at 0x7f3a52\n     7  read")
        self.assertTrue(done.stdout.endswith("9 lines: 5 read by pattern traceback 3, parser step_and_loss 1, parser torchtitan 1; 3 not read, 1 blank\n"), done.stdout)

    def test_lines_that_nothing_reads_stand_together_where_they_differ_in_numbers_the_most_frequent_first(self):
        done = tocsin("lines", "--unread", self.log)
        self.assertRegex(done.stdout, r"\A +COUNT +FIRST .*\n +2 +6  read shard N at N\n +1 +5  hello\n9 lines: ")

    def test_json_has_an_object_for_each_line_and_one_that_counts_them(self):
        lines = [json.loads(line) for line in tocsin("lines", "--json", self.log).stdout.splitlines()]
        self.assertEqual(lines[0]["read"], [{"parser": "torchtitan", "rank": 3, "values": {"step": 14, "grad_norm": 0.8125, "loss": 3.25, "phase": "train"}}])
        self.assertEqual(lines[1]["read"], [{"pattern": "traceback", "unfinished": True}])
        self.assertEqual((len(lines), lines[-1]["read"], lines[-1]["unread"]), (10, 5, 3))
        unread = [json.loads(line) for line in tocsin("lines", "--json", "--unread", self.log).stdout.splitlines()]
        self.assertEqual(unread[0], {"count": 2, "first": 6, "shape": "read shard N at N", "example": "read shard 17 at 0x7f3a52"})

    def test_a_sites_parser_reads_its_lines_before_the_shipped_ones_whatever_its_directory_is_called(self):
        for name, line in (("a", "it 3 of 9 | objective 2.31"), ("site", "iter 5: loss 4.5, time 120.97ms, mfu 0.25%")):
            site = self.base / name
            (site / "progress").mkdir(parents=True)
            (site / "progress" / "zz.lua").write_text(PARSER + 'parser "site" { line = [[^iter (?P<step>INT): loss]], samples = { step = "step" } }\n')
            self.log.write_text(line + "\n")
            done = tocsin("lines", "--json", self.log, "shipped", site)
            self.assertIn(json.loads(done.stdout.splitlines()[0])["read"][0]["parser"], ("ours", "site"), done.stdout)

    def test_a_file_that_cannot_be_read_is_named(self):
        for file, says in ((self.base / "none.log", "cannot read"), (self.base, "is a directory")):
            done = tocsin("lines", file)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
