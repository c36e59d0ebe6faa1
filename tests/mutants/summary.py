"""What a run found, as a page: tests/mutants/RESULTS.md."""

from collections import Counter
from changes import NOT_NOTICED


def unexplained(changes, outcomes):
    return [change for change in changes if not outcomes.of(change).startswith("noticed")
            and not (outcomes.of(change) == NOT_NOTICED and change.equivalent)]


def folder(change):
    parts = change.file.split("/")
    deep = 2 if parts[0] in ("stream", "adapters") or parts[:2] == ["dsl", "text"] else 1
    return "/".join(parts[:deep]) if len(parts) > deep else parts[0]


def write(changes, outcomes):
    made, noticed, equivalent, by = Counter(), Counter(), Counter(), Counter()
    for change in changes:
        outcome = outcomes.of(change)
        made[folder(change)] += 1
        if outcome.startswith("noticed"):
            noticed[folder(change)] += 1
            by[outcome.removeprefix("noticed by ").removesuffix(" (time-out)")] += 1
        elif outcome == NOT_NOTICED and change.equivalent:
            equivalent[folder(change)] += 1
    total, seen, same = made.total(), noticed.total(), equivalent.total()
    lines = ["# What the tests notice", "", "Written by `tests/mutants/run`, which explains itself.", "",
             f"{total} single changes: {seen} noticed ({100 * seen / max(total, 1):.1f} %), {same} explained as equivalent, "
             f"{total - seen - same} not noticed.", "",
             "| Folder | Changes | Noticed | Equivalent |", "|---|---|---|---|"]
    lines += [f"| {name} | {made[name]} | {noticed[name]} | {equivalent[name]} |" for name in sorted(made)]
    lines += ["", "| First test program that fails | Changes |", "|---|---|"]
    lines += [f"| {name} | {count} |" for name, count in sorted(by.items(), key=lambda item: (-item[1], item[0]))]
    rest = [change for change in changes if not outcomes.of(change).startswith("noticed")]
    if rest:
        lines += ["", "Not noticed:", ""]
        lines += [f"- `{change}`: {why(change, outcomes.of(change))}" for change in rest]
    return "\n".join(lines) + "\n"


def why(change, outcome):
    return f"equivalent: {change.equivalent}" if outcome == NOT_NOTICED and change.equivalent else outcome
