"""What a trainer of this benchmark does besides training: the fault of its scenario. The program `run` does the rest from outside.

FAULT is `name` or `name:rank`; it begins FAULT_AFTER seconds after the first step. Each rank leaves its process id and the moment of its
first step in FAULT_DIR, and whoever begins a fault leaves that moment, so that the seconds to an alert can be counted.
"""

import os
import pathlib
import time

NAME, _, WHO = os.environ.get("FAULT", "").partition(":")
AFTER = float(os.environ.get("FAULT_AFTER", "20"))
FOLDER = pathlib.Path(os.environ.get("FAULT_DIR", "/tmp"))
LASTS = float(os.environ.get("FAULT_LASTS", "60"))
_first = None
_exploded = 1
_hung = []


def _mark(name):
    path = FOLDER / name
    if not path.exists():
        part = FOLDER / f"{name}.{os.getpid()}"      # several ranks come here at once
        part.write_text(str(time.time()))
        part.rename(path)


def started(rank):
    """Before the ranks meet."""
    (FOLDER / f"pid.{rank}").write_text(str(os.getpid()))
    if NAME == "absent" and WHO == str(rank):
        _mark("began")
        time.sleep(LASTS)


def due(name, rank=None):
    """Whether the fault of that name holds now, for this rank."""
    if NAME != name or (WHO and rank is not None and WHO != str(rank)) or _first is None or time.time() - _first < AFTER:
        return False
    _mark("began")
    return True


def step(rank):
    """At the begin of each step."""
    global _first
    if _first is None:
        _first = time.time()
        _mark("first")
    if due("exception", rank):
        check_columns(3)
    if due("sleeps", rank):
        time.sleep(0.25)
    if due("computes", rank):
        busy(0.25)
    if not _hung and due("hangs", rank):
        _hung.append(rank)
        time.sleep(LASTS)


def decoding(rank):
    """Seconds that a loader worker of this rank needs more for each item; a worker has not seen the first step."""
    global _first
    if NAME != "loader" or WHO != str(rank):
        return 0
    if _first is None and (FOLDER / "first").exists():
        _first = (FOLDER / "first").stat().st_mtime
    return 0.04 if due("loader", rank) else 0


def check_columns(count):
    if count != 4:
        raise ValueError(f"expected 4 columns in the batch, got {count}")


def busy(seconds):
    """CPU seconds, not seconds: a busy machine must not make this shorter."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(2000))


def rate(optimizer):
    """A learning rate that explodes; before the optimizer's step, whatever a schedule set."""
    global _exploded
    if due("rate"):
        _exploded = min(_exploded * 2, 1e6)
        for group in optimizer.param_groups:
            group["lr"] = max(group["lr"], 1e-3 * _exploded)


def loss(value):
    return value * float("nan") if due("nan") else value
