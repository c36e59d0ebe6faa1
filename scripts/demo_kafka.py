#!/usr/bin/env python3
"""The chain with real servers: a PyTorch job of four ranks under `tocsin wrap --to kafka://…`, `tocsin run`, Alertmanager, Prometheus.

Stops a rank (SIGSTOP) until its alert is seen in Alertmanager and in Prometheus, lets it go on, and waits until the alert is resolved.
Ends all that it started, also on Ctrl-C. scripts/demo --kafka installs what it needs, builds, and runs it.
"""

import argparse
import ctypes
import importlib.util
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
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT)]

from tests.servers.alertmanager import Alertmanager  # noqa: E402
from tests.servers.kafka import Kafka, java  # noqa: E402
from tests.servers.process import program  # noqa: E402
from tests.servers.prometheus import Prometheus  # noqa: E402

JOB, RANK, RANKS = "demo", 2, 4
STEPS_BEFORE = 20     # enough to know how long a step of this job takes
PATIENCE = 240        # seconds for each thing that is waited for; a busy machine is slow
INSIDE = "TOCSIN_DEMO_INSIDE"
PR_SET_PDEATHSIG = 1


class Failed(Exception):
    """What did not come, or is missing, and the remedy."""


def say(line=""):
    print(line, flush=True)


class Progress:
    """A line that says what is waited for, and for how long: rewritten in a terminal, repeated every ten seconds elsewhere."""

    def __init__(self):
        self.terminal, self.width, self.next = sys.stdout.isatty(), 0, 0

    def show(self, what, seconds):
        if not self.terminal:
            if seconds >= self.next:
                self.next += 10
                say(f"    … {what} ({seconds:.0f} s)")
            return
        line = f"    … {what} ({seconds:.0f} s)"
        print("\r" + line.ljust(self.width), end="", flush=True)
        self.width = len(line)

    def done(self):
        if self.terminal and self.width:
            print("\r" + " " * self.width + "\r", end="", flush=True)


def wait_for(what, condition, alive=lambda: None, patience=PATIENCE):
    """The first true answer of `condition`. `alive` raises where there is no more use in waiting."""
    progress, begun = Progress(), time.monotonic()
    try:
        while True:
            if found := condition():
                return found
            alive()
            seconds = time.monotonic() - begun
            if seconds > patience:
                raise Failed(f"within {patience} s it did not come to this: {what}. Is this machine too busy?")
            progress.show(what, seconds)
            time.sleep(0.25)
    finally:
        progress.done()


def get_json(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


class Program:
    """A process whose output goes to a file, line by line to whoever asks, and which is ended with the demo."""

    def __init__(self, name, arguments, log):
        self.name, self.log, self.lines = name, log, []
        self.process = subprocess.Popen(list(map(str, arguments)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with open(self.log, "w", encoding="utf-8") as file:
            for line in self.process.stdout:
                file.write(line)
                file.flush()
                self.lines.append(line.rstrip("\n"))

    def find(self, pattern):
        """The first line that matches."""
        return next((found for line in list(self.lines) if (found := re.search(pattern, line))), None)

    def alive(self):
        if self.process.poll() is not None:
            self.reader.join(5)
            raise Failed(f"{self.name} ended with {self.process.returncode}; its last lines ({self.log}):\n" + "\n".join(self.lines[-10:]))

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(5)


def check_tools(tocsin):
    """Raises with the remedy where something is not there that this needs."""
    if not os.access(tocsin, os.X_OK):
        raise Failed(f"there is no program {tocsin}: scripts/demo --kafka builds it")
    if importlib.util.find_spec("torch") is None:
        raise Failed(f"{sys.executable} has no PyTorch: apt-get install python3-torch")
    program("prometheus-alertmanager", "prometheus-alertmanager")
    program("prometheus", "prometheus")
    java()


class Chain:
    """All that runs. What was started last is ended first."""

    def __init__(self, options, folder):
        self.options, self.folder, self.started = options, folder, []

    def start(self, one):
        self.started.append(one)
        one.start()
        return one

    def program(self, name, *arguments):
        one = Program(name, arguments, self.folder / f"{name.split()[-1]}.log")
        self.started.append(one)
        return one

    def stop(self):
        while self.started:
            one = self.started.pop()
            try:
                one.stop()
            except Exception as error:  # noqa: BLE001  the others are ended all the same
                say(f"    {type(one).__name__} did not end well: {error}")

    def servers(self):
        tocsin = self.options.tocsin
        say("==> Starting Kafka, Alertmanager, `tocsin run` and Prometheus")
        self.alertmanager = self.start(Alertmanager())
        self.kafka = self.start(Kafka())
        made = subprocess.run([tocsin, "topics", "create", "--kafka", self.kafka.address, "--partitions", "2"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        if made.returncode != 0:
            raise Failed(f"the topics could not be made: {made.stderr.strip()}")
        self.service = self.program("tocsin run", tocsin, "run", "--kafka", self.kafka.address, "--rules", self.options.rules, "--alertmanager",
                                    self.alertmanager.url, "--listen", "127.0.0.1:0", "--session-timeout", 10)
        port = wait_for("a port of tocsin run", lambda: self.service.find(r"serving on port (\d+)"), self.service.alive)[1]
        self.api = f"http://127.0.0.1:{port}"
        self.prometheus = self.start(Prometheus("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: tocsin\n"
                                                f"  static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n"))

    def addresses(self):
        say(f"""
    the alerts     {self.alertmanager.url}/#/alerts
    the figures    {self.prometheus.url}/graph?g0.expr=tocsin_job_steps_per_second&g0.tab=0
    the page       {self.api}/
    the engine     {self.api}/api/v1/jobs  {self.api}/api/v1/alerts  {self.api}/metrics
    the log        {self.kafka.address}
    what they print    {self.folder}
""")

    def train(self):
        # The job of a demo that stays goes on for a day.
        seconds = 86_400 if self.options.stay else 900
        command = [self.options.tocsin, "wrap", "--job", JOB, "--journal", self.folder / "journal", "--to", self.kafka.address, "--rules",
                   self.options.rules, "--", sys.executable, ROOT / "tests/training/launch.py", "--ranks", RANKS, "--", "--seconds", seconds]
        say("==> Training: tocsin wrap --to " + self.kafka.address + " -- python3 tests/training/launch.py --ranks 4")
        self.job = self.program("tocsin wrap", *command)

    def alive(self):
        self.service.alive()
        self.job.alive()

    # ---- what is seen where
    def figures(self):
        return next(iter(get_json(f"{self.api}/api/v1/jobs?job={JOB}")["data"]), {})

    def posted(self):
        """Alerts of the job about a standstill, at Alertmanager."""
        return [alert for alert in self.alertmanager.alerts(job_id=JOB) if alert["labels"].get("family", "").startswith("C")]

    def measured(self):
        return self.prometheus.query(f'tocsin_alert_firing{{job_id="{JOB}",family=~"C.*"}} == 1')

    def send(self, pid, number):
        """A signal to the rank, if it is the process that the launcher started."""
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            raise Failed(f"rank {RANK} (pid {pid}) has ended; see {self.job.log}") from None


def clock():
    return time.strftime("%H:%M:%S", time.gmtime())


def show_alert(alert):
    labels, notes = alert["labels"], alert["annotations"]
    say(f"    {labels['alertname']}, {labels['severity']}, family {labels['family']}" + (f", rank {labels['rank']}" if "rank" in labels else ""))
    for name in ("summary", "description", "culprits", "evidence", "action"):
        if name in notes:
            say(f"    {name + ':':13}" + notes[name].replace("\n", "\n" + " " * 17))


def run(chain):
    chain.servers()
    chain.train()
    chain.addresses()
    pid = int(wait_for(f"rank {RANK}", lambda: chain.job.find(rf"launch: started rank {RANK} of \d+ \(pid: (\d+)\)"), chain.alive)[1])
    wait_for(f"{STEPS_BEFORE} steps of the job, by /api/v1/jobs",
             lambda: chain.figures().get("step", 0) >= STEPS_BEFORE and not chain.posted(), chain.alive)

    chain.send(pid, signal.SIGSTOP)
    stopped = time.monotonic()
    say(f"{clock()}  rank {RANK} is stopped (SIGSTOP)")
    try:
        alert = wait_for("its alert in Alertmanager", chain.posted, chain.alive)[0]
        to_alert = time.monotonic() - stopped
        say(f"{clock()}  the alert is in Alertmanager, {to_alert:.0f} s after the fault")
        show_alert(alert)
        measured = wait_for("its alert in Prometheus", chain.measured, chain.alive)[0]["metric"]
        say(f"{clock()}  in Prometheus: tocsin_alert_firing{{job_id=\"{JOB}\", rule=\"{measured['rule']}\"}} 1, {time.monotonic() - stopped:.0f} s after the fault")
    finally:
        chain.send(pid, signal.SIGCONT)
    went_on = time.monotonic()
    say(f"{clock()}  rank {RANK} goes on (SIGCONT)")
    wait_for("the end of the alert in Alertmanager", lambda: not chain.posted(), chain.alive)
    to_resolved = time.monotonic() - went_on
    wait_for("the end of the alert in Prometheus", lambda: not chain.measured(), chain.alive)
    say(f"{clock()}  the alert is resolved, {to_resolved:.0f} s after the rank went on")
    figures = chain.figures()
    lost = figures.get("lost_gpu_seconds")
    if lost is not None:
        say(f"          so far the job lost {lost:.0f} GPU seconds; goodput {100 * figures['goodput']:.0f} %, by /api/v1/jobs")
    say(f"\n==> From the fault to the alert: {to_alert:.1f} s; from the end of the fault to the end of the alert: {to_resolved:.1f} s")
    if chain.options.stay:
        chain.addresses()
        say("    All of it stays until Ctrl-C.")
        while True:
            chain.alive()
            time.sleep(1)


def stop_on_signals():
    """The first SIGINT, SIGTERM or SIGHUP ends the demo in order; those that follow while it does so are for nothing."""
    def asked(number, _):
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt(number)
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, asked)


def in_a_session_of_its_own():
    """Runs this program again where no Ctrl-C reaches its servers, and passes the signals on to it alone: it ends them in their order."""
    child = subprocess.Popen([sys.executable, __file__, *sys.argv[1:]], env={**os.environ, INSIDE: "1"}, start_new_session=True,
                             preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM))
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, lambda number, _: child.poll() is None and child.send_signal(number))
    return child.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stay", action="store_true", help="leave all of it running until Ctrl-C")
    parser.add_argument("--rules", default=ROOT / "rules", type=pathlib.Path, metavar="DIR", help="rules (default: the shipped ones)")
    parser.add_argument("--tocsin", default=os.environ.get("TOCSIN", ROOT / "build/release/adapters/cli/tocsin"), type=pathlib.Path, metavar="PROGRAM")
    options = parser.parse_args()
    if INSIDE not in os.environ:
        try:
            check_tools(options.tocsin)
        except (Failed, AssertionError) as missing:
            print(f"error: {missing}", file=sys.stderr, flush=True)
            return 1
        return in_a_session_of_its_own()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tocsin-demo-"))
    chain = Chain(options, folder)
    stop_on_signals()
    status = 1
    try:
        run(chain)
        status = 0
    except KeyboardInterrupt as asked:
        status = 0 if options.stay and asked.args and asked.args[0] == signal.SIGINT else 130
        say("\n    stopping")
    except (Failed, AssertionError) as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
    finally:
        begun = time.monotonic()
        chain.stop()
        if status != 1:
            shutil.rmtree(folder, ignore_errors=True)
            say(f"    all that was started has ended ({time.monotonic() - begun:.0f} s)")
        else:
            print(f"what the programs printed is in {folder}", file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
