"""docs/semantics.md: each statement has a number of its own and names tests that hold it."""

import re

PAGE = "docs/semantics.md"
NUMBER = re.compile(r"\*\*([A-Z]\d+)\*\* ")
REFERENCE = re.compile(r'([\w/]+): ("[^"]+"(?:, "[^"]+")*)')  # file: "a test's name begins so", "another's so"
MISSING = "(no test yet)"
LITERAL = r'"((?:[^"\\]|\\.)*)"'
CASE = re.compile(rf"TEST_CASE(?:_\w+)?\((?:\w+,)?\s*((?:{LITERAL}\s*)+)|^\s*def (test_\w+)", re.MULTILINE)


def statements(text):
    """(line, text) of each item and paragraph from the page's first section on."""
    statement, first, begun = [], 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if statement and (not line.strip() or line.startswith(("- ", "#"))):
            yield first, " ".join(statement)
            statement = []
        begun = begun or line.startswith("## ")
        if begun and line.strip() and not line.startswith("#"):
            first = first if statement else number
            statement.append(line.removeprefix("- ").strip())


def names_in(path):
    """The names of the tests in a file."""
    for case in CASE.finditer(path.read_text(encoding="utf-8")):
        yield case.group(3) or "".join(re.findall(LITERAL, case.group(1))).replace('\\"', '"')


def check_semantics(root):
    """Each statement has a number of its own and a test, or is marked as one without, which is printed."""
    files = {path.relative_to(root / "tests").with_suffix("").as_posix(): path for path in (root / "tests").rglob("*")
             if path.suffix in (".cpp", ".py")}
    seen, untested = set(), []
    for line, text in statements((root / PAGE).read_text(encoding="utf-8")):
        number = NUMBER.match(text)
        name = number.group(1) if number else f"'{text[:30]}'"
        here = f"{PAGE}:{line}: {name}"
        if not number:
            yield f"{here} has no number"
        elif name in seen:
            yield f"{here} is there twice"
        seen.add(name)
        if text.endswith(MISSING):
            untested.append(name)
            continue
        references = REFERENCE.findall(text) if text.endswith('")') else []
        if not references:
            yield f"{here} names no test"
        for file, beginnings in references:
            places = [path for place, path in files.items() if f"/{place}".endswith(f"/{file}")]
            if len(places) != 1:
                yield f"{here}: {len(places)} files are called {file}"
                continue
            for beginning in re.findall(LITERAL, beginnings):
                if (found := sum(test.startswith(beginning) for test in names_in(places[0]))) != 1:
                    yield f"{here}: {found} tests of {file} begin with '{beginning}'"
    if untested:
        print(f"semantics: {len(untested)} without a test: {', '.join(untested)}")
