"""What a running process needs, and what `tocsin run` reports of itself meanwhile."""

import collections
import pathlib
import re
import subprocess
import threading
import time


def cpu_by_thread(pid):
    """Seconds of CPU of each thread that lives, by its id: (name, seconds)."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            found[int(task.name)] = ((task / "comm").read_text().strip(), int((task / "schedstat").read_text().split()[0]) / 1e9)
        except OSError:
            continue    # it has just ended
    return found


def kind_of(name):
    """Of a thread: librdkafka's own are the client, all others the engine."""
    return "client" if name.startswith("rdk:") else "engine"


class Cpu:
    """CPU time of a process from here on."""

    def __init__(self, pid):
        self.pid, self.before, self.begun = pid, cpu_by_thread(pid), time.monotonic()

    def spent(self):
        """Seconds by kind, all of them together as "all", and the busiest thread of the engine as "busiest"."""
        spent = collections.Counter()
        for thread, (name, seconds) in cpu_by_thread(self.pid).items():
            seconds -= self.before.get(thread, (name, 0.0))[1]
            spent[kind_of(name)] += seconds
            if kind_of(name) == "engine":
                spent["busiest"] = max(spent["busiest"], seconds)
        spent["all"] = spent["client"] + spent["engine"]
        spent["wall"] = time.monotonic() - self.begun
        return spent


# What a function that is on the stack is a part of; the first that fits. Ticks also advance windows.
PARTS = {"judging": "stream::(?:Judge|Scheduler|JobRules|AlertLifecycle)", "state": "::save|take_sections|HandOver|Transactor",
         "windows": "stream::(?:History|SignalHistory|Attempt::advance|Subject::(?:advance|settle))", "intake": "stream::", "decoding": "schemas::",
         "reading": "kafka::|rd_kafka"}


def phases(file):
    """Where the time of a profile with stacks was spent, as (part, share), the largest first."""
    stacks = subprocess.run(["perf", "script", "-i", file, "--no-inline", "-F", "comm,ip,sym"], capture_output=True, text=True, check=True).stdout
    found = collections.Counter()
    for stack in filter(None, stacks.split("\n\n")):
        fits = (part for part, function in PARTS.items() if re.search(function, stack))
        found["client's threads" if kind_of(stack.lstrip()) == "client" else next(fits, "others")] += 1
    return [(part, count / found.total()) for part, count in found.most_common()]


def memory(pid):
    """MiB resident, now and at most."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return tuple(int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) / 1024 for name in ("VmRSS", "VmHWM"))


def total(metrics, name):
    """The sum of a metric over its labels; None where it is not there."""
    values = [float(value) for key, value in metrics.items() if key == name or key.startswith(name + "{")]
    return sum(values) if values else None


def worst(metrics, name):
    values = [float(value) for key, value in metrics.items() if key == name or key.startswith(name + "{")]
    return max(values) if values else None


class Lag:
    """How far an instance is behind, looked at twice a second on a thread of its own until it is stopped."""

    def __init__(self, instance):
        self.instance, self.seen, self.ended = instance, [], threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while not self.ended.wait(0.5):
            try:
                metrics = self.instance.metrics()
            except (OSError, ValueError):
                continue
            lag = worst(metrics, "tocsin_lag_seconds")
            if lag is not None:
                self.seen.append((time.monotonic(), lag, total(metrics, "tocsin_lag_records")))

    def between(self, begin, end):
        """Seconds behind, in order of size; and records at most."""
        inside = [one for one in self.seen if begin <= one[0] <= end]
        return sorted(one[1] for one in inside), max((one[2] for one in inside), default=0)

    def stop(self):
        self.ended.set()
        self.thread.join()


def share(values, part):
    """A quantile of sorted values."""
    return values[min(len(values) - 1, int(part * len(values)))] if values else float("nan")
