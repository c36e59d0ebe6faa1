"""Two nodes with a rank each, under `wrap --to`: the alert of the service says where both ranks are, and how to see the evidence."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.servers.process import free_port, wait_for  # noqa: E402
from tests.servers.service import TOCSIN, ServiceCase, why_not_traced  # noqa: E402

PYTHON = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
os.environ["PATH"] += f":{ROOT}/build/tools/bin"
PY_SPY = shutil.which("py-spy")
TRAINING = """
import time, torch, torch.distributed as dist
def fetch_a_batch():
    time.sleep(600)
torch.set_num_threads(1)
dist.init_process_group("gloo")
for step in range(60):
    dist.all_reduce(torch.ones(4))
    time.sleep(0.1)
if dist.get_rank() == 1:
    fetch_a_batch()
dist.all_reduce(torch.ones(4))
"""


class TestEvidence(ServiceCase):
    def setUp(self):
        super().setUp()
        self.meet = free_port()
        (self.folder / "train.py").write_text(TRAINING)

    def node(self, number):
        variables = {"RANK": str(number), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.meet)}
        node = self.start("unshare", "--uts", "sh", "-c", f'hostname node{number}; exec "$@"', "sh", TOCSIN, "wrap", "--job", "train", "--nodes", 2,
                   "--journal", self.folder / f"journal{number}", "--to", f"http://127.0.0.1:{self.port}", "--", "env",
                   *(f"{name}={value}" for name, value in variables.items()), PYTHON, self.folder / "train.py")
        self.addCleanup(node.wait)
        self.addCleanup(node.terminate)

    def test_the_alert_says_where_the_ranks_of_both_nodes_are_and_where_the_evidence_is(self):
        self.node(0)
        self.node(1)
        alert = wait_for(lambda: next(iter(self.get("/api/v1/alerts?job=train&state=firing")), None), 90, "an alert")
        self.assertEqual((alert["rule"], alert["who"]), ("collective_not_entered", [1]), alert)
        form, journal = alert["form"], self.folder / "journal1"
        self.assertIn("; rank 1: ", form["seen"])
        if PY_SPY:
            self.assertRegex(form["seen"], r"; rank 1: fetch_a_batch \(train.py:4\).*; the others: all_reduce < <module> \(train.py:12\)$")
        self.assertIn(f"tocsin bundle {journal}", form["do"])
        self.assertIn("on node1", form["do"])
        shown = subprocess.run([TOCSIN, "bundle", journal], stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn("stacks.txt", shown.stdout)


def why_not():
    if subprocess.run(["unshare", "--uts", "hostname", "node0"], capture_output=True, check=False).returncode != 0:
        return "host names may not be set here"
    return why_not_traced(PYTHON)


if __name__ == "__main__":
    if why := why_not():
        print("SKIPPED:", why)
        sys.exit(77)
    unittest.main()
