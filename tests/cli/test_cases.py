"""What `tocsin check` and `tocsin test` say of a site's directory."""

import pathlib
import shutil
import tempfile
import unittest

from journal import ROOT, tocsin


class Cases(unittest.TestCase):
    def setUp(self):
        self.base = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_case_that_fails_prints_the_values_that_decided(self):
        rules = self.base / "values"
        rules.mkdir()
        shutil.copy(ROOT / "rules/signals.lua", rules)
        (rules / "site.lua").write_text(
            'rule "slow" { per = "rank", every = "10s", params = { ratio = 1.5 }, summary = "s", shows = "t",\n'
            '  needs = { compute = signal "compute_time" { over = "60s" }, sm = signal "sm_active" { over = "30s" } },\n'
            '  evaluate = function(job, p)\n'
            '    local own = job.compute:mean()\n'
            '    local typical = own:median("job")\n'
            '    return own:above(p.ratio * typical) & job.sm:mean():above(0.5), { own = own, typical = typical }\n'
            '  end }\n'
            'case "not slow enough" { ranks = 4, { lasting = "3m", compute_time = 0.1 },\n'
            '  { lasting = "2m", rank = { [3] = { compute_time = 0.14 } } }, fires = { { "slow", rank = 3 } } }\n'
            'case "no GPU was sampled" { ranks = 4, { lasting = "3m", compute_time = 0.1 },\n'
            '  { lasting = "2m", rank = { [3] = { compute_time = 0.3 } } }, fires = { { "slow", rank = 3 } } }\n')
        lines = [" ".join(line.split()) for line in tocsin("test", rules).stdout.splitlines()]
        self.assertEqual(lines[1:4], [
            "expected slow, rank 3; it never fired",
            "slow for rank 3 on n0 says no after 114 s (yes at 0 of 12 ticks)",
            "own:above(1.5 * typical) no own = 140 ms, 1.5 * typical = 150 ms"], lines)
        self.assertIn("slow for rank 3 on n0 says unknown after 114 s (yes at 0 of 12 ticks)", lines)
        self.assertIn("job.sm:mean():above(0.5) unknown job.sm:mean() = unknown", lines)
        self.assertIn("missing sm_active: no record", lines)

    def check(self, text, file="progress/ours.lua"):
        """What `tocsin check shipped DIR` says of this file in DIR."""
        site = self.base / "site"
        shutil.rmtree(site, ignore_errors=True)
        (site / file).parent.mkdir(parents=True)
        (site / file).write_text(text)
        return [line for line in tocsin("check", "shipped", site).stdout.splitlines() if line.startswith(str(site))]

    def test_a_parser_that_takes_a_line_from_another_is_warned_of_with_what_is_lost(self):
        ours = ('parser "ours" { about = "iter 120: loss 2.3412, time 300.00ms, mfu 10.00%%", %s line = [[iter (?P<step>INT): loss (?P<loss>NUM)]],\n'
                '  samples = { step = "step", loss = "loss"%s }, states = { phase = "train" } }')
        printed, = self.check(ours % ("", ""))
        self.assertRegex(printed, r"warning: parser 'ours': it takes `iter 120: .*` from parser 'nanogpt' \(progress/frameworks\.lua:\d+\), "
                               r"which made step_time of it too: add them to samples or states$")
        self.assertEqual(self.check(ours % ("", ", step_time = { find = [[time (NUM)ms]], scale = 0.001 }")), [])
        printed, = self.check(ours % ('generic = "lines",', ""))
        self.assertRegex(printed, r"`iter 120: .*` is read by parser 'nanogpt' .*, which comes first: take out generic$")
        printed, = self.check('parser "wide" { line = [[objective (?P<loss>NUM)]], samples = { loss = "loss" } }\n'
                           'parser "narrow" { about = "objective 2.5 of 3", line = [[objective (?P<loss>NUM) of 3]], samples = { loss = "loss" } }')
        self.assertRegex(printed, r"ours\.lua:2: warning: parser 'narrow': `objective 2\.5 of 3` is read by parser 'wide' \(.*:1\), which comes first: "
                               r"write this one before it, or narrow one of their lines$")

    def test_a_slip_in_an_expression_says_what_to_write(self):
        for line, message in (
            ("step (%d+)", "`%d` belongs to Lua's patterns; in a regular expression it is a percent sign and a letter: write \\d, NUM or INT"),
            ("step (?P<s>%d+)", "`%d` belongs to Lua's patterns"),
            ("[INT] step (?P<s>INT)", "`[INT]` is a set of single characters: write \\[ and \\] for the brackets of a line"),
            ("step [(?P<s>INT)] of", "`[(?P<s>INT)]` is a set of single characters and cannot contain a group: write \\[ and \\]"),
            ("step [ (?P<s>INT)", "missing ]: [ (?P<s>INT); write \\[ for a bracket of the line"),
            ("step (?P<s>INT", "write \\( and \\) for those of the line"),
            ("* step (?P<s>INT)", "write \\*, \\+ or \\? for a sign of the line"),
            ("(?P<s>.+)", "warning: parser 'ours': `(?P<s>.+)` occurs in nearly every line, as in one that is `~` alone"),
            ("(?P<s>7)", "warning: parser 'ours': `(?P<s>7)` occurs in nearly every line"),
            ("(?P<s>INT)|", "it matches the empty text, and so occurs in every line; write something that must occur"),
        ):
            printed = self.check(f'parser "ours" {{ line = [[ {line}]], samples = {{ step = "s" }} }}'.replace("[[ ", "[["))
            self.assertEqual(len(printed), 1, printed)
            self.assertIn(message, printed[0])
        for line in ("^(?P<s>NUM)$", r"(?P<s>INT)%\|", "[%d] (?P<s>INT)", r"\[(?P<s>INT)\] of"):
            self.assertEqual(self.check(f'parser "ours" {{ line = [[{line}]], samples = {{ step = "s" }} }}'), [])

    def test_a_text_among_the_fields_of_a_pattern_is_refused(self):
        pattern = 'pattern "ours" {{ line = [[cannot start: (?P<m>.+)]], event = "startup_error", {} = {{ message = "m" }} }}'
        printed, = self.check(pattern.format("fields"), "patterns/ours.lua")
        self.assertRegex(printed, r"field 'message' of event 'startup_error' is a text, and fields makes numbers: write texts = \{ message = … \}$")
        self.assertEqual(self.check(pattern.format("texts"), "patterns/ours.lua"), [])

    def test_a_name_that_a_shipped_file_has_is_an_error_of_the_site_that_names_the_other(self):
        printed, = self.check('parser "nanogpt" { line = [[step (?P<s>INT) of ours]], samples = { step = "s" } }')
        self.assertRegex(printed, r'ours\.lua:1: parser "nanogpt": the name is taken by progress/frameworks\.lua:\d+; choose another$')
        for signal, message in (
            ('loss = { kind = "gauge", owner = "job" }', r"signal 'loss' is defined twice, first at signals\.lua:\d+: give this one another name; tune"),
            ('ours = { kind = "gauge", owner = "job", aliases = { "loss" } }', r"'loss' names two signals, 'loss' \(signals\.lua:\d+\) and 'ours': read"),
        ):
            printed, = self.check(f"signals {{ {signal} }}", "signals.lua")
            self.assertRegex(printed, message)

    def test_a_name_that_no_case_has_is_no_success(self):
        done = tocsin("test", "--only", "no such case")
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds 'no such case'", done.stderr)


if __name__ == "__main__":
    unittest.main()
