"""A service without Kafka, `tocsin run` on a log of its own, for tests of what reports to it."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import urllib.request

from tests.servers.process import free_port, wait_for

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")


class ServiceCase(unittest.TestCase):
    """Each test has a service and a folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tocsin-service-")
        self.addCleanup(folder.cleanup)
        self.folder, self.port = pathlib.Path(folder.name), free_port()
        (self.folder / "tocsin.yml").write_text(f'http: {{listen: "127.0.0.1:{self.port}"}}\nlog: {{directory: {self.folder}/log}}\n')
        self.start(TOCSIN, "run", "--config", self.folder / "tocsin.yml")
        wait_for(lambda: self.get("/api/v1/jobs") is not None, 60, "the service")

    def start(self, *command, **more):
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def get(self, path):
        """The data of an answer of the API; None: there is none yet."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None


def why_not_traced(python):
    """Why no training of PyTorch can be traced here; None: it can."""
    if subprocess.run([python, "-c", "import torch.distributed"], capture_output=True, check=False).returncode != 0:
        return "there is no PyTorch here (python3-torch)"
    probe = subprocess.run([os.environ["TRACE_PROBE"]], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return json.loads(probe.stdout.splitlines()[0]).get("error")
