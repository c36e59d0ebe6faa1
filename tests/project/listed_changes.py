"""The lists of tests/mutants stay in step with the code that they change."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mutants"))
import changes  # noqa: E402


def check_changes(root):
    """The old text of each listed change stands exactly once in its file: tests/mutants/run could make it today."""
    for path in sorted((root / "tests" / "mutants").glob("*.txt")):
        here = path.relative_to(root).as_posix()
        try:
            listed = list(changes.read(path))
        except changes.Malformed as problem:
            yield f"{path.parent.relative_to(root).as_posix()}/{problem}"
            continue
        for change in listed:
            file = root / change.file
            times = len(change.pattern().findall(file.read_text(encoding="utf-8"))) if file.is_file() else 0
            if times != 1:
                line = change.place.rpartition(":")[2]
                yield (f"{here}:{line}: the old text stands {times} times in {change.file}: change the entry with the code, or take it out"
                       f" ({' '.join(change.old.split())})")
