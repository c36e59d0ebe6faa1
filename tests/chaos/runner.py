"""Runs scenarios: the same telemetry into an undisturbed cluster and a disturbed one for each scenario, and what they came to compared."""

import pathlib
import random
import shutil
import tempfile
import threading
import time
import traceback

from tests.chaos.cluster import Cluster, pause
from tests.chaos.telemetry import AFTER_THE_END, telemetry
from tests.servers.kafka import Kafka
from tests.servers.process import wait_for
from tests.service.service import tocsin

PATIENCE = 300  # seconds that a server may take to start, on a machine that is busy
ANSWER = 300     # seconds in which all is to be as it should be, once the undisturbed cluster is
LONG = 330       # seconds of telemetry that cannot come slower than they pass
MOST_BEHIND = 112    # seconds that the telemetry may be behind the clock at its end: jobs of a source two minutes behind are unobserved


class Result:
    """How a scenario went."""

    def __init__(self, name, seed, kills):
        self.name, self.seed, self.kills = name, seed, kills
        self.seconds = 0.0
        self.compared = {}     # alerts, verdicts, digests: how many
        self.notes, self.faults = {}, []

    def done(self):
        """What was done to the cluster."""
        return ", ".join(f"{what} {number}" for what, number in self.notes.items()) or "nothing"

    def line(self):
        compared = ", ".join(f"{number} {what}" for what, number in self.compared.items())
        return f"{self.name}: {'FAILED' if self.faults else 'passed'} in {self.seconds:.0f} s; {compared}; {self.done()}"


class Run:
    """Scenarios side by side, over one set of telemetry."""

    def __init__(self, scenarios, seed, kills=12, jobs=5, active=24, speed=0.75, reloads=True, keep=None):
        self.scenarios, self.seed, self.kills, self.jobs, self.speed, self.keep = scenarios, seed, kills, jobs, speed, keep
        self.reloads = reloads
        self.active = max([active] + [scenario.needs for scenario in scenarios.values()])
        self.jobs = jobs = max([jobs] + [scenario.jobs for scenario in scenarios.values()])
        self.spread = max(scenario.spread for scenario in scenarios.values())
        if self.active > LONG:
            self.speed = speed = 1.0
        falls_behind = self.active * (1 / speed - 1)
        self.lag = max(4, min([MOST_BEHIND - falls_behind] + [scenario.lag for scenario in scenarios.values()]))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tocsin-chaos-"))
        self.brokers, self.clusters, self.running = [], {}, {}
        self.results = {name: Result(name, seed, kills) for name in scenarios}
        self.calm_done = threading.Event()

    def run(self):
        begun = time.monotonic()
        try:
            self.start()
            self.feed()
            threads = [threading.Thread(target=self.guarded, args=(name, self.disturb), name=name) for name in self.scenarios]
            for thread in threads:
                thread.start()
            try:
                self.wait_for_calm()
            finally:
                self.calm_done.set()
                for thread in threads:
                    thread.join()
            calm = self.calm_outcome()
            for name in self.scenarios:
                self.guarded(name, lambda one: self.compare(one, calm))
                self.results[name].seconds = time.monotonic() - begun
        finally:
            self.close()
        return list(self.results.values())

    def guarded(self, name, act):
        """What goes wrong in one scenario is its fault, and no other's."""
        try:
            act(name)
        except Exception:     # noqa: BLE001: also of what the scenario starts
            self.results[name].faults.append(traceback.format_exc())

    def cluster(self, kafka, prefix, rules, **options):
        self.clusters[prefix] = Cluster(kafka, prefix, rules=rules, **options)
        return self.clusters[prefix]

    def start_broker(self):
        self.brokers.append(Kafka())
        self.brokers[-1].patience = PATIENCE
        return self.brokers[-1].start()

    def start(self):
        self.start_broker()
        rules = next((scenario.rules for scenario in self.scenarios.values() if scenario.rules), None)
        calm = self.cluster(self.brokers[0], "calm", rules)
        calm.instance()
        for name, scenario in self.scenarios.items():
            kafka = self.brokers[0]
            if scenario.own_broker:
                kafka = self.start_broker()
            draw = random.Random(f"{self.seed}/{name}")
            self.running[name] = scenario(self.cluster(kafka, name, rules, **scenario.options), draw, self.kills, self.calm_done.is_set, self.reloads)
            self.running[name].calm = calm
            self.running[name].begin()
        calm.until_judging()

    def feed(self):
        lines = self.folder / "telemetry.jsonl"
        lines.write_text("\n".join(telemetry(self.seed, round(time.time() - self.lag, 1), self.jobs, self.active, self.spread)) + "\n")
        journal = self.folder / "journal"
        made = tocsin("ingest", lines, "--to", journal, "--strict", "--quiet")
        if made.returncode != 0:
            raise AssertionError(made.stderr)
        for cluster in self.clusters.values():
            cluster.feed(journal, self.speed)
        self.all_verdicts = {f"job{number}" for number in range(self.jobs)}

    def disturb(self, name):
        one = self.running[name]
        one.disturb()
        one.end()

    def wait_for_calm(self):
        at_most = self.active / self.speed + AFTER_THE_END + ANSWER
        wait_for(lambda: pause(0.5) or self.all_verdicts <= self.clusters["calm"].verdicts(), at_most, "the verdicts of the undisturbed cluster")

    def finish(self, cluster):
        """Waits until it has what it must come to, then drains it."""
        wait_for(lambda: pause(0.3) or self.all_verdicts <= cluster.verdicts(), ANSWER, f"the verdicts of {cluster.prefix}")
        wait_for(lambda: pause(0.3) or cluster.shown() == cluster.served() == cluster.firing() != set(), 90,
                 f"the alerts that fire, and no others, at Alertmanager and in the API: of {cluster.prefix}")

    def calm_outcome(self):
        calm = self.clusters["calm"]
        self.finish(calm)
        calm.drain()
        outcome = calm.outcome()
        if differences := outcome.differences(calm.replayed(), "undisturbed", "replayed"):
            raise AssertionError("the undisturbed cluster is not what its log gives:\n" + "\n".join(differences))
        return outcome

    def compare(self, name, calm):
        one, cluster, result = self.running[name], self.clusters[name], self.results[name]
        result.notes = one.notes
        try:
            self.finish(cluster)
            one.check()
        except AssertionError as wrong:
            result.faults.append(f"{wrong}\n  fires: {sorted(cluster.firing())}\n  at Alertmanager: {sorted(cluster.shown())}\n"
                                 f"  in the API: {sorted(cluster.served())}\n"
                                 + "\n".join(f"  {instance.name}: {line}" for instance in cluster.instances.values() for line in instance.log[-8:]))
        cluster.drain()
        outcome = cluster.outcome()
        result.compared = {"alerts": sum(map(len, outcome.alerts.values())), "verdicts": sum(map(len, outcome.verdicts.values())),
                           "digests": len(outcome.digests)}
        result.faults += outcome.differences(cluster.replayed(), "disturbed", "replayed")
        result.faults += one.faults
        if one.strict:
            result.faults += outcome.differences(calm, "disturbed", "undisturbed")

    def close(self):
        for name, cluster in self.clusters.items():
            if self.keep:
                shutil.copytree(cluster.folder, pathlib.Path(self.keep, name), dirs_exist_ok=True)
                for instance in cluster.instances.values():
                    log = "\n\n".join("\n".join(log) for log in instance.logs)
                    pathlib.Path(self.keep, name, f"{instance.name}.log").write_text(log)
            cluster.close()
        for broker in self.brokers:
            broker.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
