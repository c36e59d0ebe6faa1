"""Scores alerts and verdicts against labels, by the rules of the corpora: one prediction an item, the family of its verdict."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

QUIET = {"none", "info"}         # severities that alarm nobody
HEALTHY = "G1"
HANGS = {"C1", "C2", "C3"}
NO_FAMILY = {"IO"}               # words of labels that are no family of the catalogue
CANCELLED = "F-cancel"
# Rules about silence: without times in a recording they say nothing.
SILENCE = {"stalled", "log_silent", "stalled_at_limit", "rendezvous_hang", "collective_hang", "idle_hang"}


@dataclass
class Answer:
    """What the engine reported of one item."""

    predicted: str = HEALTHY     # the verdict's family; none counts as healthy
    fired: list = field(default_factory=list)  # transitions to firing, of live rules above severity info
    read: dict = field(default_factory=dict)   # {"step": n, "loss": n}: how many values were read of a log


@dataclass
class Score:
    """How one item went."""

    item: dict
    answer: Answer
    right: bool = False
    scored: bool = True
    false_families: list = field(default_factory=list)  # families that fired or were named, and must not
    wrong_culprit: bool = False
    seconds: float | None = None

    def fault(self):
        """What went wrong, in a word or two, or None."""
        faults = []
        if not self.right:
            faults.append("wrong culprit" if self.wrong_culprit else "missed" if self.item["family"] != HEALTHY else "alarmed")
        if self.false_families:
            faults.append("false alarm " + ",".join(self.false_families))
        return "; ".join(faults) or None


def read_answer(path):
    """The answer in an alerts file: transitions, and a last verdict line for each attempt."""
    answer, families = Answer(), []
    with open(path, encoding="utf-8") as file:
        for text in file:
            try:
                record = json.loads(text)
            except ValueError:
                continue
            if not isinstance(record, dict):
                continue
            if "verdict" in record:
                families.append(verdict_family(record["verdict"]))
            elif record.get("state") == "firing" and record.get("severity") not in QUIET:
                answer.fired.append(record)
    # An earlier attempt's failure is not undone by a healthy one after it.
    answer.predicted = next((family for family in reversed(families) if family != HEALTHY), HEALTHY)
    return answer


def verdict_family(verdict):
    family = verdict.get("family") if isinstance(verdict, dict) else verdict
    return family if family and family not in ("none", "unknown", "undecidable") else HEALTHY


def right_families(item):
    """The families that are right for an item; None where it is not scored. An empty set: nothing may fire."""
    label = item.get("label")
    if not label:
        return None
    parts = label.split("/")
    if len(parts) == 1 and label.endswith("?"):
        return None
    families = {part.rstrip("?") for part in parts} - NO_FAMILY
    if families == {CANCELLED}:
        return {CANCELLED}
    if any(family == HEALTHY or family.endswith("-negative") for family in families):
        families = {HEALTHY}
    return families | set(item.get("acceptable") or [])


def score_item(item, answer):
    """Holds one item's answer against its label."""
    score = Score(item, answer)
    right = right_families(item)
    if right is None:
        score.scored = False
        return score
    if not item.get("timed", True):
        answer.fired = [alert for alert in answer.fired if alert.get("rule") not in SILENCE]
    fired = {alert.get("family") for alert in answer.fired}
    if item["family"] == HEALTHY:
        score.right = not answer.fired
        score.false_families = sorted(filter(None, fired))
    elif item["family"] == CANCELLED:
        score.right = answer.predicted == "F2" or not answer.fired
        score.false_families = sorted(filter(None, fired - {"F2"})) if not score.right else []
    else:
        score.right = answer.predicted in right
        score.false_families = must_not(item, right, answer, fired)
        judge_culprit(score, right)
    score.seconds = seconds_to_detect(item, right, answer) if score.right else None
    return score


def must_not(item, right, answer, fired):
    """The families that are false alarms on a faulty item."""
    if item.get("is_run"):
        wrong = fired & set(item.get("must_not_fire") or [])
    else:
        wrong = set()
    if answer.predicted not in right | {HEALTHY}:
        undecided_hang = answer.predicted == "C" and right & HANGS
        if not undecided_hang:
            wrong.add(answer.predicted)
    return sorted(filter(None, wrong))


def judge_culprit(score, right):
    """Where the label names culprits, the alerts of a right family name one of them and no other."""
    culprits = set(score.item.get("culprit_ranks") or [])
    if not score.right or not culprits:
        return
    named = set()
    for alert in score.answer.fired:
        if alert.get("family") in right:
            named |= named_ranks(alert)
    if not named or named - culprits:
        score.right, score.wrong_culprit = False, True


def named_ranks(alert):
    """The ranks that an alert accuses: its `who`, else the rank that it is about."""
    if alert.get("who"):
        return set(alert["who"])
    rank = (alert.get("member") or {}).get("rank")
    return set() if rank is None else {rank}


def seconds_to_detect(item, right, answer):
    """From the fault to the first firing of a right family, on the job's clock."""
    times = [alert["at"] for alert in answer.fired if alert.get("family") in right and alert.get("at")]
    if not times or not item.get("fault_time"):
        return None
    return min(times) / 1e9 - item["fault_time"]


def covered_families(rules):
    """The families for which a pack has a rule."""
    families = set()
    for path in sorted(Path(rules).rglob("*.lua")):
        families |= set(re.findall(r'\bfamily\s*=\s*"([A-G]\d?)"', path.read_text(encoding="utf-8")))
    return families


@dataclass
class Row:
    """One family of the table."""

    family: str
    items: int = 0
    found: int = 0
    missed: int = 0
    false_alarms: int = 0
    wrong_culprit: int = 0
    seconds: list = field(default_factory=list)

    def f1(self):
        whole = 2 * self.found + self.missed + self.wrong_culprit + self.false_alarms
        return 2 * self.found / whole if whole else None


def table(scores):
    """{family: Row}. A missed item counts against its own family, a false alarm against the family that was named."""
    rows = {}

    def row(family):
        return rows.setdefault(family, Row(family))

    for score in scores:
        if not score.scored:
            continue
        own = row(score.item["family"])
        own.items += 1
        own.found += score.right
        own.wrong_culprit += score.wrong_culprit
        own.missed += not score.right and not score.wrong_culprit
        if score.seconds is not None:
            own.seconds.append(score.seconds)
        for family in score.false_families:
            row(family).false_alarms += 1
        if not score.right and not score.wrong_culprit and score.answer.predicted == HEALTHY != score.item["family"]:
            if score.item["family"] != CANCELLED and not score.answer.fired:
                row(HEALTHY).false_alarms += 1  # called healthy, and is not
    return rows


def macro_f1(rows, covered):
    """The mean F1 over the covered families that have items."""
    values = [row.f1() for row in rows.values() if row.family in covered and row.items]
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else 0.0


def read_counts(path):
    """{"step": n, "loss": n} of an alerts file that the rules of reading/ made."""
    counts = {}
    with open(path, encoding="utf-8") as file:
        for text in file:
            record = json.loads(text)
            if str(record.get("rule", "")).startswith("read_") and record.get("state") == "firing":
                counts[record["rule"].removeprefix("read_")] = True
    return counts


@dataclass
class Share:
    """How many logs there are, in how many an alarm came, and of how many that print it step and loss were read."""

    logs: int = 0
    hours: float = 0.0
    alarmed: int = 0
    alerts: int = 0
    prints: dict = field(default_factory=lambda: {"step": 0, "loss": 0})
    read: dict = field(default_factory=lambda: {"step": 0, "loss": 0})


def shares(scores):
    """{name: Share} over healthy logs: all of them, whole ones, and their halves."""
    result = {}
    for score in scores:
        item = score.item
        if not score.scored or item["family"] != HEALTHY or not item.get("half"):
            continue
        names = ["all"] + ([f"{item['shape']}, {item['half']}"] if item["shape"] == "wild" else [item["shape"]])
        for name in names:
            share = result.setdefault(name, Share())
            share.logs += 1
            share.hours += item.get("hours", 0)
            share.alarmed += bool(score.answer.fired)
            share.alerts += len(score.answer.fired)
            for what in share.prints:
                if what in item.get("prints", []):
                    share.prints[what] += 1
                    share.read[what] += bool(score.answer.read.get(what))
    return result
