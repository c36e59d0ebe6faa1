"""The clone in which changes are made, built and tested, and which tests are to notice a change of which folder."""

import os
import subprocess
import sys
from changes import NOT_NOTICED

BUILD_SECONDS = 1800
TEST_SECONDS = 300
NOT_BUILT = "does not build"

# The programs of each folder, the nearest first. Of the engine's tests the long random ones come last.
RANDOM = "killed*,alerts of random*,a job of two*,how the records*"
SHORT_ENGINE = ("stream_engine_test", f"-tce={RANDOM}")
LONG_ENGINE = ("stream_engine_test", f"-tc={RANDOM}")
ENGINE = ("alert_life_test", "attempts_test", SHORT_ENGINE, "runner_test", "dsl_judged", "state_golden_test", LONG_ENGINE)
COSTS = ("growth_test", "-tc=*costs as much*")
HISTORY = ("history_behaviour_test", "source_coverage_test", "accumulated_test", "history_oracle_test", "history_replay_test")
TESTS = {
    "stream/values": ("text_parts", "stream_graph_test", "stream_kernels", *HISTORY, "test_schemas", "dsl_test", *ENGINE),
    "stream/topology": ("stream_kernels", "stream_graph_test", "dsl_test", *HISTORY, *ENGINE),
    "stream/graph": ("stream_kernels", "stream_graph_test", "dsl_test", *ENGINE),
    "stream/windows": (*HISTORY, "stream_kernels", "dsl_test", *ENGINE),
    "stream/rules": ("alert_life_test", "attempts_test", SHORT_ENGINE, "dsl_test", "runner_test", "dsl_judged", "state_golden_test",
                     LONG_ENGINE),
    "stream/job": ("attempts_test", SHORT_ENGINE, "alert_life_test", "runner_test", "packs_shared_test", "dsl_judged", "dsl_test",
                   COSTS, "state_golden_test", LONG_ENGINE),
    "schemas": ("test_schemas", "test_journal", SHORT_ENGINE, "runner_test", "state_golden_test"),
    "dsl/text": ("text_parts", "text_extraction", "text_lines", "text_allocation", "dsl_test", SHORT_ENGINE),
    "dsl": ("dsl_test", "dsl_judged", "text_extraction", "text_lines", "text_parts", SHORT_ENGINE, "packs_shared_test"),
    "adapters/packs": ("pattern_cache_test", "packs_shared_test"),
    "adapters/runtime": ("loop_test", "hand_over_test", "runner_test", "disk_sink_test"),
    "adapters/journal": ("test_journal", "pattern_cache_test", "runner_test", "disk_sink_test", SHORT_ENGINE, "state_golden_test", LONG_ENGINE),
}


def tests_of(file):
    for folder in sorted(TESTS, key=len, reverse=True):
        if file.startswith(folder + "/"):
            return TESTS[folder]
    return TESTS["stream/job"]


def command_of(test):
    return (test,) if isinstance(test, str) else test


class Clone:
    def __init__(self, root, work, jobs):
        self.tree = work / "tree"
        self.jobs = jobs
        self.environment = dict(os.environ)
        self.environment.pop("TOCSIN_SEED", None)      # each random test has its own seeds: an outcome can be repeated
        commit = self.output("git", "rev-parse", "HEAD", where=root)
        if not (self.tree / ".git").exists():
            self.output("git", "clone", "-q", "--no-checkout", str(root), str(self.tree), where=root)
        self.output("git", "fetch", "-q", str(root), "HEAD", where=self.tree)
        self.output("git", "checkout", "-q", "--force", "--detach", commit, where=self.tree)
        if self.output("git", "status", "--porcelain", "--", "stream", "schemas", "dsl", "adapters", "tests", where=root):
            print(f"warning: {root} has changes that are not committed: the clone does not have them", file=sys.stderr)
        self.output("cmake", "--preset", "dev", "-Wno-dev", where=self.tree)

    def output(self, *command, where):
        done = subprocess.run(command, cwd=where, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed in {where}:\n{done.stderr}")
        return done.stdout.strip()

    def status(self, *command, seconds):
        try:
            done = subprocess.run(command, cwd=self.tree, env=self.environment, capture_output=True, timeout=seconds, check=False)
            (self.tree.parent / "last.log").write_bytes(done.stdout + done.stderr)
            return done.returncode
        except subprocess.TimeoutExpired:
            return "time-out"

    # "noticed by PROGRAM", NOT_NOTICED, or why the change could not be made.
    def judge(self, change):
        path = self.tree / change.file
        if not path.exists():
            return f"cannot be made: there is no {change.file} ({change.place})"
        text = path.read_text(encoding="utf-8")
        changed, times = change.pattern().subn(lambda _: change.new, text)
        if times != 1:
            return f"cannot be made: the old text stands {times} times in {change.file} ({change.place})"
        path.write_text(changed, encoding="utf-8")
        try:
            return self.first_failure(tests_of(change.file))
        finally:
            path.write_text(text, encoding="utf-8")

    # The tests have to pass without a change: else each change would be noticed.
    def check_without_change(self, tests):
        for test in tests:
            outcome = self.outcome(test)
            if outcome != 0:
                sys.exit(f"{test} fails without a change in {self.tree}: {outcome}")

    def first_failure(self, tests):
        for test in tests:
            outcome = self.outcome(test)
            if outcome == NOT_BUILT:
                return f"cannot be made: {command_of(test)[0]} does not build with it"
            if outcome != 0:
                return f"noticed by {command_of(test)[0]}" + (" (time-out)" if outcome == "time-out" else "")
        return NOT_NOTICED

    def outcome(self, test):
        program, *options = command_of(test)
        if self.status("cmake", "--build", "--preset", "dev", "-j", str(self.jobs), "--target", program, seconds=BUILD_SECONDS) != 0:
            return NOT_BUILT
        (path,) = (self.tree / "build/dev/tests").glob(f"*/{program}")
        return self.status(str(path), "--abort-after=1", *options, seconds=TEST_SECONDS)
