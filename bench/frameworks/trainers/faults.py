"""What a trainer of this benchmark does besides training: the fault of its scenario. The program `run` does the rest from outside.

FAULT is `name` or `name:rank`; it begins FAULT_AFTER seconds after the first step, or at step FAULT_STEP where all ranks have to take part. Each rank leaves its process id and the moment of its
first step in FAULT_DIR, and whoever begins a fault leaves that moment, so that the seconds to an alert can be counted.
"""

import os
import pathlib
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

NAME, _, WHO = os.environ.get("FAULT", "").partition(":")
AFTER = float(os.environ.get("FAULT_AFTER", "20"))
FOLDER = pathlib.Path(os.environ.get("FAULT_DIR", "/tmp"))
LASTS = float(os.environ.get("FAULT_LASTS", "60"))
STEP = int(os.environ.get("FAULT_STEP", "60"))
_first = None
_exploded = 1
_hung = []
_steps = 0


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


def met(rank):
    """After the ranks have met, before their first collective."""
    if NAME == "late" and WHO == str(rank):
        time.sleep(LASTS)


def due(name, rank=None):
    """Whether the fault of that name holds now, for this rank."""
    if NAME != name or (WHO and rank is not None and WHO != str(rank)) or _first is None or time.time() - _first < AFTER:
        return False
    _mark("began")
    return True


def step(rank):
    """At the begin of each step."""
    global _first, _steps
    if _first is None:
        _first = time.time()
        _mark("first")
    _steps += 1
    if NAME in TOGETHER and _steps == STEP:
        _mark("began")
        threading.Timer(LASTS, os._exit, (1,)).start()      # nobody comes back from these
        TOGETHER[NAME](WHO == str(rank))
    for name in ALONE:
        if not _hung and due(name, rank):
            _hung.append(rank)
            ALONE[name]()
    if due("exception", rank):
        check_columns(3)
    if due("sleeps", rank):
        time.sleep(0.25)
    if due("computes", rank):
        busy(0.25)


def pause():
    time.sleep(LASTS)


def count_forever():
    """An endless loop of Python, as far as this benchmark has time."""
    until, count = time.time() + LASTS, 0
    while time.time() < until:
        count += 1


def take_the_lock():
    held = threading.Lock()
    held.acquire()
    held.acquire(timeout=LASTS)


def take_the_lock_beside_a_thread():
    threading.Thread(target=count_forever).start()
    take_the_lock()


def compute_in_a_thread():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(busy, LASTS).result()


def wait_for_a_process():
    """One that uses no CPU, as a copy over the network."""
    subprocess.run(["sleep", str(LASTS)], check=True)


def read_the_pipe():
    out, into = os.pipe()
    threading.Timer(LASTS, os.close, (into,)).start()
    os.read(out, 1)


def leave():
    """The main thread ends, and a thread of a library keeps the process."""
    threading.Thread(target=time.sleep, args=(LASTS,)).start()
    sys.exit(0)


def another_call(culprit):
    import torch
    import torch.distributed as dist
    value = torch.zeros(8)
    if culprit:
        dist.broadcast(value, 0)
    else:
        dist.all_reduce(value)


_groups = []


def other_order(culprit):
    import torch.distributed as dist
    for group in reversed(_groups) if culprit else _groups:
        dist.barrier(group=group)


def make_groups():
    """After the ranks have met."""
    import torch.distributed as dist
    if NAME == "order":
        _groups.extend(dist.new_group() for _ in range(2))


ALONE = {"hangs": pause, "loops": count_forever, "locks": take_the_lock, "locks_beside": take_the_lock_beside_a_thread,
         "pool": compute_in_a_thread, "child": wait_for_a_process, "reads": read_the_pipe, "leaves": leave}
TOGETHER = {"mismatch": another_call, "order": other_order}


def decoding(rank):
    """Seconds that a loader worker of this rank needs more for each item; a worker has not seen the first step."""
    global _first
    if NAME != "loader" or WHO != str(rank):
        return 0
    if _first is None and (FOLDER / "first").exists():
        _first = (FOLDER / "first").stat().st_mtime
    return 0.04 if due("loader", rank) else 0


def fetch(rank):
    """In a loader worker: each is late once."""
    global _first
    if NAME != "stuck_loader" or WHO != str(rank) or _hung:
        return
    if _first is None and (FOLDER / "first").exists():
        _first = (FOLDER / "first").stat().st_mtime
    if due("stuck_loader", rank):
        _hung.append(rank)
        time.sleep(LASTS)


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
