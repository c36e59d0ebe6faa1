"""A real Prometheus and promtool for tests: Debian's package prometheus."""

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from tests.servers.process import Server, program


def promtool(*arguments, **more):
    """Runs promtool; returns the completed process with its output as text."""
    return subprocess.run([program("promtool", "prometheus"), *map(str, arguments)], capture_output=True, text=True, timeout=120, **more)


class Prometheus(Server):
    title = "Prometheus"

    def __init__(self, configuration, files=None):
        super().__init__()
        self.configuration = configuration
        self.files = files or {}    # name: text, beside the configuration

    def command(self):
        (self.folder / "prometheus.yml").write_text(self.configuration)
        for name, text in self.files.items():
            (self.folder / name).write_text(text)
        return [program("prometheus", "prometheus"), f"--config.file={self.folder}/prometheus.yml",
                f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{self.port}"]

    def ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def query(self, expression):
        """The result of an instant query: [{"metric": …, "value": [time, text]}]."""
        address = f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)["data"]["result"]
