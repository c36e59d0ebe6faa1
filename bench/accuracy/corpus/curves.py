"""Loss curves without a clock: a table of step, loss and seconds an iteration, or bare pairs of step and loss."""

import csv
import statistics

from .records import SECOND, SYNTHETIC_START, Item, Recording, text_lines, to_number

USUAL_STEP_SECONDS = 1.0  # where a curve tells no time at all


def table(path, shape="megatron"):
    """A CSV with the columns step, lm_loss and, in some rows, iteration_time_s."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = [(to_number(row.get("step")), to_number(row.get("lm_loss") or row.get("loss")),
                 to_number(row.get("iteration_time_s"))) for row in csv.DictReader(file)]
    return curve_item(path, shape, rows)


def pairs(path, shape="torchtitan"):
    """Lines of `step loss`."""
    rows = []
    for text in text_lines(path):
        parts = text.split()
        if len(parts) == 2:
            rows.append((to_number(parts[0]), to_number(parts[1]), None))
    return curve_item(path, shape, rows)


def curve_item(path, shape, rows):
    """Rank 0 tells step, loss and, where it is known, the step's time.

    The time is that of the row's own step. The steps between two rows took as long, or as long as that of the row before where that is
    less: a step that holds a restart or a save stands for itself alone.
    """
    name = f"{shape}-{path.stem}"
    recording = Recording(name)
    rows = [row for row in rows if row[0] is not None]
    known = [seconds for _, _, seconds in rows if seconds is not None and seconds > 0]
    usual = statistics.median(known) if known else USUAL_STEP_SECONDS
    now, before, last = 0.0, rows[0][0] - 1 if rows else 0, usual
    recording.event(SYNTHETIC_START, "start", world_size=1)
    for step, loss, seconds in rows:
        steps = step - before
        own = usual if seconds is None else seconds
        now += own + (steps - 1) * min(own, last)
        last = own
        before = step
        recording.values(SYNTHETIC_START + round(now * SECOND), {"step": int(step), "loss": loss, "step_time": seconds},
                         rank=0, source="log")
    if rows:
        recording.coverage(SYNTHETIC_START, recording.span()[1], "log", ranks=[0])
    return Item(id=name, shape=shape, label="G1", job=recording.job), recording
