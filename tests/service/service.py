"""What the tests of the service share: the program, its topics, its instances, and jobs whose records go to a broker."""

import atexit
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.servers.kafka import Kafka  # noqa: E402
from tests.servers.process import wait_for  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOCSIN = os.environ.get("TOCSIN", str(ROOT / "build/release/adapters/cli/tocsin"))
HERE = pathlib.Path(__file__).resolve().parent


def tocsin(*arguments, **options):
    return subprocess.run([TOCSIN, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, **options)


_broker = None


def broker():
    """The broker of all tests of a run."""
    global _broker
    if _broker is None:
        _broker = Kafka().start()
        atexit.register(_broker.stop)
    return _broker


def rules_with_quiet(folder):
    """The shipped rules, and one that answers fast."""
    rules = pathlib.Path(folder, "rules")
    shutil.copytree(ROOT / "rules", rules)
    shutil.copy(HERE / "quiet.lua", rules)
    return rules


def small_rules(folder):
    """What reads the lines of job.py, and the rule of quiet.lua: its cases take no time."""
    rules = pathlib.Path(folder, "rules")
    rules.mkdir()
    shutil.copytree(ROOT / "rules" / "progress", rules / "progress")
    for name in ("signals.lua", "verdict.lua"):
        shutil.copy(ROOT / "rules" / name, rules)
    shutil.copy(HERE / "quiet.lua", rules)
    return rules


def topic(address, name):
    """What is committed in a topic, in the order of each partition."""
    done = tocsin("topics", "read", name, "--kafka", address)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


class Instance:
    """`tocsin run`, and what it logs."""

    def __init__(self, address, rules, name="a", session=6, more=(), config=None):
        self.arguments = [TOCSIN, "run"]
        if config:
            self.arguments += ["--config", str(config)]
        else:
            self.arguments += ["--kafka", address, "--rules", str(rules), "--group", address.split("/")[-1], "--instance", name,
                               "--session-timeout", str(session),
                               "--listen", "127.0.0.1:0", *more]
        self.start()

    def start(self):
        self.log = []
        self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.reading = threading.Thread(target=self.read, args=(self.log, self.process.stderr), daemon=True)
        self.reading.start()

    @staticmethod
    def read(log, lines):
        with lines:
            for line in lines:
                log.append(line.rstrip("\n"))

    def partitions(self):
        """Those that it has now, by its log."""
        mine = set()
        for line in list(self.log):
            if found := re.match(r"(?:tocsin: |.* message=\")partition (\d+): (judging|given back|lost)", line):
                (mine.add if found[2] == "judging" else mine.discard)(int(found[1]))
        return mine

    def get(self, path, method="GET", port=None):
        """What its server answers: status and text; 0 where there is none."""
        port = port or wait_for(lambda: next((found[1] for line in list(self.log) if (found := re.search(r"serving on port (\d+)", line))), None), 20, "a port")
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except urllib.error.URLError as error:
            return 0, str(error)

    def data(self, name):
        """What its API has of this name."""
        return json.loads(self.get("/api/v1/" + name)[1])["data"]

    def metrics(self):
        return dict(line.rsplit(" ", 1) for line in self.get("/metrics")[1].splitlines() if not line.startswith("#"))

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self):
        """Drains; its exit code."""
        return self.end(signal.SIGTERM)

    def end(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the instance did not end:\n" + "\n".join(self.log[-20:])) from None
        return code


class Job:
    """A job under `wrap --to`, and what its journal says when it is judged there."""

    def __init__(self, address, rules, name, phases, folder):
        self.name, self.rules, self.journal = name, rules, pathlib.Path(folder, "journal-" + name)
        self.process = subprocess.Popen(
            [TOCSIN, "wrap", "--job", name, "--journal", self.journal, "--to", address, "--rules", rules, "--",
             sys.executable, str(HERE / "job.py"), *map(str, phases)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, RANK="0", WORLD_SIZE="1"))

    def wait(self):
        self.printed = self.process.communicate(timeout=180)[1]
        return self.process.returncode

    def replayed(self):
        """Alerts and verdicts of a replay, as lines of JSON."""
        done = tocsin("replay", self.journal, "--quiet", "--alerts", "-")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return [line for line in done.stdout.splitlines() if line.startswith("{")]


def recorded(place, name):
    """What an undisturbed engine makes of the same log: the job's partition as a journal, replayed."""
    journal = pathlib.Path(place.folder, "recorded-" + name)
    shutil.rmtree(journal, ignore_errors=True)
    for done in (tocsin("record", "--kafka", place.address, "--job", name, journal), tocsin("replay", journal, "--quiet", "--alerts", "-")):
        if done.returncode != 0:
            raise AssertionError(done.stderr)
    return of_job([line for line in done.stdout.splitlines() if line.startswith("{")], name)


def of_job(lines, name):
    return [line for line in lines if json.loads(line)["subject"] == name]


def while_it_runs(lines):
    """The transitions that the rules decided while the job ran: what closes at the end comes two minutes after it."""
    return [line for line in lines if "verdict" not in json.loads(line) and json.loads(line)["reason"] != "attempt ended"]


class Workplace:
    """A folder with rules, and what is started in it, which ends with it."""

    def __init__(self, kafka, prefix, partitions=3, rules=rules_with_quiet):
        self.folder = tempfile.mkdtemp(prefix="tocsin-service-")
        self.rules = rules(self.folder)
        self.address = f"{kafka.address}/{prefix}"
        self.started = []
        made = tocsin("topics", "create", "--kafka", self.address, "--partitions", partitions)
        if made.returncode != 0:
            raise AssertionError(made.stderr)

    def instance(self, name="a", **options):
        self.started.append(Instance(self.address, self.rules, name, **options))
        return self.started[-1]

    def job(self, name, *phases):
        self.started.append(Job(self.address, self.rules, name, phases, self.folder))
        return self.started[-1]

    def close(self):
        for one in self.started:
            if one.process.poll() is None:
                one.process.kill()
                one.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
