"""Three real PyTorch jobs under `tocsin wrap --to kafka://…`, two of them with a fault, and what Prometheus answers to each query of the
dashboards about them: the data of the pictures, as one JSON file."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from demo_kafka import Chain  # noqa: E402
from tests.demo import dashboards  # noqa: E402

SECONDS = 420
DEVICE = 700    # ms a step waits for what stands for an accelerator: long, so that other work on the machine changes it little
# name, ranks, what goes wrong
JOBS = [("llm-pretrain", 4, ["--fault", "sigstop", "--rank", "2", "--at-seconds", "130", "--for", "70"]),
        ("vision", 2, ["--fault", "none"]),
        ("speech", 4, ["--fault", "slow_rank", "--rank", "1", "--at-seconds", "210"])]
SHOWN = "llm-pretrain"    # the job of the dashboard "job"
LOOKED_AT = "speech"      # at the end an alert of this one fires


def train(chain, name, ranks, fault):
    tocsin, kafka = chain.options.tocsin, chain.kafka.address
    command = [tocsin, "wrap", "--job", name, "--journal", chain.folder / f"journal-{name}", "--to", kafka, "--rules", chain.options.rules, "--",
               sys.executable, ROOT / "tests/training/faults.py", "--ranks", ranks, *fault, "--truth", chain.folder / f"{name}.json",
               "--", "--seconds", SECONDS + 400, "--device-ms", DEVICE]
    chain.program(f"wrap {name}", *command)


class Answers:
    """Of a Prometheus, about the time between two moments."""

    def __init__(self, url, begin, end, step):
        self.url, self.begin, self.end, self.step = url, begin, end, step

    def ask(self, path, **parameters):
        address = f"{self.url}/api/v1/{path}?" + urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters['query']}: {error.read().decode()}") from None

    def of(self, target, values):
        expression = dashboards.filled(target["expr"], values)
        if target.get("instant"):
            return self.ask("query", query=expression, time=self.end)
        return self.ask("query_range", query=expression, start=self.begin, end=self.end, step=self.step)


def answers(prometheus, begin, end):
    """By dashboard: for each panel a list with the answer to each of its queries."""
    of, found = Answers(prometheus, begin, end, 2), {}
    # As Grafana fills them in; it takes four scrapes at least, of those that the data source names (15 s).
    values = {"job_id": SHOWN, "rank": ".*", "instance": ".*", "__rate_interval": "1m"}
    for name, board in dashboards.boards().items():
        found[name] = {str(number): [of.of(target, values) for target in panel["targets"]]
                       for number, panel in enumerate(board["panels"]) if panel["type"] != "row"}
    return found


def wait(chain, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for one in chain.started:
            if hasattr(one, "alive"):
                one.alive()
        time.sleep(1)


def fires(chain):
    return [alert["labels"]["alertname"] for alert in chain.alertmanager.alerts(job_id=LOOKED_AT)]


def record(tocsin, file):
    with tempfile.TemporaryDirectory(prefix="tocsin-pictures-") as folder:
        chain = Chain(types.SimpleNamespace(tocsin=tocsin, rules=ROOT / "rules", stay=False), pathlib.Path(folder))
        try:
            chain.servers()
            begin = time.time()
            for job in JOBS:
                train(chain, *job)
            print(f"    {len(JOBS)} jobs train for {SECONDS} s: {', '.join(name for name, *_ in JOBS)}", flush=True)
            wait(chain, SECONDS)
            late = time.monotonic() + 300
            while not fires(chain):    # a busy machine takes longer
                if time.monotonic() > late:
                    raise AssertionError(f"no alert of {LOOKED_AT} fires")
                wait(chain, 2)
            wait(chain, 5)
            end = time.time()
            file.write_text(json.dumps({"begin": begin, "end": end, "values": {"Job": SHOWN}, "answers": answers(chain.prometheus.url, begin, end),
                                        "machine": subprocess.run(["uname", "-srm"], capture_output=True, text=True).stdout.strip()}))
        finally:
            chain.stop()
