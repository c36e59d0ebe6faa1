"""A real Prometheus on a free loopback port, and promtool, for tests: Debian's package prometheus."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from alertmanager import free_port, wait_for


def promtool(*arguments, **more):
    """Runs promtool; returns the completed process with its output as text."""
    program = shutil.which("promtool")
    assert program, "promtool is not installed: apt-get install prometheus, or run scripts/test"
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120, **more)


class Prometheus:
    """One process. `with Prometheus(configuration) as server:` starts it and ends it."""

    def __init__(self, configuration, files=None):
        self.port = free_port()
        self.configuration = configuration
        self.files = files or {}          # name: text, beside the configuration
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        program = shutil.which("prometheus")
        assert program, "prometheus is not installed: apt-get install prometheus, or run scripts/test"
        self.folder = tempfile.TemporaryDirectory()
        base = pathlib.Path(self.folder.name)
        (base / "prometheus.yml").write_text(self.configuration)
        for name, text in self.files.items():
            (base / name).write_text(text)
        self.log = open(base / "log", "w+")
        self.process = subprocess.Popen(
            [program, f"--config.file={base}/prometheus.yml", f"--storage.tsdb.path={base}/data", f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        wait_for(self.ready, 60, f"Prometheus on port {self.port}")
        return self

    def ready(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise AssertionError(f"Prometheus ended with {self.process.returncode}: {self.log.read()}")
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def stop(self):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
            self.log.close()
            self.folder.cleanup()

    def query(self, expression):
        """The result of an instant query: [{"metric": …, "value": [time, text]}]."""
        address = f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)["data"]["result"]

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
