"""What is done to a cluster while it judges. A scenario is a class: `disturb` runs on a thread of its own until the telemetry is over."""

import re
import signal
import time

from tests.chaos.cluster import SESSION, pause
from tests.servers.process import wait_for

POINTS = ("begin", "produced", "offsets", "commit", "committed", "post", "posted")
ENDED_BY_ITSELF = 3    # an exit status that says: start it again


class Scenario:
    """With `strict`, the disturbed cluster must come to what the undisturbed one comes to; each must come to what a replay of its own log
    gives."""

    names = ("a",)           # of the instances to begin with
    strict = True
    own_broker = False       # it disturbs the broker
    needs = 0                # seconds for which jobs make steps, at least
    lag = 104                # seconds that its telemetry is behind the clock at first: so a verdict need not be waited for as long as jobs do
    rules = None             # small ones; or "shipped"
    spread = 0.25            # of the time in which jobs make steps: when they begin
    jobs = 0                 # that have an end, at least
    options = {}             # of the cluster

    def __init__(self, cluster, draw, kills, over, reloads=True):
        self.cluster, self.draw, self.kills, self.over, self.reloads = cluster, draw, kills, over, reloads
        self.notes = {}      # what is reported of it: a word, a number
        self.faults = []     # a line each
        self.rule_files = 0
        self.calm = None     # the undisturbed cluster

    def begin(self):
        for name in self.names:
            self.cluster.instance(name)

    def disturb(self):
        raise NotImplementedError

    def end(self):
        """All is as it should be again, and somebody judges."""
        self.start_again()
        self.cluster.until_judging()

    def check(self):
        """Behind the end: what else must be so; adds to `faults`."""

    # ---- what scenarios do

    def count(self, what, number=1):
        self.notes[what] = self.notes.get(what, 0) + number

    def pause(self, shortest, longest):
        pause(self.draw.uniform(shortest, longest), self.over)

    def start_again(self):
        """Those of the first instances that have ended, as an operator's supervisor would."""
        for name in self.names:
            one = self.cluster.instances.get(name)
            if one and not one.lives() and one.process.returncode not in (-signal.SIGKILL, 0):
                self.ended_by_itself(one)
            self.cluster.instance(name)

    def ended_by_itself(self, one):
        one.reading.join(5)     # its last line may still be on its way
        code = one.process.returncode
        if code == ENDED_BY_ITSELF:
            self.count("ended by themselves (exit status 3)")
        elif one.aborted_by_librdkafka():
            self.count("aborted by librdkafka")
        else:
            self.faults.append(f"{one.name} ended with {code}: {one.log[-1:]}")

    def kill(self, one):
        one.kill()
        self.count("killed")

    def reload(self, surely=False):
        """The same rules in another pack, by a file that all instances watch; now and then."""
        if not surely and (not self.reloads or self.draw.random() > 0.5):
            return
        self.rule_files += 1
        file = self.cluster.rules / "chaos.lua"
        text = re.sub(r"^-- Version \d+\n", "", file.read_text())
        beside = file.with_suffix(".new")
        beside.write_text(f"-- Version {self.rule_files}\n{text}")
        beside.rename(file)
        self.count("reloads")


class Kill(Scenario):
    """SIGKILL at random moments; started again at once, or when its session is over."""

    def disturb(self):
        while not self.over() and self.notes.get("killed", 0) < self.kills:
            self.pause(0.3, 6)
            self.reload()
            one = self.cluster.instance("a")
            self.kill(one)
            self.pause(0, self.draw.choice([0, 0, 0, SESSION + 2]))
            self.start_again()


class Young(Scenario):
    """SIGKILL every few seconds while jobs are young, of one instance. Sections are taken as seldom as by default, and few jobs have neighbours:
    a restart that reads back for another job would find what it lost of this one."""

    options = {"partitions": 8, "save_every": "4m"}
    spread, jobs = 0.6, 8

    def disturb(self):
        while not self.over() and self.notes.get("killed", 0) < self.kills:
            self.pause(0.2, self.draw.choice([1.2, 3]))
            self.kill(self.cluster.instances[self.draw.choice(self.names)])
            self.pause(0, self.draw.choice([0, 0, 0, 0.5]))
            self.start_again()


class YoungTwo(Young):
    """The same of two instances."""

    names = ("a", "b")


class Points(Scenario):
    """SIGKILL at each named point of the work with broker and Alertmanager in turn."""

    names = ()

    def begin(self):
        self.reached = dict.fromkeys(POINTS, 0)
        self.next()

    def next(self):
        """One that was reached least often. Of posts only while there is something to post."""
        possible = POINTS if self.cluster.firing() else [point for point in POINTS if not point.startswith("post")]
        least = min(self.reached[point] for point in possible)
        self.point = self.draw.choice([point for point in possible if self.reached[point] == least])
        one = self.cluster.instances.get("a") or self.cluster.instance("a")
        if one.lives():
            one.kill()           # the first one, which has no point yet
        # Its first transactions say that it has the partitions; to be killed in those alone, it would come no further.
        most = 3 if self.point.startswith("post") else 9
        one.point = f"{self.point}:{self.draw.randint(1, most)}:{int(signal.SIGKILL)}"
        self.cluster.instance("a")

    def disturb(self):
        while not self.over() and self.notes.get("killed", 0) < self.kills:
            one = self.cluster.instance("a")
            pause(20, lambda: self.over() or not one.lives())
            if one.lives():
                if not self.over():
                    self.count(f"not reached: {self.point}")
                one.kill()
            elif one.mark.exists():
                self.count("killed")
                self.count(f"at {self.point}")
                self.reached[self.point] += 1
            else:
                self.ended_by_itself(one)
            self.reload()
            if not self.over():
                self.next()

    def end(self):
        one = self.cluster.instances["a"]
        one.kill()
        one.point = None
        self.cluster.instance("a")
        self.cluster.until_judging()


class Group(Scenario):
    """One to four instances that join and leave every few seconds, some of them by SIGKILL."""

    everyone = ("a", "b", "c", "d")

    def disturb(self):
        while not self.over():
            self.pause(2, 4)
            self.reload()
            here = [one for one in self.cluster.instances.values() if one.lives()]
            if len(here) < 4 and (len(here) == 1 or self.draw.random() < 0.5):
                self.cluster.instance(self.draw.choice([name for name in self.everyone if name not in {one.name for one in here}]))
                self.count("joined")
            elif self.draw.random() < 0.3 and self.notes.get("killed", 0) < self.kills:
                self.kill(self.draw.choice(here))
            else:
                one = self.draw.choice(here)
                one.stop()
                if one.process.returncode != 0:
                    self.ended_by_itself(one)
                self.count("left")
            if not any(one.lives() for one in self.cluster.instances.values()):
                self.cluster.instance(self.draw.choice(self.everyone))


class Zombie(Scenario):
    """One of two instances is stopped within a transaction until others have its partitions, and wakes."""

    names = ("a", "b")

    def begin(self):
        super().begin()
        self.cluster.until_judging()
        self.stop_next(self.cluster.instances["a"])

    def stop_next(self, one):
        one.kill()
        one.point = f"{self.draw.choice(('produced', 'offsets'))}:{self.draw.randrange(2, 5)}:{int(signal.SIGSTOP)}"
        self.cluster.instance(one.name)

    def disturb(self):
        one, other = self.cluster.instances["a"], self.cluster.instances["b"]
        while not self.over() and self.notes.get("stopped", 0) < max(1, self.kills // 4):
            pause(30, lambda: one.mark.exists() or self.over())
            if not one.mark.exists():
                continue
            self.count("stopped")
            wait_for(lambda: other.partitions() == set(range(self.cluster.partitions)), 60, "all partitions at the other instance")
            self.pause(1, 3)
            self.reload()
            lines, posts = len(one.log), len(one.proxy.requests)
            woken = time.monotonic()
            one.signal(signal.SIGCONT)
            again = lambda: any("judging from" in line for line in one.log[lines:])  # noqa: E731
            pause(30, lambda: again() or not one.lives())
            until = time.monotonic() - 0.1 if again() else time.monotonic()
            if not one.lives():
                self.ended_by_itself(one)
            posted = [request for request in one.proxy.requests[posts:] if woken < request[0] < until]
            if posted:
                self.faults.append(f"a zombie posted {posted[0][2][:1]} {posted[0][0] - woken:.2f} s after it woke")
            self.pause(1, 3)
            if not self.over():
                self.stop_next(one)

    def end(self):
        one = self.cluster.instances["a"]
        one.signal(signal.SIGCONT)
        one.kill()
        one.point = None
        super().end()
        if not self.notes.get("stopped"):
            self.faults.append("no transaction was there to stop in")


class Slow(Scenario):
    """A consumer at half speed: it is stopped for half of each fifth of a second."""

    def disturb(self):
        one = self.cluster.instances["a"]
        while not self.over():
            one.signal(signal.SIGSTOP)
            time.sleep(0.1)
            one.signal(signal.SIGCONT)
            time.sleep(0.1)
            self.count("stops")
            if self.notes["stops"] % 100 == 0:
                self.reload()


class Broker(Scenario):
    """The broker is restarted, and killed."""

    own_broker = True
    strict = False           # nobody could write a beat meanwhile: its log has gaps, and silence in a gap is nobody's
    lag = 45                 # its log stands still meanwhile, and a source more than two minutes behind is unobserved
    longest = 0              # seconds of one absence at the end

    def disturb(self):
        self.disturb_often()
        if self.longest:
            self.cluster.kafka.end(signal.SIGKILL)
            self.count("seconds away", self.longest)
            pause(self.longest)
            self.cluster.kafka.start()
            self.start_again()

    def disturb_often(self):
        while not self.over() and self.notes.get("killed", 0) + self.notes.get("restarted", 0) < max(2, self.kills // 8):
            self.pause(4, 10)
            self.reload()
            way = self.draw.choice(("killed", "restarted"))
            self.cluster.kafka.end(signal.SIGKILL if way == "killed" else signal.SIGTERM)
            self.count(way)
            pause(self.draw.choice((0, 3)))
            self.cluster.kafka.patience = 300
            self.cluster.kafka.start()
            self.start_again()


class LongBroker(Broker):
    """The same, and at the end the broker is away for longer than a transaction waits for it."""

    longest = 130


class Manager(Scenario):
    """Alertmanager is down, slow, answers 400 and 500, and starts again without its memory."""

    lasting = (3, 6)

    def disturb(self):
        proxy = self.cluster.instances["a"].proxy
        ways = ["down", 500, 400, ("slow", 1.0), ("slow", 3.0), "empty"]
        self.draw.shuffle(ways)
        while not self.over():
            way = ways[self.notes.get("disturbances", 0) % len(ways)]
            self.count("disturbances")
            if way == "empty":
                self.cluster.manager.restart()
            else:
                proxy.mode = way
            self.pause(*self.lasting)
            proxy.mode = "pass"
            self.reload()
            self.pause(1, 3)

    def end(self):
        self.cluster.instances["a"].proxy.mode = "pass"
        super().end()


class LongManager(Manager):
    """Alertmanager is down for five minutes, slow for five minutes, and answers 400 and 500 for a minute and a half each."""

    plan = (("down", 300), (("slow", 1.0), 150), (("slow", 3.0), 150), (400, 90), (500, 90), ("empty", 30))
    needs = 840

    def disturb(self):
        proxy = self.cluster.instances["a"].proxy
        for way, seconds in self.plan:
            if way == "empty":
                self.cluster.manager.restart()
            else:
                proxy.mode = way
            requests = len(proxy.requests)
            pause(seconds, self.over)
            self.count(f"seconds {way if isinstance(way, (str, int)) else 'slow'}", seconds)
            self.count("posts meanwhile", len(proxy.requests) - requests)
            proxy.mode = "pass"
            self.reload()
            self.pause(1, 3)
