"""`tocsin node`: a service judges a job that nobody wrapped by what the agent of its node sees."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.servers.process import free_port, wait_for  # noqa: E402
from tests.servers.service import TOCSIN, ServiceCase, why_not_traced  # noqa: E402

PYTHON = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
os.environ["PATH"] += f":{ROOT}/build/tools/bin"
PY_SPY = shutil.which("py-spy") or shutil.which("py-spy", path=os.path.dirname(PYTHON))
TRAINING = """
import time, torch, torch.distributed as dist
def spin():
    while True:
        pass
torch.set_num_threads(1)
dist.init_process_group("gloo")
for step in range(200):
    dist.all_reduce(torch.ones(4))
    time.sleep(0.1)
if dist.get_rank() == 2:
    spin()
dist.all_reduce(torch.ones(4))
"""


class Node(ServiceCase):
    def setUp(self):
        super().setUp()
        self.job = f"test-{os.getpid()}-{self.id().rsplit('_', 1)[-1]}"

    def agent(self):
        with open(self.folder / "agent.log", "a", encoding="utf-8") as log:
            agent = self.start(TOCSIN, "node", "--to", f"http://127.0.0.1:{self.port}", "--job", self.job, "--state", self.folder / "state", stderr=log)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.terminate)
        return agent

    def log(self):
        return (self.folder / "agent.log").read_text()

    def rank(self, rank, of, *command, **more):
        return self.start(*command, **more, env={"PATH": os.environ["PATH"], "RANK": str(rank), "WORLD_SIZE": str(of), "TOCSIN_JOB": self.job, **self.meeting})

    meeting = {}

    def jobs(self):
        return [job for job in self.get("/api/v1/jobs") or [] if job["job"] == self.job]

    def events(self, name):
        """Of all recordings of the agent, with the attempts that they are of."""
        found = []
        for run in sorted(path for path in (self.folder / "state").iterdir() if path.is_dir()):
            lines = subprocess.run([TOCSIN, "export", run], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
            found += [event for event in map(json.loads, lines) if event.get("event") == name]
        return found

    def test_an_agent_that_is_started_again_goes_on_with_the_attempt(self):
        ranks = [self.rank(rank, 2, "sleep", 600) for rank in (0, 1)]
        agent = self.agent()
        first = wait_for(lambda: next((job for job in self.jobs() if job.get("ranks") == 2), None), 30, "the job")
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(60), 0)
        self.agent()
        ranks[1].kill()
        ranks[1].wait()
        wait_for(lambda: self.events("exit"), 30, "the end of a rank")
        ranks[0].kill()
        ranks[0].wait()
        wait_for(lambda: self.events("end"), 60, "the end of the job")
        attempts = {event["attempt"] for name in ("start", "member", "exit", "end") for event in self.events(name)}
        self.assertEqual(len(attempts), 1, attempts)
        self.assertEqual([event["rank"] for event in self.events("member")], [0, 1])
        self.assertEqual([event["rank"] for event in self.events("exit")], [1, 0])
        self.assertEqual(self.events("end")[0]["seen"], f"no process of the job is left on {socket.gethostname().split('.')[0]}")
        ended = wait_for(lambda: next((job for job in self.jobs() if job["state"] == "ended"), None), 30, "the end in the service")
        self.assertEqual(ended["attempt"], first["attempt"])

    def test_one_agent_uses_a_directory(self):
        self.agent()
        wait_for(lambda: (self.folder / "state" / "agent").exists(), 30, "the agent")
        for state, why in ((self.folder / "state", "another agent uses"), (pathlib.Path("/proc/none"), "cannot make the directory")):
            second = subprocess.run([TOCSIN, "node", "--to", f"http://127.0.0.1:{self.port}", "--job", self.job, "--state", state],
                                    stderr=subprocess.PIPE, text=True, check=False, timeout=60)
            self.assertEqual(second.returncode, 2)
            self.assertIn(why, second.stderr)
            self.assertIn("--state", second.stderr)

    def test_a_description_that_cannot_be_used_is_reported_and_the_agent_goes_on(self):
        damaged, unreadable = (self.folder / "state" / f"20260101T00000{second}Z-1" for second in (1, 2))
        damaged.mkdir(parents=True)
        (damaged / "node.json").write_text('{"by": 0, "job"')
        (unreadable / "node.json").mkdir(parents=True)
        (self.folder / "state" / "20260101T000003Z-1").mkdir()      # its job was recorded and sent to the end
        self.agent()
        self.rank(0, 1, "sleep", 600)
        wait_for(lambda: "tocsin: records job" in self.log(), 30, "the job")
        for run, why in ((damaged, "damaged"), (unreadable, "cannot open")):
            line, = (line for line in self.log().splitlines() if str(run) in line)
            self.assertIn(f"{run}/node.json", line)
            self.assertIn(why, line)
            self.assertIn(f"`tocsin forward {run} --to ADDRESS`", line)
        self.assertNotIn("20260101T000003Z-1", self.log())

    def test_a_shell_that_comes_to_start_a_launcher_gives_its_rank_back(self):
        (self.folder / "torchrun").write_text("#!/bin/sh\nRANK=0 WORLD_SIZE=4 LOCAL_RANK=0 sleep 600 &\nRANK=1 WORLD_SIZE=4 LOCAL_RANK=1 sleep 600 &\nwait\n")
        (self.folder / "torchrun").chmod(0o755)
        self.agent()
        shell = self.rank(0, 2, "sh", "-c", f"until [ -e {self.folder}/go ]; do sleep 0.2; done; {self.folder}/torchrun; true", start_new_session=True)
        self.addCleanup(os.killpg, shell.pid, signal.SIGKILL)
        wait_for(lambda: "tocsin: records job" in self.log(), 30, "the job")
        wait_for(lambda: self.events("member"), 30, "the shell")
        (self.folder / "go").touch()
        members = wait_for(lambda: found if len(found := self.events("member")) == 3 else None, 30, "the ranks")
        self.assertEqual([event["rank"] for event in members], [0, 0, 1])
        self.assertNotEqual(members[1]["pid"], shell.pid)
        self.assertEqual({event["attempt"] for event in members}, {members[0]["attempt"]})
        self.assertEqual(self.events("exit"), [])

    @unittest.skipUnless(os.geteuid() == 0, "processes of another user need root")
    def test_two_users_that_chose_one_name_have_a_job_each(self):
        first = self.rank(0, 2, "sleep", 600)
        agent = self.agent()
        wait_for(lambda: "tocsin: records job" in self.log(), 30, "the first job")
        second = self.rank(1, 2, "sleep", 600, user="nobody")
        wait_for(lambda: f"; as job {self.job}@nobody, since another job here has its name" in self.log(), 30, "the second job")
        first.kill()
        first.wait()
        agent.terminate()
        agent.wait(60)
        self.agent()        # which goes on with the second job under its name
        wait_for(lambda: len(self.events("end")) == 1, 60, "the end of the first job")
        members = {(event["job"], event["rank"], event["pid"]) for event in self.events("member")}
        self.assertEqual(members, {(self.job, 0, first.pid), (self.job + "@nobody", 1, second.pid)})
        names = [job["job"] for job in self.get("/api/v1/jobs")]
        self.assertEqual(sorted(names), [self.job, self.job + "@nobody"])
        self.assertEqual(self.log().count("tocsin: records"), 2)

    def test_the_agent_says_when_it_prints_no_more(self):
        for _ in range(260):
            self.rank(1, 1, "sleep", 600)
        self.agent()
        wait_for(lambda: "256 different messages were printed, further ones are not" in self.log(), 60, "the last line")
        self.assertEqual(self.log().count("has RANK=1 and WORLD_SIZE=1"), 256)

    def test_the_alert_names_the_rank_that_loops_and_where(self):
        if why := why_not_traced(PYTHON):
            self.skipTest(why)
        if not PY_SPY:
            self.skipTest("without py-spy a loop is taken for work for the first five minutes")
        self.meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        (self.folder / "train.py").write_text(TRAINING)
        self.agent()
        for rank in range(4):
            self.rank(rank, 4, PYTHON, self.folder / "train.py")
        alert = wait_for(lambda: next(iter(self.get(f"/api/v1/alerts?job={self.job}&state=firing") or []), None), 240, "an alert")
        self.assertEqual((alert["rule"], alert["who"]), ("collective_not_entered", [2]), alert)
        self.assertRegex(alert["form"]["seen"], r"; rank 2: spin \(train.py:[45]\); the others: all_reduce < <module> \(train.py:13\)$")
        self.assertIn(f"tocsin bundle {self.folder}/state/", alert["form"]["do"])


if __name__ == "__main__":
    unittest.main()
