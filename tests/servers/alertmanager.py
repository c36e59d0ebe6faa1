"""A real Alertmanager on a free loopback port, for tests: Debian's package prometheus-alertmanager."""

import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

PROGRAM = "prometheus-alertmanager"
CONFIGURATION = "route: {receiver: none, group_wait: 1s}\nreceivers: [{name: none}]\n"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, seconds=20, what="what is waited for"):
    """Returns the first true answer of `condition`, asked again until the time is over."""
    end = time.monotonic() + seconds
    while True:
        if answer := condition():
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come within {seconds} s")
        time.sleep(0.05)


class Alertmanager:
    """One process. `with Alertmanager() as server:` starts it and ends it; restart() keeps its port and nothing else."""

    def __init__(self, port=None, configuration=CONFIGURATION, web=None):
        self.port = port or free_port()
        self.configuration = configuration
        self.web = web                    # text of a web configuration: TLS, users
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        program = shutil.which(PROGRAM)
        assert program, f"{PROGRAM} is not installed: apt-get install prometheus-alertmanager, or run scripts/test"
        self.folder = tempfile.TemporaryDirectory()
        base = pathlib.Path(self.folder.name)
        (base / "alertmanager.yml").write_text(self.configuration)
        command = [program, f"--config.file={base}/alertmanager.yml", f"--storage.path={base}/data",
                   f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="]
        if self.web:
            (base / "web.yml").write_text(self.web)
            command.append(f"--web.config.file={base}/web.yml")
        self.log = open(base / "log", "w+")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        wait_for(self.listens, 30, f"Alertmanager on port {self.port}")
        return self

    def listens(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise AssertionError(f"Alertmanager ended with {self.process.returncode}: {self.log.read()}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
            self.log.close()
            self.folder.cleanup()

    def restart(self):
        self.stop()
        self.start()

    def alerts(self, **labels):
        """The alerts that are active and have these labels."""
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts?active=true", timeout=10) as answer:
            found = json.load(answer)
        return [alert for alert in found if labels.items() <= alert["labels"].items()]

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
