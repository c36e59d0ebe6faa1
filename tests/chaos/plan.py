"""Which scenarios there are, and in which form each runs."""

import datetime
import os
import pathlib
import threading
import time
import traceback

from tests.chaos import disk, long_scenarios, scenarios, spool
from tests.chaos.runner import Result, Run

SCENARIOS = {"kill": scenarios.Kill, "young": scenarios.Young, "young-two": scenarios.YoungTwo, "points": scenarios.Points,
             "group": scenarios.Group, "zombie": scenarios.Zombie, "slow": scenarios.Slow, "broker": scenarios.Broker,
             "manager": scenarios.Manager, **long_scenarios.LONG, "spool": spool.Spool, "disk": disk.Disk, "disk-gaps": disk.Gaps}
APART = ("spool", "disk", "disk-gaps")     # they need no cluster beside an undisturbed one
SHORT = ("kill", "points", "group", "zombie")
YOUNG = ("young", "young-two")      # beside each other, apart from the others: their jobs begin one after the other
# Two rows of runs go on at the same time. Of a run: scenarios side by side, kills at most, seconds in which jobs make steps.
LONG = (((("kill", "points"), 50, 240), (("group", "zombie", "slow"), 24, 90), (YOUNG, 100, 120), (("clock",), 0, 75),
         (("state",), 0, 45), (("reload",), 0, 190)),
        ((("long-manager",), 0, 840), (("long-broker",), 32, 90), (("ingest",), 0, 90), (("spool",), 0, 0), (("disk",), 100, 240), (("disk-gaps",), 20, 60)))
RESULTS = pathlib.Path(__file__).parent / "RESULTS.md"


def run(names, seed, kills, jobs=5, seconds=24, reloads=True, keep=None):
    """Side by side; those that have no cluster by themselves."""
    others = {name: SCENARIOS[name] for name in names if name not in APART}
    found = Run(others, seed, kills, jobs, seconds, reloads=reloads, keep=keep).run() if others else []
    found += [run_spool(seed, keep)] if "spool" in names else []
    return found + [run_disk(name, seed, kills, jobs, seconds, keep) for name in names if name.startswith("disk")]


def run_all(seed):
    """The long form; the exit status."""
    results, lock = {}, threading.Lock()

    def run_row(row):
        for names, kills, seconds in row:
            try:
                found = run(names, seed, kills, seconds=seconds)
            except Exception:    # noqa: BLE001: the other runs go on
                found = [Result(name, seed, kills) for name in names]
                for one in found:
                    one.faults.append(traceback.format_exc())
            with lock:
                for one in found:
                    results[one.name] = one
                    print(one.line(), *(fault.replace("\n", "\n  ") for fault in one.faults), sep="\n  ", flush=True)
                write([results[name] for row in LONG for names, *_ in row for name in names if name in results], seed)

    rows = [threading.Thread(target=run_row, args=(row,)) for row in LONG]
    for row in rows:
        row.start()
    for row in rows:
        row.join()
    return 1 if any(one.faults for one in results.values()) else 0


def run_spool(seed, keep=None):
    begun = time.monotonic()
    result = Result("spool", seed, 0)
    for job in spool.run(keep):
        result.notes.update({f"{what}, {job.name}": number for what, number in job.notes.items()})
        result.faults += job.faults
    result.seconds = time.monotonic() - begun
    return result


def run_disk(name, seed, kills, jobs, seconds, keep=None):
    begun = time.monotonic()
    result = Result(name, seed, kills)
    one = SCENARIOS[name](seed, kills, jobs, seconds, keep).run()
    result.notes, result.compared, result.faults = dict(one.notes), one.compared, one.faults
    result.seconds = time.monotonic() - begun
    return result


def write(results, seed):
    """The results so far, as a page."""
    lines = ["# What the long form of the chaos tests found", "",
             f"Written by `tests/chaos/run --long --seed {seed}` on {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores "
             f"that others used, too (load {os.getloadavg()[2]:.1f}).",
             "Compared are whole lines of alerts and verdicts, and the digest of each job that ended: with an undisturbed instance, and with a",
             "replay of the disturbed log. `long-broker` and `ingest` are compared with the replay alone: there nobody could write, or know, for a while.", "",
             "| Scenario | Result | Compared | What was done | Seconds |", "|---|---|---|---|---|"]
    for one in results:
        compared = ", ".join(f"{number} {what}" for what, number in one.compared.items())
        lines.append(f"| {one.name} | {'failed' if one.faults else 'passed'} | {compared} | {one.done()} | {one.seconds:.0f} |")
    failed = [one for one in results if one.faults]
    if failed:
        lines += ["", "## What failed", ""]
        for one in failed:
            lines += [f"- **{one.name}**: " + one.faults[0].splitlines()[-1][:300] + (f" (and {len(one.faults) - 1} more lines)" if one.faults[1:] else "")]
    RESULTS.write_text("\n".join(lines) + "\n")
