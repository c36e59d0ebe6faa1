"""The lists of changes, and what became of each.

A list has blocks with an empty line between them: the file, "- " and the old text, which stands once in the file, "+ " and the new one
(nothing: the old text goes). A text of several lines has several "- " or "+ " lines. A line "# equivalent: why" says why no test can
notice the change; other lines with "#" are comments.
"""

import hashlib
import re
from dataclasses import dataclass

NOT_NOTICED = "NOT NOTICED"
EQUIVALENT = "# equivalent:"


class Malformed(Exception):
    pass


@dataclass(frozen=True)
class Change:
    file: str
    old: str
    new: str
    equivalent: str
    place: str      # list:line

    def text(self):
        return f"{self.file}\n{self.old}\n{self.new}"

    def pattern(self):
        """The old text as an expression to which line breaks and indentation do not matter: clang-format may move them."""
        words = (re.escape(word) for word in self.old.split())
        return re.compile(r"\s+".join(words).replace(r"\(", r"\(\s*"))

    def key(self):
        return hashlib.sha256(self.text().encode()).hexdigest()[:16]

    def __str__(self):
        old, new = (" ".join(part.split()) for part in (self.old, self.new))
        return f"{self.file}: {old} -> {new or '(nothing)'}"


def read(path):
    block, start = [], 0
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
        if line:
            block.append(line)
            start = start or number
        elif block:
            if any(not line.startswith("#") for line in block):
                yield change_of(block, f"{path.name}:{start}")
            block, start = [], 0


def change_of(block, place):
    equivalent = " ".join(line.removeprefix(EQUIVALENT).strip() for line in block if line.startswith(EQUIVALENT))
    files = [line for line in block if line[0] not in "#-+"]
    old = [line[2:] for line in block if line[0] == "-"]
    new = [line[2:] for line in block if line[0] == "+"]
    if len(files) != 1 or not old or not new or old == new:
        raise Malformed(f"{place}: a change is a file, '- ' and the old text, '+ ' and the new one")
    return Change(files[0], "\n".join(old), "\n".join(new), equivalent, place)


# A line for each change: its key, what became of it, and the change for who reads the file. The last line of a key counts.
class Outcomes:
    def __init__(self, path):
        self.path = path
        self.of_key = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                key, outcome, _ = line.split("\t", 2)
                self.of_key[key] = outcome

    def of(self, change):
        return self.of_key.get(change.key(), "not made yet")

    def needed(self, change, again):
        outcome = self.of_key.get(change.key())
        return outcome is None or (again and not outcome.startswith("noticed"))

    def add(self, change, outcome):
        self.of_key[change.key()] = outcome
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{change.key()}\t{outcome}\t{change}\n")
