"""wrap of a command that is no training says how it ended, the last error of one that failed, and nothing else."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
ROOT = pathlib.Path(__file__).resolve().parents[2]

TRAINING = r"""
import sys, time
for step in range(1, 60):
    print(f"step {step} loss {4 - step / 50:.4f}", flush=True)
    time.sleep(0.02)
sys.exit(3)
"""


# Two generations of one rank, each with a process of its own.
TWICE = """
import os, subprocess, sys, time
for code in 0, 3:
    subprocess.run([sys.executable, "-c", f"import sys, time; time.sleep(3); sys.exit({code})"], env=dict(os.environ, RANK="0", WORLD_SIZE="1"))
    time.sleep(1)
sys.exit(3)
"""

# A launcher that reports nothing. Its rank 1 is killed, or raises.
LAUNCHER = """
import os, subprocess, sys
rank = '''
import os, sys, time
for step in range(1, 40):
    print(f"[rank{os.environ['RANK']}] step {step} loss {4 - step / 50:.4f}", flush=True)
    time.sleep(0.1)
if os.environ["RANK"] == "1":
    exec(sys.argv[1])
'''
ranks = [subprocess.Popen([sys.executable, "-c", rank, *sys.argv[1:]], env=dict(os.environ, RANK=str(r), WORLD_SIZE="2")) for r in range(2)]
sys.exit(any([rank.wait() for rank in ranks]))
"""


def wrap(*command, options=()):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TOCSIN_RULES=str(ROOT / "rules"), XDG_STATE_HOME=folder, TERM="dumb")
        done = subprocess.run([TOCSIN, "wrap", "--job", "it", *options, "--", *command], env=environment, capture_output=True, text=True, timeout=120)
    return done


def ours(done):
    """What tocsin says on stderr, without the line that names the journal."""
    lines = done.stderr.splitlines()
    begin = [number for number, line in enumerate(lines) if re.match(r"tocsin: |▲|▼|■", line)]
    return [line for line in lines[begin[0]:] if not line.startswith("tocsin: the journal is in ")] if begin else []


def standings(done):
    """What the verdict rules out, and what it cannot decide."""
    verdict = " ".join(done.stderr[done.stderr.index("■ verdict"):].split())
    return verdict[verdict.index("ruled out"):].split(" cannot decide ")


class NoTraining(unittest.TestCase):
    def test_one_that_does_well_says_its_exit_alone(self):
        done = wrap("ls", "/")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(ours(done), ["tocsin: job it ended with exit status 0"])

    def test_one_that_fails_in_silence_says_its_exit_alone(self):
        done = wrap("false")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(ours(done), ["tocsin: job it failed with exit status 1"])

    def test_one_that_fails_says_its_last_error(self):
        done = wrap("sh", "-c", "echo 'cc1plus: fatal error: nope.cpp: No such file or directory' >&2; echo 'compilation terminated.' >&2; exit 4")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(ours(done), ["tocsin: job it failed with exit status 4: cc1plus: fatal error: nope.cpp: No such file or directory"])

    def test_what_speaks_of_no_error_is_its_last_line_of_stderr(self):
        self.assertEqual(ours(wrap("sh", "-c", "echo boom >&2; echo hello on stdout; exit 2")), ["tocsin: job it failed with exit status 2: boom"])

    def test_an_exception_is_its_last_error(self):
        done = wrap(sys.executable, "-c", "raise ValueError(3)")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(ours(done), ["tocsin: job it failed with exit status 1: ValueError: 3"])

    def test_a_process_that_dies_within_one_that_does_well_is_no_alert(self):
        done = wrap("bash", "-c", "bash -c 'kill -SEGV $$'; echo after")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(ours(done), ["tocsin: job it ended with exit status 0"])

    def test_a_line_that_counts_no_errors_is_no_error(self):
        done = wrap("sh", "-c", "echo '0 errors, no error at all, 0 failed'; exit 3")
        self.assertEqual(ours(done), ["tocsin: job it failed with exit status 3"])
        done = wrap("sh", "-c", "echo '10 errors'; exit 3")
        self.assertEqual(ours(done), ["tocsin: job it failed with exit status 3: 10 errors"])

    def test_a_signal_is_named(self):
        done = wrap("sh", "-c", "echo hello; kill -SEGV $$")
        self.assertEqual(done.returncode, -11)
        self.assertEqual(ours(done), ["tocsin: job it was ended by signal 11 (Segmentation fault)"])

    def test_control_characters_of_the_command_do_not_reach_the_terminal(self):
        done = wrap("sh", "-c", r"printf '\033[31merror: red\033[0m\n' >&2; exit 1")
        self.assertNotIn("\x1b", ours(done)[0])
        self.assertIn("error: red", ours(done)[0])

    def test_an_attempt_that_another_follows_says_nothing(self):
        done = wrap(sys.executable, "-c", TWICE)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(ours(done), ["tocsin: job it failed with exit status 3"])

    def test_why_a_verdict_cannot_decide_is_shown_to_who_asks(self):
        short, long = wrap(sys.executable, "-c", TRAINING), wrap(sys.executable, "-c", TRAINING, options=["--verbose"])
        for done in short, long:
            self.assertRegex(done.stderr, r"\n +cannot decide +(B2, )?GPU hardware failure")
        self.assertNotIn("had no gpu", short.stderr)
        self.assertIn("had no gpu", long.stderr)

    def test_what_python_prints_into_a_pipe_is_seen_at_once(self):
        script = "import time; print('begun'); time.sleep(60)"
        with tempfile.TemporaryDirectory() as folder:
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | {"XDG_STATE_HOME": folder}
            with subprocess.Popen([TOCSIN, "wrap", "--", sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True) as running:
                begin = time.monotonic()
                self.assertEqual(running.stdout.readline(), "begun\n")
                took = time.monotonic() - begin
                running.terminate()
        self.assertLess(took, 40)

    def test_a_launcher_that_is_asked_to_end_has_not_failed(self):
        script = TRAINING.replace("import sys, time", "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))").replace("60", "2000")
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, TOCSIN_RULES=str(ROOT / "rules"), XDG_STATE_HOME=folder, TERM="dumb")
            with subprocess.Popen([TOCSIN, "wrap", "--job", "it", "--", sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as running:
                for _ in range(20):
                    running.stdout.readline()
                running.terminate()
                shown = running.communicate(timeout=120)[1]
        self.assertEqual(running.returncode, 1)
        self.assertRegex(shown, r"■ verdict  job it, attempt 1: no fault found  \(ended .*, cancelled\)")
        self.assertNotIn("failed with", shown)

    def test_a_training_has_its_verdict(self):
        done = wrap(sys.executable, "-c", TRAINING)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(ours(done)[0], "tocsin: job it failed with exit status 3")     # nothing else explains it
        self.assertIn("■ verdict  job it", done.stderr)

    def test_a_kill_is_ruled_out_only_if_the_ends_of_all_ranks_are_known(self):
        killed = wrap(sys.executable, "-c", LAUNCHER, "import os; os.kill(os.getpid(), 9)", options=["--verbose"])
        self.assertEqual(killed.returncode, 1)
        # On a busy machine the launcher reaps it late, which is a second reason.
        self.assertRegex(standings(killed)[1], r"A2, process killed \(missing: exit_status(; rank_unreaped held, but not for long enough)?\);")
        self.assertNotIn("process killed", standings(killed)[0])
        for command in ("-c", LAUNCHER, "raise ValueError(3)"), ("-c", TRAINING):     # its traceback, and its status, are known
            done = wrap(sys.executable, *command, options=["--verbose"])
            self.assertIn("A2, process killed", standings(done)[0])
            self.assertNotIn("process killed", standings(done)[1])

    def test_a_training_that_a_signal_ends_was_killed(self):
        done = wrap(sys.executable, "-c", TRAINING.replace("sys.exit(3)", "import os; os.kill(os.getpid(), 9)"))
        self.assertEqual(done.returncode, -9)
        self.assertIn("▲ warning  process_killed", done.stderr)
        self.assertIn("■ verdict  job it, attempt 1: A2, process killed", done.stderr)


if __name__ == "__main__":
    unittest.main()
