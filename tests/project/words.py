"""Plain technical English: the terms of docs/glossary.md and none of the old ones, and no private grammar in texts that users read."""

import re

from manners import FENCE, walk

OLD = re.compile(
    r"(?<![A-Za-z])(heard|hearing|spoke|spoken|told|said|agenda|desk|surroundings|benched|take-over|taken over|spell(?:ed|s)? out|kept up)(?![A-Za-z])",
    re.IGNORECASE,
)
FOLDERS = ("stream", "schemas", "dsl", "adapters", "rules", "docs", "tests", "bench", "deploy", "scripts")
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
SUFFIXES = (".h", ".cpp", ".inc", ".fbs", ".lua", ".md", ".py", ".js", ".html", ".css", ".json", ".yml", "")  # "": programs without one
EXPRESSION = re.compile(r"\[(=*)\[.*?\]\1\]", re.DOTALL)  # a long string of Lua: in rules/, what a log prints

# Forms in texts that users read, and what to write instead.
FORMS = [(re.compile(form), instead) for form, instead in (
    (r"(?:\A|[.:;!?|]\s+|\n)(?:Of|Those|Whoever|What)\s(?![^.!]*\?)", "begin with the subject"),
    (r"\bIt, ", "begin with the subject"),
    (r"(?<!so )\bthat (?:it|they|there) (?:is|are)\b", "drop the clause, or name the subject"),
    (r"\b[Tt]here (?:is|are|was|were) none\b", "say what is missing"),
    (r"\b(?:is|are|was|were) (?:asked|called) for\b", "say who needs it"),
    (r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|later\b)", "write 'is not a …'"),
    (r"\btakes? \w+ for no\b", "write 'does not count … as'"),
    (r"\bmend(?:s|ed|ing)?\b", "write 'fix'"),
    (r"\bat its birth\b", "write 'initially'"),
    (r"\bstandstills?\b", "write 'hang'"),
    (r"\bno member that\b|\ban exception of its own\b|\bhistory allows\b|\bfailure of the program\b|\bof unknown kind\b",
     "write the field's term"),
)]
# Strings that follow each other, or are joined by + or .., are one. Comments, characters and raw strings are passed over.
CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|\'(?:\\.|[^\'\\\n])+\'|"((?:\\.|[^"\\\n])*)"', re.DOTALL)
SCRIPT = re.compile(r'//[^\n]*|/\*.*?\*/|"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`', re.DOTALL)
LUA = re.compile(r'--[^\n]*|"((?:\\.|[^"\\\n])*)"', re.DOTALL)


def strings(text, tokens):
    """(line, text) of each string."""
    found, end = [], None
    for token in tokens.finditer(text):
        group = token.lastindex and token[token.lastindex]
        if group is None or token[0].startswith("R\""):
            continue
        if end is not None and text[end:token.start()].strip() in ("", "..", "+"):
            found[-1][1] += group
        else:
            found.append([text.count("\n", 0, token.start()) + 1, group])
        end = token.end()
    return [(line, one.replace("\\n", "\n").replace('\\"', '"')) for line, one in found]


def texts(path, here):
    """(line, text) of what users read in a file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    top = here.split("/")[0]
    if path.suffix in (".cpp", ".h", ".inc") and top in ("adapters", "dsl", "stream", "schemas"):
        return strings(text, CODE)
    if path.suffix == ".js" and top == "adapters":
        return strings(text, SCRIPT)
    if path.suffix == ".lua" and top == "rules":
        return strings(EXPRESSION.sub(lambda found: "\n" * found.group().count("\n"), text), LUA)
    lines = FENCE.sub(lambda found: "\n" * found.group().count("\n"), text).splitlines()
    if path.suffix == ".md" and (here in PAGES or top == "docs" and "decisions" not in here):
        heads = {number for number, line in enumerate(lines) if line.startswith("|--")}  # of tables: the line before has titles
        return [(number, line) for number, line in enumerate(lines, 1) if number not in heads]
    if path.suffix == ".html" or here.startswith("tests/dsl/golden/"):
        return list(enumerate(lines, 1))
    return []


TERM = re.compile(r"\*\*([^*]+)\*\*")
MOST_TERMS = 35


def check_glossary(root):
    """The glossary has at most 35 entries, each of which some other page uses."""
    page = root / "docs/glossary.md"
    if not page.exists():
        return
    others = "\n".join(path.read_text(encoding="utf-8") for path in sorted(page.parent.rglob("*.md")) if path != page).lower()
    entries = [line.split("|")[1] for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| **")]
    if len(entries) > MOST_TERMS:
        yield f"docs/glossary.md: {len(entries)} entries, at most {MOST_TERMS}"
    for term in (term for entry in entries for term in TERM.findall(entry)):
        if not re.search(rf"\b{term.lower()}", others):
            yield f"docs/glossary.md: '{term}' is on no other page: take it out, or use it"


def check_words(root):
    """Nothing is named, explained or reported in an old word, and texts for users are plain English. Left out are the expressions of
    patterns and parsers, which quote logs, and this check with its tests."""
    yield from check_glossary(root)
    for path in walk(root):
        here = path.relative_to(root).as_posix()
        for number, text in texts(path, here):
            for form, instead in FORMS:
                for found in form.finditer(text):
                    yield f"{here}:{number}: '{found.group().strip()}' in '{text.strip()[:80]}' is not plain English: {instead}"
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
