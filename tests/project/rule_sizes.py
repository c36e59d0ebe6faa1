"""Sizes of shipped rules: what operators copy has to be small enough to be read once."""

import re

COLUMNS = 120
MOST = {"needs": 12, "params": 10, "state": 4}
MOST_LINES = 60

RULE = re.compile(r'^rule "(\w+)" \{\n(.*?)^\}', re.DOTALL | re.MULTILINE)
NOISE = re.compile(r"--[^\n]*|\"(?:\\.|[^\"\\\n])*\"|\[\[.*?\]\]", re.DOTALL)


def entries(body, key):
    """How many fields the table `key = { … }` of a rule has."""
    found = re.search(rf"\b{key}\s*=\s*\{{", body)
    depth, count = 0, 0
    for at in range(found.end() - 1 if found else len(body), len(body)):
        if body[at] == "{":
            depth += 1
        elif body[at] == "}":
            depth -= 1
            if depth == 0:
                break
        elif body[at] == "=" and depth == 1:
            count += 1
    return count


def check_rules(root):
    """Rules are at most 60 lines, with at most 12 needs, 10 parameters and 4 state fields; files of rules have 120 columns."""
    for path in sorted((root / "rules").rglob("*.lua")):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > COLUMNS:
                yield f"{name}:{number}: {len(line)} columns, at most {COLUMNS}"
        for rule in RULE.finditer(text):
            place = f"{name}:{text.count(chr(10), 0, rule.start()) + 1}: rule {rule[1]}"
            if (lines := rule[0].count("\n") + 1) > MOST_LINES:
                yield f"{place} has {lines} lines, at most {MOST_LINES}: make it several, with findings"
            body = NOISE.sub("", rule[2])
            for key, most in MOST.items():
                if (count := entries(body, key)) > most:
                    yield f"{place} has {count} {key}, at most {most}: make it several, with findings"
