"""`tocsin node --list`: which jobs and ranks run here, of real processes that nobody wrapped."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.servers.process import wait_for  # noqa: E402

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
GROUPS = pathlib.Path("/sys/fs/cgroup/pids") if pathlib.Path("/sys/fs/cgroup/pids").is_dir() else pathlib.Path("/sys/fs/cgroup")
POD = "0f6d3e2a-91b7-4c55-8a3e-5d1c7e9b2f{:02}"


TORCH_PYTHON = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
# Starts ranks as a launcher does whose name is known to nobody: the first number of them, from a first one.
LAUNCH = """
import os, subprocess, sys
ranks = range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[1]))
started = [subprocess.Popen(["sleep", "600"], env={**os.environ, "RANK": str(r), "WORLD_SIZE": sys.argv[3], "LOCAL_RANK": str(r - ranks[0])}) for r in ranks]
started[0].wait()
"""


def listed(*options, both=False):
    done = subprocess.run([TOCSIN, "node", "--list", *options], stdout=subprocess.PIPE, text=True, check=False,
                          stderr=subprocess.STDOUT if both else None)
    return done.stdout


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Jobs(unittest.TestCase):
    def setUp(self):
        self.job = f"test-{os.getpid()}-{self.id().rsplit('_', 1)[-1]}"

    def start(self, *words, group=None, user=None, **variables):
        environment = {"PATH": os.environ["PATH"], **{name: str(value) for name, value in variables.items()}}
        enter = (lambda: (group / "cgroup.procs").write_text(str(os.getpid()))) if group else None
        process = subprocess.Popen([str(word) for word in words or ("sleep", "600")], env=environment, stdin=subprocess.DEVNULL,
                                   start_new_session=True, preexec_fn=enter, user=user)
        self.addCleanup(process.wait)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        return process.pid

    def group(self, path):
        """A control group as a scheduler makes it; the test is skipped where none may be made."""
        folder = GROUPS / path
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            self.skipTest(f"no control group may be made here: {error}")
        self.addCleanup(self.remove, folder)
        return folder

    @staticmethod
    def remove(folder):
        wait_for(lambda: not (folder / "cgroup.procs").read_text(), 10, "the end of its processes")
        while folder != GROUPS:
            try:
                folder.rmdir()
            except OSError:
                return      # another test's group is in it
            folder = folder.parent

    def rank(self, rank, of=2, **more):
        return self.start(RANK=rank, WORLD_SIZE=of, LOCAL_RANK=rank, **{"TOCSIN_JOB": self.job, **more})

    def line(self, *options, both=False):
        return "".join(line + "\n" for line in listed("--job", self.job + "*", *options, both=both).splitlines())

    def conflict(self):
        """The line about it, which comes when its processes are some seconds old."""
        return wait_for(lambda: next((line for line in self.line(both=True).splitlines() if line.startswith("tocsin: job ")), None), 15, "the conflict")

    def test_a_job_by_its_environment(self):
        pids = [self.rank(rank, 4) for rank in (0, 1)]
        self.assertEqual(self.line(), f"job {self.job}: ranks 0, 1 of 4, pids {pids[0]}, {pids[1]}, by the environment\n")
        self.assertEqual(self.line("--user", "nobody"), "no job with ranks is found here\n")

    @unittest.skipUnless(os.geteuid() == 0, "only root mounts another /proc")
    def test_a_proc_that_shows_no_processes_of_others_is_an_error(self):
        weak = "setpriv --bounding-set=-sys_ptrace --regid 65534 --clear-groups"
        for mount, run, why in (("-t tmpfs tmpfs", "", r"/proc does not even show this process: mount .* \(mount -t proc proc /proc\)"),
                                ("-t proc -o hidepid=1 proc", weak, r"/proc hides the processes of others \(hidepid\): run this as root .*hidepid=0 /proc\)"),
                                ("-t proc -o hidepid=2 proc", weak, r"/proc hides the processes of others \(hidepid\): run this as root .*hidepid=0 /proc\)")):
            with self.subTest(mount=mount):
                done = subprocess.run(["unshare", "--mount", "sh", "-c", f'mount {mount} /proc && exec {run} "$0" node --list', TOCSIN],
                                      capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertRegex(done.stderr, rf"^tocsin node: cannot look for jobs: {why}\n$")

    def test_two_jobs_with_the_same_ranks(self):
        first, second = self.rank(0), self.rank(0, TOCSIN_JOB=self.job + " b")
        self.assertEqual(self.line(), f"job {self.job}: rank 0 of 2, pid {first}, by the environment\n"
                                      f"job {self.job} b: rank 0 of 2, pid {second}, by the environment\n")

    def test_a_name_with_line_breaks_is_one_line(self):
        self.rank(0, TOCSIN_JOB=self.job + " a\nb\x1b[2J")
        self.assertRegex(self.line(), rf"^job {self.job} a_b_\[2J: rank 0 of 2, pid \d+, by the environment\n$")

    def test_an_environment_of_megabytes(self):
        pid = self.start(**{f"FILL{number}": "x" * 100_000 for number in range(15)}, RANK=1, WORLD_SIZE=2, TOCSIN_JOB=self.job)
        self.assertIn(f"rank 1 of 2, pid {pid}", self.line())

    def test_a_rank_that_runs_another_program(self):
        pid = self.start("sh", "-c", "sleep 1; export RANK=1 WORLD_SIZE=2; exec sleep 600", TOCSIN_JOB=self.job)
        wait_for(lambda: f"rank 1 of 2, pid {pid}" in self.line(), 10, "the rank")

    @unittest.skipUnless(os.geteuid() == 0, "only root makes a namespace of pids")
    def test_a_rank_in_a_container(self):
        outer = self.start("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", "RANK=1 WORLD_SIZE=2 exec sleep 600",
                           TOCSIN_JOB=self.job)
        line = wait_for(lambda: found if "rank 1 of 2" in (found := self.line()) else None, 10, "the rank")
        pid = int(re.search(r"pid (\d+)", line)[1])
        self.assertNotIn(pid, (1, outer))
        self.assertIn("\t1\n", pathlib.Path(f"/proc/{pid}/status").read_text())     # its number within

    def test_a_launcher_is_no_rank(self):
        folder = pathlib.Path("/tmp", self.job)
        folder.mkdir()
        self.addCleanup(shutil.rmtree, folder)
        (folder / "torchrun").write_text("#!/bin/sh\nRANK=8 WORLD_SIZE=16 LOCAL_RANK=0 sleep 600 &\nRANK=9 WORLD_SIZE=16 LOCAL_RANK=1 sleep 600 &\nwait\n")
        (folder / "torchrun").chmod(0o755)
        self.start("unshare", "--pid", "--fork", "--kill-child", folder / "torchrun", TOCSIN_JOB=self.job, RANK=1, WORLD_SIZE=2)
        wait_for(lambda: "ranks 8, 9 of 16," in self.line(), 10, "the ranks")

    def test_a_rank_beyond_its_own_world_size_is_reported_and_is_none(self):
        pid, wrong = self.rank(0, 4), self.start("sh", "-c", "sleep 600; true", RANK=4, WORLD_SIZE=4, TOCSIN_JOB=self.job)
        inner = wait_for(lambda: children(wrong), 10, "its program")[0]
        self.assertEqual(self.conflict(), f"tocsin: job {self.job}: process {inner} (sleep 600) has RANK=4 and WORLD_SIZE=4, so it is not recorded as a rank: "
                                          "unset both if they are left from another job, else correct them")
        self.assertEqual(self.line(), f"job {self.job}: rank 0 of 4, pid {pid}, by the environment\n")

    def test_variables_that_a_launcher_replaces_are_not_reported(self):
        self.start(sys.executable, "-c", LAUNCH, 2, 0, 2, RANK=5, WORLD_SIZE=4, TOCSIN_JOB=self.job)
        self.start(RANK=1, WORLD_SIZE=1, SLURM_PROCID=2, SLURM_NTASKS=3, TOCSIN_JOB=self.job + "-b")
        wrong = self.start(RANK=2, WORLD_SIZE=2, TOCSIN_JOB=self.job + "-c")
        self.assertIn(f"job {self.job}-c: process {wrong} ", self.conflict())
        self.assertEqual(self.line(both=True).count("tocsin: "), 1)
        self.assertIn(f"job {self.job}: ranks 0, 1 of 2", self.line())
        self.assertIn(f"job {self.job}-b: rank 2 of 3", self.line())

    def test_a_program_that_starts_several_ranks_is_none_itself(self):
        task = {"SLURM_PROCID": 1, "SLURM_NTASKS": 2}
        for own in ({"RANK": 0, "WORLD_SIZE": 2}, {"RANK": 4, "WORLD_SIZE": 8}, task, {**task, "RANK": 1, "WORLD_SIZE": 2}):
            with self.subTest(own=own):
                job = f"{self.job}-{len(own)}{'RANK' in own}{own.get('RANK')}"
                launcher = self.start(sys.executable, "-c", LAUNCH, 2, 4, 8, TOCSIN_JOB=job, **own)
                ranks = wait_for(lambda: found if len(found := children(launcher)) == 2 else None, 10, "its ranks")
                wait_for(lambda: f"job {job}: ranks 4, 5 of 8, pids {ranks[0]}, {ranks[1]}, by" in self.line(), 10, "the ranks")

    def test_a_child_that_inherits_what_a_task_set_is_no_rank(self):
        program = "import os, subprocess; os.environ.update(RANK=os.environ['SLURM_PROCID'], WORLD_SIZE='2'); subprocess.run(['sleep', '600'])"
        pid = self.start(sys.executable, "-c", program, SLURM_PROCID=1, SLURM_NTASKS=2, TOCSIN_JOB=self.job)
        wait_for(lambda: children(pid), 10, "its child")
        self.assertEqual(self.line(), f"job {self.job}: rank 1 of 2, pid {pid}, by the environment\n")

    def test_below_a_program_that_only_waits_the_one_that_trains_is_the_rank(self):
        if subprocess.run([TORCH_PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest(f"{TORCH_PYTHON} has no torch")
        train = "import os, torch, time\nos.fork() or time.sleep(600)\ntime.sleep(600)"
        waits = "import subprocess, sys; subprocess.Popen(['sleep', '600']); subprocess.run(sys.argv[1:])"
        pid = self.start(sys.executable, "-c", waits, TORCH_PYTHON, "-c", train, RANK=0, WORLD_SIZE=2, TOCSIN_JOB=self.job)
        trains = wait_for(lambda: found[1] if len(found := children(pid)) == 2 and children(found[1]) else None, 60, "the training")
        self.assertEqual(self.line(), f"job {self.job}: rank 0 of 2, pid {trains}, by the environment\n")

    def test_two_processes_of_one_rank_are_reported(self):
        pids = sorted(self.rank(0) for _ in range(2))
        self.rank(1)
        self.assertEqual(self.conflict(), f"tocsin: job {self.job}: process {pids[0]} (sleep 600) and process {pids[1]} (sleep 600) both have RANK=0, and one "
                                          "of them is recorded: if they are of two jobs, set TOCSIN_JOB to the name of each; if one is not a rank, unset the variable for it")
        self.assertEqual(self.line(both=True).count("tocsin: "), 1)

    def test_steps_of_slurm_are_jobs_of_their_own(self):
        task = {"SLURM_JOB_ID": self.job, "SLURM_NTASKS": 2}
        steps = [self.group(f"slurm/uid_0/job_{os.getpid()}/step_{step}/task_0") for step in (0, 1, "batch")]
        pids = [self.start(group=step, SLURM_PROCID=0, **task) for step in steps[:2]]
        self.start("sh", "-c", "sleep 600; true", group=steps[2], SLURM_PROCID=0, **task)     # the script of the job is no rank
        inside = self.start(group=steps[2], SLURM_PROCID=0, RANK=5, WORLD_SIZE=8, LOCAL_RANK=5, **task)
        self.assertEqual(listed("--job", str(os.getpid())),
                         f"job {os.getpid()} step 0: rank 0 of 2, pid {pids[0]}, by Slurm's cgroup\n"
                         f"job {os.getpid()} step 1: rank 0 of 2, pid {pids[1]}, by Slurm's cgroup\n"
                         f"job {os.getpid()} step batch: rank 5 of 8, pid {inside}, by Slurm's cgroup\n")

    def test_pods_of_one_job_are_one_job(self):
        for rank in (0, 1):
            group = self.group(f"kubepods/burstable/pod{POD.format(rank)}/1f3870be")
            self.start(group=group, HOSTNAME=f"{self.job}-worker-{rank}", RANK=rank, WORLD_SIZE=2)
        self.assertRegex(self.line(), rf"^job {self.job}: ranks 0, 1 of 2, pids \d+, \d+, by the pod's cgroup\n$")

    def test_a_program_of_another_user_that_is_called_like_wrap_hides_no_job(self):
        if os.getuid() != 0:
            self.skipTest("processes of another user need root")
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        folder.chmod(0o755)
        shutil.copy("/bin/bash", folder / "tocsin")
        (folder / "wrap").write_text("sleep 600; true\n")
        step = {"SLURM_JOB_ID": self.job, "SLURM_STEP_ID": 0}
        self.start(RANK=0, WORLD_SIZE=2, **step)
        self.start("env", f"--chdir={folder}", folder / "tocsin", "wrap", user="nobody", RANK=1, WORLD_SIZE=2, **step)
        wait_for(lambda: "ranks 0, 1 of 2" in self.line(), 10, "both ranks")
        self.assertNotIn("recorded by tocsin wrap", self.line())

    @unittest.skipUnless(os.geteuid() == 0, "processes of another user need root")
    def test_two_users_that_chose_one_name_have_a_job_each(self):
        self.rank(1)
        pids = {user: self.start(user=user, RANK=0, WORLD_SIZE=2, TOCSIN_JOB=self.job) for user in ("root", "nobody")}
        self.rank(0, TOCSIN_JOB=self.job + "-b")
        lines = self.line(both=True).splitlines()
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[0], rf"^job {self.job}: ranks 0, 1 of 2, pids {pids['root']}, \d+, by the environment of user root$")
        self.assertEqual(lines[1], f"job {self.job}: rank 0 of 2, pid {pids['nobody']}, by the environment of user nobody")
        self.assertRegex(lines[2], r"by the environment$")
        done = subprocess.run([TOCSIN, "stacks", "--job", self.job], stderr=subprocess.PIPE, text=True, check=False)
        self.assertIn(f"name one: {self.job}@root, {self.job}@nobody\n", done.stderr)
        done = subprocess.run([TOCSIN, "stacks", "--job", self.job + "@nobody"], stdout=subprocess.PIPE, text=True, check=False)
        self.assertIn(str(pids["nobody"]), done.stdout)

    def test_a_job_under_wrap_is_left_to_it(self):
        wrapped = self.start(TOCSIN, "wrap", "--job", self.job, "--journal", f"/tmp/{self.job}", "--", "env", "RANK=0", "WORLD_SIZE=1", "sleep", 600,
                             TOCSIN_JOB=self.job)
        self.addCleanup(shutil.rmtree, f"/tmp/{self.job}", ignore_errors=True)
        wait_for(lambda: ", recorded by tocsin wrap" in self.line(), 10, "the rank")
        os.kill(wrapped, signal.SIGTERM)
        wait_for(lambda: "recorded by" not in self.line(), 10, "its end")


if __name__ == "__main__":
    unittest.main()
