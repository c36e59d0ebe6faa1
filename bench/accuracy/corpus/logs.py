"""Log text: excerpts with a class each, whole job outputs, kernel logs."""

import csv
import hashlib
import re
from pathlib import Path

from .prefixes import ranks_of
from .records import Item, Recording, text_lines
from .stamps import times

SOURCE_LINE = re.compile(r"^# source:")
# How a job's output says that the scheduler ended it, and the family it then belongs to.
SCHEDULER_ENDS = [
    (re.compile(r"CANCELLED AT .* DUE TO TIME LIMIT"), "F3"),
    (re.compile(r"CANCELLED AT .* DUE TO PREEMPTION"), "F2"),
    (re.compile(r"CANCELLED AT .* DUE TO NODE FAILURE"), "F1"),
    (re.compile(r"(?:STEP|JOB) \S+ .*CANCELLED AT"), "F-cancel"),
]


def log_recording(path, name):
    """One job: the lines in order, with the ranks that their prefixes name and the times that they carry or may have had."""
    lines = [piece for text in text_lines(path) if not SOURCE_LINE.match(text) for piece in pieces(text)]
    recording = Recording(name)
    if not lines:
        return recording
    ranks, (when, recording.timed) = ranks_of(lines), times(lines)
    named = sorted({rank for rank in ranks if rank is not None})
    recording.coverage(when[0], when[-1], "log", ranks=named)
    for text, rank, t in zip(lines, ranks, when):
        recording.line(t, text, rank=rank)
    return recording


def pieces(text):
    """What a bar writes over itself are lines of their own."""
    return [piece for piece in text.split("\r") if piece.strip()] or [""]


def facts(recording):
    """What an item holds about its log besides the label."""
    texts = recording.texts()
    return {"timed": recording.timed, "prints": [name for name, pattern in PRINTED.items() if often(pattern, texts)], "half": half(recording.job)}


NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
LOSS = re.compile(rf"(?i)(?:loss|perplexity|\bppl|entropy|\bnll)[\w./()@-]*[\"']?\]?\s*[:=|,\s>-]{{0,4}}\s*[\"'\[(]?{NUMBER}")
STEP = re.compile(r"(?i)\b(?:step|iter|iteration|batch|update|num_updates|it)s?[\"']?\]?[\s:=#\[|_-]{0,4}\d|\d+\s?/\s?\d+\s?\[\d")
FEW = 3


# A rough look, to tell of which logs step and loss can be expected; what the pack reads is never compared with it.
PRINTED = {"step": STEP, "loss": LOSS}


def often(pattern, texts):
    return sum(bool(pattern.search(text)) for text in texts) >= FEW


def half(name):
    """Which half of the logs one belongs to: one may be looked at while rules are written, the other is only scored."""
    return "looked at" if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 else "only scored"


def excerpts(folder):
    """The items of a folder with a labels.csv: (item, recording) pairs."""
    with open(folder / "labels.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        path = folder / row["file"]
        if path.is_file():
            name = f"{folder.name}-" + row["file"].removesuffix(".log").replace("/", "-")
            recording = log_recording(path, name)
            shape = "logs" if folder.name == "logs" else folder.name
            yield Item(id=name, shape=shape, label=row["family"], job=recording.job, **facts(recording)), recording


def whole_log(path, shape, label):
    """A whole log file as one item."""
    name = f"{shape}-{path.stem}"
    recording = log_recording(path, name)
    return Item(id=name, shape=shape, label=label, job=recording.job, **facts(recording)), recording


def job_output(path, sources):
    """A whole Slurm output. Its label: what the excerpts say that name it as their source, and how the scheduler ended it."""
    item, recording = whole_log(path, "bigscience", None)
    named = [family for source, family in sources if Path(source).name == path.name]
    ends = scheduler_end(path)
    faults = [family for family in named if family not in ("G1", ends) and not family.endswith("-negative")]
    item.label = faults[0] if faults else ends or "G1"
    if faults and ends and ends != "F-cancel":
        item.acceptable = [ends]
    return item, recording


def scheduler_end(path):
    """The family of the last word that the scheduler had in this output, or None."""
    for text in reversed(list(text_lines(path))):
        for pattern, family in SCHEDULER_ENDS:
            if pattern.search(text):
                return family
    return None


def label_sources(root):
    """(source, family) of all labelled excerpts under a folder."""
    for path in sorted(Path(root).rglob("labels.csv")):
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row.get("source") and row.get("family"):
                    yield row["source"], row["family"]
