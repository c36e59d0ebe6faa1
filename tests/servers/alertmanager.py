"""A real Alertmanager for tests: Debian's package prometheus-alertmanager."""

import json
import urllib.request

from tests.servers.process import Server, program

CONFIGURATION = "route: {receiver: none, group_wait: 1s}\nreceivers: [{name: none}]\n"


class Alertmanager(Server):
    title = "Alertmanager"

    def __init__(self, port=None, configuration=CONFIGURATION, web=None):
        super().__init__(port)
        self.configuration = configuration
        self.web = web    # text of a web configuration: TLS, users

    def command(self):
        (self.folder / "alertmanager.yml").write_text(self.configuration)
        command = [program("prometheus-alertmanager", "prometheus-alertmanager"), f"--config.file={self.folder}/alertmanager.yml",
                   f"--storage.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="]
        if self.web:
            (self.folder / "web.yml").write_text(self.web)
            command.append(f"--web.config.file={self.folder}/web.yml")
        return command

    def alerts(self, **labels):
        """The alerts that are active and have these labels."""
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts?active=true", timeout=10) as answer:
            found = json.load(answer)
        return [alert for alert in found if labels.items() <= alert["labels"].items()]
