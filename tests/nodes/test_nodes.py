"""One real job of eight ranks of PyTorch over gloo on four nodes, each under `wrap --to https://…`, judged by one service without Kafka.

A node loses its way to the service, the service is killed and started again, a rank on another node is stopped: it is one job, the alert names that
rank, also in a mail that a real SMTP server took, and the service's log has every line of every node. TOCSIN_NODES_CUT: for how many seconds the node is cut off (20; the clock of a job does not
wait for a log that is more than two minutes behind).
"""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import cluster

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.servers import mail  # noqa: E402
from tests.servers.process import wait_for  # noqa: E402

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
PYTHON = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
CUT = int(os.environ.get("TOCSIN_NODES_CUT", "20"))
NODES, A_NODE = 4, 2
ADDRESS = cluster.ADDRESS.format(254)
RANKS = """
import os, signal, subprocess, sys
node = int(sys.argv[1])
common = dict(os.environ, WORLD_SIZE="8", MASTER_ADDR=sys.argv[2], MASTER_PORT="29500", GLOO_SOCKET_IFNAME="eth0", OMP_NUM_THREADS="1")
ranks = [subprocess.Popen([sys.executable, *sys.argv[3:]], env=dict(common, RANK=str(2 * node + i), LOCAL_RANK=str(i))) for i in range(2)]
sys.exit(max(rank.wait() for rank in ranks))
"""
# Each rank says what it does until the file appears, so that the job ends when the test has seen enough.
TRAINING = """
import os, sys, time, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, go_on = dist.get_rank(), torch.ones(1)
step = 0
while go_on.item() > 0:
    step += 1
    dist.all_reduce(torch.ones(4))
    if rank == 0:
        go_on[0] = 0 if os.path.exists(sys.argv[1]) else 1
    dist.broadcast(go_on, 0)
    print(f"[rank {rank}] step {step} loss {2 + 1 / step:.4f}", flush=True)
    time.sleep(0.2)
print(f"[rank {rank}] training finished", flush=True)
"""


class Service:
    """`tocsin run` on the cluster's service address, with TLS and a token."""

    def __init__(self, nodes, folder):
        self.nodes, self.folder = nodes, pathlib.Path(folder)
        self.state = self.folder / "state"
        self.log = self.state / "tocsin/log"
        cert, key = cluster.certificate(folder)
        (self.folder / "token").write_text("a-token-for-tests\n")
        (self.folder / "tocsin.yml").write_text(
            f'http: {{listen: "{ADDRESS}:9464", certificate_file: "{cert}", key_file: "{key}", token_file: "{self.folder}/token"}}\n'
            'notify: {receivers: [{to: "smtp://localhost:2525/?to=oncall@site.example", severity: critical, group: 1s}]}\n')
        (self.folder / "mail").mkdir()
        subprocess.Popen(nodes.on_service(mail.PYTHON, mail.__file__, 2525, self.folder / "mail"), stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)    # ends with the cluster
        self.start()

    def start(self):
        self.lines = []
        command = self.nodes.on_service("env", "-u", "STATE_DIRECTORY", f"XDG_STATE_HOME={self.state}", TOCSIN, "run", "--config", self.folder / "tocsin.yml")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, args=(self.process.stderr,), daemon=True).start()
        wait_for(lambda: any("serving on port" in line for line in self.lines), 30, "the service")

    def read(self, pipe):
        with pipe:
            self.lines += iter(pipe.readline, "")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def get(self, path):
        """The data of an answer, asked from the service's own namespace."""
        done = subprocess.run(self.nodes.on_service("curl", "-sS", "--fail", "--cacert", self.folder / "cert.pem", "-H", "Authorization: Bearer a-token-for-tests",
                                                    f"https://{ADDRESS}:9464{path}"), stdout=subprocess.PIPE, text=True, check=False)
        return json.loads(done.stdout)["data"] if done.returncode == 0 else []

    def exported(self):
        """The records of the log, of all partitions."""
        for partition in sorted(self.log.glob("partition-*")):
            yield from exported(partition)


def exported(journal):
    done = subprocess.run([TOCSIN, "export", str(journal)], stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def lines_of(records):
    return collections.Counter((record.get("node"), record["t"], record["line"]) for record in records if "line" in record)


class TestNodes(unittest.TestCase):
    def test_a_job_over_four_nodes_is_one_job_whatever_happens_to_a_node_s_network_and_to_the_service(self):
        with tempfile.TemporaryDirectory(prefix="tocsin-nodes-") as folder:
            nodes = cluster.Cluster(NODES)
            self.addCleanup(nodes.close)
            folder = pathlib.Path(folder)
            service = Service(nodes, folder)
            (folder / "ranks.py").write_text(RANKS)
            (folder / "train.py").write_text(TRAINING)
            wraps = [self.wrap(nodes, folder, number) for number in range(NODES)]
            of_job = lambda: next(iter(service.get("/api/v1/jobs?job=train")), {})  # noqa: E731
            wait_for(lambda: of_job().get("ranks") == 8 and of_job().get("step", 0) > 20, 90, "eight ranks that train")

            nodes.cut_off(1)
            cut = time.monotonic()
            service.kill()
            rank = self.process_of(A_NODE * 2 + 1, folder)
            os.kill(rank, signal.SIGSTOP)
            service.start()
            time.sleep(max(0.0, cut + CUT - time.monotonic()))
            nodes.join_again(1)
            firing = wait_for(lambda: service.get("/api/v1/alerts?job=train&state=firing"), 60, "an alert")
            wait_for(lambda: mail.mails(folder / "mail"), 30, "a mail")
            os.kill(rank, signal.SIGCONT)
            self.assertEqual([(alert["rule"], alert["form"]["seen"].split(";")[0]) for alert in firing if alert["severity"] == "critical"],
                             [("rank_stopped", "stopped until it is continued: rank 5 on node2")])      # with py-spy the places follow
            wait_for(lambda: not service.get("/api/v1/alerts?job=train&state=firing"), 60 + CUT, "no alert")

            self.assertEqual([job["job"] for job in service.get("/api/v1/jobs")], ["train"])
            (folder / "stop").touch()
            self.assertEqual([wrap.wait(timeout=90) for wrap in wraps], [0] * NODES)
            verdict = wait_for(lambda: service.get("/api/v1/verdicts?job=train"), 200, "a verdict")
            self.assertEqual(len(verdict), 1)
            critical = [alert for alert in service.get("/api/v1/alerts?job=train") if alert["severity"] == "critical"]
            self.assertEqual([alert["rule"] for alert in critical], ["rank_stopped"])
            subjects = [one["Subject"].split(": ")[0] for one in mail.mails(folder / "mail")]
            self.assertEqual(subjects, ["[critical] train", "[resolved] train"])
            self.assertIn("rank 5 on node2", mail.mails(folder / "mail")[0]["Subject"])
            service.process.terminate()
            self.assertEqual(service.process.wait(timeout=30), 0)

            sent = lines_of(record for number in range(NODES) for record in exported(folder / f"journal{number}"))
            # An answer that the kill took away is sent again: its records are in the log twice, under their number, and count once.
            self.assertEqual(set(lines_of(service.exported())), set(sent))
            self.assertGreater(len(sent), 8 * 20)

    def wrap(self, nodes, folder, number):
        command = nodes.on(number, TOCSIN, "wrap", "--job", "train", "--nodes", NODES, "--journal", folder / f"journal{number}",
                           "--to", f"https://{ADDRESS}", "--token", folder / "token", "--ca", folder / "cert.pem", "--",
                           PYTHON, folder / "ranks.py", number, cluster.ADDRESS.format(1), folder / "train.py", folder / "stop")
        with open(folder / f"node{number}.err", "w", encoding="utf-8") as errors:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)

    @staticmethod
    def process_of(rank, folder):
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"RANK={rank}".encode() in (path / "environ").read_bytes().split(b"\0") and str(folder / "train.py").encode() in (path / "cmdline").read_bytes():
                    return int(path.name)
            except OSError:
                continue
        raise AssertionError(f"rank {rank} does not run")


if __name__ == "__main__":
    if not cluster.possible() or subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("skipped: network namespaces may not be made here, or PyTorch is missing")
        sys.exit(77)
    mail.needed()
    unittest.main()
