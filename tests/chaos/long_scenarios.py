"""Scenarios that take minutes, or need more than signals."""

import json
import pathlib
import signal
import time

from tests.chaos.cluster import pause
from tests.chaos.scenarios import LongBroker, LongManager, Scenario
from tests.servers.process import Missing, wait_for
from tests.service.service import topic

FAKETIME = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


class Clock(Scenario):
    """The wall clock of an instance steps by 30 s, forwards and backwards."""

    def begin(self):
        if not FAKETIME:
            raise Missing("libfaketime is not installed: apt-get install libfaketime")
        self.file = self.cluster.folder / "clock"
        self.step("+0")
        self.cluster.environment = {"LD_PRELOAD": str(FAKETIME[0]), "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1",
                                    "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        super().begin()

    def step(self, offset):
        beside = self.file.with_suffix(".new")
        beside.write_text(f"{offset}\n")
        beside.rename(self.file)

    def disturb(self):
        while not self.over():
            self.pause(2, 5)
            self.step(self.draw.choice(["+30", "-30", "+0"]))
            self.count("steps")
            self.reload()

    def end(self):
        self.step("+0")
        super().end()


class Ingest(Scenario):
    """What writes the telemetry stands still for three minutes: no silence is judged, as nobody can know of one."""

    strict = False           # in that time the jobs are unobserved, which the undisturbed ones are not
    lag, needs = 20, 90

    def silences(self):
        return [line for line in topic(self.cluster.address, "alerts")
                if (one := json.loads(line))["rule"] == "quiet" and one["state"] == "firing"]

    def disturb(self):
        pause(40, self.over)
        stopped = time.time()
        self.cluster.feeding.send_signal(signal.SIGSTOP)
        pause(5)         # what was sent before is judged
        before = self.silences()
        pause(175)
        self.faults += [f"a silence was reported while nobody could know of one: {line[:300]}" for line in self.silences() if line not in before]
        self.cluster.feeding.send_signal(signal.SIGCONT)
        self.count("seconds without ingest", round(time.time() - stopped))
        self.reload()


class State(Scenario):
    """The topic of the state takes nothing for a while."""

    own_broker = True        # its commands take a while, and the others go on

    def alter(self, *how):
        self.cluster.kafka.java("kafka.admin.ConfigCommand", "--bootstrap-server", self.cluster.broker, "--alter", "--entity-type", "topics",
                                "--entity-name", f"{self.cluster.prefix}.state", *how)

    def disturb(self):
        self.pause(3, 6)
        self.alter("--add-config", "max.message.bytes=160")
        self.count("times full")
        self.pause(8, 12)
        self.reload()
        self.alter("--delete-config", "max.message.bytes")
        self.start_again()


class Reload(Scenario):
    """Two hundred reloads, eighty a minute: nothing is lost or judged twice, and memory does not grow with their number."""

    needs, rules = 190, "added"
    reloads_a_minute, times = 80, 200
    more, grows = 1.5, 1.2      # than an instance that judges the same without reloads; from the middle of the reloads to the last

    def disturb(self):
        one = self.cluster.instances["a"]
        pause(15, self.over)
        after = time.monotonic()
        changed = 0
        for number in range(self.times):
            if self.over():
                break
            if number == self.times // 2:
                self.middle = one.resident()
            self.reload(surely=True)
            try:
                status, text = one.get("/-/reload", "POST")
            except TimeoutError:       # it goes on, at a lower priority than all else on the machine
                self.count("answers after more than a minute")
                continue
            if status != 200:
                self.faults.append(f"reload {number} answered {status}: {text[:300]}")
            elif json.loads(text)["data"]["changed"]:
                changed += 1
            after += 60 / self.reloads_a_minute
            pause(after - time.monotonic())
        last, calm = one.resident(), self.calm.instances["a"].resident()
        pause(60)
        self.notes["answered as changed"] = changed
        for what, size in (("behind half of them", self.middle), ("behind the last", last), ("without reloads", calm), ("a minute later", one.resident())):
            self.notes["MiB " + what] = round(size)
        if last > self.more * calm + 20:
            self.faults.append(f"{last:.0f} MiB behind the last reload, {calm:.0f} without reloads")
        if last > self.grows * self.middle:
            self.faults.append(f"memory grew from {self.middle:.0f} to {last:.0f} MiB in the second half of the reloads")


LONG = {"long-broker": LongBroker, "long-manager": LongManager, "clock": Clock, "ingest": Ingest, "state": State, "reload": Reload}
