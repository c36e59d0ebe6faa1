"""Which scenarios there are, and in which form each runs."""

import datetime
import os
import pathlib

from tests.chaos import long_scenarios, scenarios
from tests.chaos.runner import Run

SCENARIOS = {"kill": scenarios.Kill, "points": scenarios.Points, "group": scenarios.Group, "zombie": scenarios.Zombie, "slow": scenarios.Slow,
             "broker": scenarios.Broker, "manager": scenarios.Manager, **long_scenarios.LONG}
SHORT = ("kill", "points", "group", "zombie")
# Side by side, kills at most, seconds in which jobs make steps.
LONG = ((("kill", "points"), 50, 300), (("group", "zombie", "slow"), 24, 180), (("clock", "manager"), 0, 120), (("broker",), 16, 120),
        (("state",), 0, 60), (("ingest",), 0, 90), (("reload",), 0, 190))
RESULTS = pathlib.Path(__file__).parent / "RESULTS.md"


def run(names, seed, kills, jobs=5, seconds=24, reloads=True, keep=None):
    """Side by side."""
    return Run({name: SCENARIOS[name] for name in names}, seed, kills, jobs, seconds, reloads=reloads, keep=keep).run()


def run_all(seed):
    """The long form; the exit status."""
    results = []
    for names, kills, seconds in LONG:
        for result in run(names, seed, kills, seconds=seconds):
            print(result.line(), flush=True)
            for fault in result.faults:
                print("  " + fault.replace("\n", "\n  "), flush=True)
            results.append(result)
        write(results, seed)
    return 1 if any(result.faults for result in results) else 0


def write(results, seed):
    """The results so far, as a page."""
    lines = ["# What the long form of the chaos tests found", "",
             f"Written by `tests/chaos/run --long --seed {seed}` on {datetime.date.today()}, {os.cpu_count()} cores. Compared are whole lines of alerts and",
             "verdicts, and the digest of each job that ended: with an undisturbed instance, and with a replay of the disturbed log.", "",
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
