"""A journal whose oldest segments are gone is judged by the rules, and of the ranks, that it was recorded with."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
ROOT = pathlib.Path(__file__).resolve().parents[2]

SITE_RULE = """
rule "site_steps" { severity = "warning", per = "job", every = "1s", summary = "Steps are seen",
  needs = { step = signal "step" { over = "30s" } }, shows = "{n:.0f} members are expected",
  evaluate = function(job, p)
    local steps = job.step:count()
    return steps:above(0):any("job"), { n = steps:fill(0):count("job") }
  end }
"""

# Two ranks of three; rank 0 prints as much as the journal may take, twice, waits for a file to appear in between, and steps on to the end.
RANKS = """
import os, pathlib, subprocess, sys, time
if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, "-c", sys.argv[1], *sys.argv[1:]], env=dict(os.environ, RANK=str(r), WORLD_SIZE="3")) for r in (0, 1)]
    ranks[0].wait()
    ranks[1].terminate()
    sys.exit(0)
if os.environ["RANK"] == "1":
    time.sleep(600)
go_on = pathlib.Path(sys.argv[2])
print("flood begins", flush=True)
for part in range(2):
    for i in range(9000):
        print(f"part {part} line {i} " + "x" * 500)
        if i % 500 == 0: time.sleep(0.05)
    print("part over", flush=True)
    while part == 0 and not go_on.exists(): time.sleep(0.05)
for step in range(40):
    print(f"iter {step}: loss 2.5000, time 100.00ms, mfu 10.00%", flush=True)
    time.sleep(0.1)
"""


class Capped(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = pathlib.Path(folder.name)
        self.rules = self.base / "rules"
        subprocess.run(["cp", "-r", ROOT / "rules", self.rules], check=True)
        (self.rules / "site.lua").write_text(SITE_RULE)

    def start(self):
        """The job under wrap, with the site's rules and a cap of which it writes twice as much."""
        self.journal, self.go_on = self.base / "journal", self.base / "go_on"
        return subprocess.Popen([TOCSIN, "wrap", "--job", "capped", "--journal", self.journal, "--cap", "4", "--rules", self.rules, "--",
                                 "/usr/bin/python3", "-c", RANKS, RANKS, self.go_on], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def finish(self, run):
        self.go_on.touch()
        run.stdout.read()
        run.stdout.close()
        self.assertEqual(run.wait(timeout=60), 0)

    def look(self):
        """What a replay says that has only the journal and the shipped rules."""
        segments = sorted(self.journal.glob("*.journal"))
        self.assertGreater(int(segments[0].stem), 0, "nothing was deleted: the test tests nothing")
        self.assertLessEqual(sum(segment.stat().st_size for segment in segments), 4 << 20)
        done = subprocess.run([TOCSIN, "replay", self.journal, "--quiet", "--alerts", "-", "--counters"], capture_output=True, text=True,
                              timeout=300, env=dict(os.environ, TOCSIN_RULES=str(ROOT / "rules")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("corrupt_frames 0 undecodable 0", done.stdout)
        alerts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        found = [alert for alert in alerts if alert.get("rule") == "site_steps" and alert["state"] == "firing"]
        self.assertEqual(len(found), 1, done.stdout)
        self.assertEqual(found[0]["attempt"], "1")
        self.assertEqual(found[0]["evidence"]["n"], 4)   # three ranks, one of them never seen, and the job

    def test_the_rules_and_the_ranks_outlive_the_oldest_segments(self):
        run = self.start()
        self.finish(run)
        self.look()

    def test_also_where_the_recorder_was_killed_in_between(self):
        run = self.start()
        for line in run.stdout:
            if line == b"part over\n":
                break
        children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        recorder = [int(pid) for pid in children if pathlib.Path(f"/proc/{pid}/comm").read_text() == "tocsin-recorder\n"]
        os.kill(recorder[0], signal.SIGKILL)
        time.sleep(0.5)
        self.finish(run)
        self.look()


if __name__ == "__main__":
    unittest.main()
