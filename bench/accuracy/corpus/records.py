"""A recording in our JSON-lines form (docs/json-lines.md), being made from a foreign one."""

import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
SYNTHETIC_START = 1_767_225_600 * SECOND  # 2026-01-01: for recordings that carry no time
COVERAGE_INTERVAL = 10 * SECOND
COVERAGE_INTERVAL_LONG = 29 * SECOND         # the engine takes a source for coverage up to 30 s after its last word
LONG = 3600 * SECOND
ORDER = {"start": 0, "member": 1}


@dataclass
class Item:
    """One thing that is scored: a recording, and what is known about it. `path` is set when it is written."""

    id: str
    shape: str
    label: str | None = None            # as the corpus writes it: "C2", "A1/D2", "E1-negative"; none: not scored
    acceptable: list = field(default_factory=list)
    must_not_fire: list = field(default_factory=list)
    culprit_ranks: list = field(default_factory=list)
    fault_time: float | None = None     # epoch seconds
    is_run: bool = False                # scored as a run: alerts count, not only the verdict
    timed: bool = True                  # whether the recording carries times: else silence says nothing
    prints: list = field(default_factory=list)  # of step and loss, what a log seems to print
    half: str = ""                      # of logs: "looked at" or "only scored"
    hours: float = 0.0                  # how long the recording lasts
    job: str = ""
    path: str = ""

    def family(self):
        """The folder and table row it belongs to: the first family that the label names."""
        if not self.label:
            return "unlabelled"
        first = self.label.split("/")[0].rstrip("?")
        return "G1" if first.endswith("-negative") else first


class Recording:
    """Records of one job. They may be added in any order, and are written in the order of time."""

    def __init__(self, name, job=None):
        self.job = job or neutral_job(name)
        self.timed = True
        self._records = []

    def __len__(self):
        return len(self._records)

    def add(self, t, **record):
        """One record at t (epoch nanoseconds); members that are None are left out."""
        self._records.append((int(t), {key: value for key, value in record.items() if value is not None}))

    def line(self, t, text, **about):
        self.add(t, line=text, **about)

    def values(self, t, values, **about):
        """Several samples of one time and member; those without a value are left out."""
        present = {name: number(value) for name, value in values.items() if value is not None}
        if present:
            self.add(t, values=present, **about)

    def event(self, t, event, **fields):
        self.add(t, event=event, **fields)

    def coverage(self, begin, end, source, ranks=None, nodes=None, attempt=None):
        """A collector of `source` listens from begin to end."""
        interval = COVERAGE_INTERVAL if end - begin <= LONG else COVERAGE_INTERVAL_LONG
        t = begin
        while t < end:
            self.add(t, coverage=source, ranks=ranks, nodes=nodes, attempt=attempt)
            t += interval
        self.add(end, coverage=source, ranks=ranks, nodes=nodes, attempt=attempt)

    def texts(self):
        return [record["line"] for _, record in self._records if "line" in record]

    def span(self):
        """(first, last) time, in nanoseconds."""
        times = [t for t, _ in self._records]
        return min(times), max(times)

    def first_of_attempt(self, attempt):
        """The time of the first record that names this attempt, or None."""
        return min((t for t, record in self._records if record.get("attempt") == attempt), default=None)

    def not_before(self, begin):
        """Moves what comes before `begin` to it: what was known of a job when it started."""
        self._records = [(max(t, begin), record) for t, record in self._records]

    def write(self, path):
        """Writes the lines in the order of time; of equal times a start comes first, then members, then as they were added."""
        self._records.sort(key=lambda entry: (entry[0], ORDER.get(entry[1].get("event"), 2)))
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for t, record in self._records:
                file.write(json.dumps({"t": t, "job": self.job, **record}, ensure_ascii=False) + "\n")


def neutral_job(name):
    """A job id that tells nothing: names of items name their class."""
    return "job-" + hashlib.sha256(name.encode()).hexdigest()[:8]


def number(value):
    """JSON has no NaN: our form writes it as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def to_number(text):
    """The float that a text holds, or None."""
    try:
        return float(str(text).strip())
    except ValueError:
        return None


def json_lines(path):
    """The objects of a JSON-lines file; a torn or foreign line is skipped, an absent file is empty."""
    try:
        file = open(path, encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    with file:
        for text in file:
            try:
                value = json.loads(text)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value


def text_lines(path):
    """The lines of a text file without their ends. Only \\n ends a line: bars move with \\r."""
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        for text in file:
            yield text.rstrip("\n").rstrip("\r")
