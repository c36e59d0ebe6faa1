"""The field's words: names, comments, messages and pages use those of docs/glossary.md, and none of the old ones."""

import re

from manners import walk

OLD = re.compile(
    r"(?<![A-Za-z])(heard|hearing|spoke|spoken|told|said|agenda|desk|surroundings|benched|take-over|taken over|spell(?:ed|s)? out|kept up)(?![A-Za-z])",
    re.IGNORECASE,
)
FOLDERS = ("stream", "schemas", "dsl", "adapters", "rules", "docs", "tests", "bench", "deploy", "scripts")
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
SUFFIXES = (".h", ".cpp", ".inc", ".fbs", ".lua", ".md", ".py", ".js", ".html", ".css", ".json", ".yml", "")  # "": programs without one
EXPRESSION = re.compile(r"\[(=*)\[.*?\]\1\]", re.DOTALL)  # a long string of Lua: in rules/, what a log prints


def check_words(root):
    """Nothing is named, explained or reported in an old word. Left out are the expressions of patterns and parsers, which quote logs, and
    this check with its tests."""
    for path in walk(root):
        here = path.relative_to(root).as_posix()
        if path.suffix not in SUFFIXES:
            continue
        if here.startswith("tests/project/") or (here not in PAGES and here.split("/")[0] not in FOLDERS):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".lua":
            text = EXPRESSION.sub(lambda found: "\n" * found.group().count("\n"), text)
        for number, line in enumerate(text.splitlines(), 1):
            for found in OLD.findall(line):
                yield f"{here}:{number}: '{found}' is an old word: docs/glossary.md has the field's"
