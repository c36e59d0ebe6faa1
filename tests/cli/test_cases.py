"""What `tocsin test` says of cases."""

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
        self.assertEqual(lines[1:8], [
            "expected slow, rank 3; it never fired",
            "slow for rank 3 on n0 says no after 114 s (yes at 0 of 12 ticks)",
            "own = job.compute:mean() 140 ms",
            'typical = own:median("job") 100 ms',
            "1.5 * typical 150 ms",
            "own:above(1.5 * typical) no",
            "answer = own:above(1.5 * typical) & job.sm:mean():above(0.5) no"], lines)
        self.assertIn("slow for rank 3 on n0 says unknown after 114 s (yes at 0 of 12 ticks)", lines)
        self.assertIn("job.sm:mean() unknown (without sm_active)", lines)

    def test_a_name_that_no_case_has_is_no_success(self):
        done = tocsin("test", "--only", "no such case")
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds 'no such case'", done.stderr)


if __name__ == "__main__":
    unittest.main()
