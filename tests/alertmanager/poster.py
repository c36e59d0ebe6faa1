"""The test program post_alerts as an object."""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.servers.process import wait_for  # noqa: E402, F401

PROGRAM = os.environ.get("POST_ALERTS", "build/release/tests/alertmanager/post_alerts")


class Poster:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def status(self):
        return json.loads(self("status"))

    def instance(self, index=0):
        return self.status()["instances"][index]

    def wait_until(self, condition, seconds=20):
        """Until the status fulfils a condition; returns it."""
        def asked():
            status = self.status()
            return status if condition(status) else None
        return wait_for(asked, seconds, "the status")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.stdout.close()
