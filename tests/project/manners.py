"""What else is checked of the project: headers that stand alone, paths in the documentation that exist, sizes, names."""

import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from arrows import sources, without_comments

TOPS = ("stream", "schemas", "dsl", "adapters")
SKIPPED = {".git", "build", "__pycache__", ".cache", "shared"}
CODE = (".h", ".cpp", ".inc", ".lua", ".py", ".fbs", ".cmake", ".js", ".html", ".css")
MOST_LINES, COLUMNS = 400, 120


def walk(root):
    """Every file of the project, without what was built."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in SKIPPED)
        yield from (Path(folder) / name for name in sorted(files))


# --- headers -----------------------------------------------------------------------------------------------------------------------

def compile_flags(build, root):
    """{folder: the flags that its sources are compiled with}, from compile_commands.json."""
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        folder = Path(entry["file"]).parent
        if folder in flags or not folder.is_relative_to(root):
            continue
        words, kept, skip = shlex.split(entry["command"]), [], False
        for word in words:
            if skip:
                skip = False
            elif word in ("-o", "-c", "-MF", "-MT", "-MQ", "-include"):
                skip = True
            elif not word.startswith("-M") and not word.endswith(".cpp"):
                kept.append(word)
        flags[folder] = kept
    return flags


def check_headers(root, build):
    """Every header is guarded and compiles alone, with the flags of its folder (one of which nothing is built yet is left out). One that
    its own source includes first has been compiled so already."""
    flags = compile_flags(build, root)
    cache = [shutil.which("ccache")] if shutil.which("ccache") else []
    work = build / "tests" / "project" / "headers"
    work.mkdir(parents=True, exist_ok=True)

    def compile_alone(header):
        here = header.relative_to(root).as_posix()
        command = flags[header.parent]
        unit = work / (here.replace("/", "_") + ".cpp")
        text = f'#include "{here}"\n'
        if not unit.exists() or unit.read_text(encoding="utf-8") != text:
            unit.write_text(text, encoding="utf-8")
        outcome = subprocess.run([*cache, *command, "-o", f"{unit}.o", "-c", str(unit)], capture_output=True, text=True, cwd=build)
        if outcome.returncode == 0:
            return None
        errors = [line for line in outcome.stderr.splitlines() if "error:" in line][:3] or outcome.stderr.splitlines()[:3]
        return f"{here} does not compile alone:\n    " + "\n    ".join(errors)

    def includes_first(source, header):
        lines = source.read_text(encoding="utf-8").splitlines() if source.exists() else []
        return next((line for line in lines if line.startswith("#include")), "") == f'#include "{header.relative_to(root).as_posix()}"'

    headers = [path for top in TOPS for path in sources(root, top) if path.suffix in (".h", ".hpp") and path.parent in flags]
    for header in headers:
        if "#pragma once" not in header.read_text(encoding="utf-8").splitlines():
            yield f"{header.relative_to(root).as_posix()} may be included once only: begin it with #pragma once"
    alone = [header for header in headers if not includes_first(header.with_suffix(".cpp"), header)]
    with ThreadPoolExecutor(os.cpu_count() or 2) as workers:
        yield from (problem for problem in workers.map(compile_alone, alone) if problem)


# --- documentation -----------------------------------------------------------------------------------------------------------------

FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"^\.?[\w][\w.*-]*(?:/[\w.*-]+)*/?$")


def check_documents(root):
    """Paths that the documentation names exist: links, and quoted words that begin with a folder of ours."""
    tops = {path.name for path in root.iterdir() if path.is_dir() and path.name not in SKIPPED}
    for document in walk(root):
        if document.suffix != ".md":
            continue
        text = FENCE.sub(lambda found: "\n" * found.group().count("\n"), document.read_text(encoding="utf-8"))
        here = document.relative_to(root).as_posix()
        for number, line in enumerate(text.splitlines(), 1):
            for target in LINK.findall(line):
                if "://" not in target and not target.startswith("mailto:") and not exists(document.parent, target):
                    yield f"{here}:{number}: the link to {target} leads nowhere"
            for word in (word for quoted in QUOTED.findall(line) for word in quoted.split()):
                if names_a_path(word, tops) and not exists(root, word) and not exists(document.parent, word):
                    yield f"{here}:{number}: {word} does not exist"


def names_a_path(word, tops):
    return "/" in word and bool(PATH.match(word)) and word.split("/")[0] in tops


def exists(base, target):
    if "*" in target:
        return any(base.glob(target.rstrip("/")))
    return (base / target).exists()


# --- sizes and names ---------------------------------------------------------------------------------------------------------------

VAGUE = re.compile(r"\b(?:class|struct|namespace)\s+(\w*(?:Manager|Helper|Util|Utils|_utils|_helpers))\b")


def check_names(root):
    """Nothing is called Manager, Helper or Utils."""
    for top in TOPS:
        for path in sources(root, top):
            text = without_comments(path.read_text(encoding="utf-8", errors="replace"))
            for number, line in enumerate(text.splitlines(), 1):
                if found := VAGUE.search(line):
                    yield f"{path.relative_to(root).as_posix()}:{number}: {found.group(1)} says nothing: name what it is"


def check_sizes(root):
    """A file of code has at most 400 lines of 120 columns; a longer line counts as two."""
    for folder in ("stream", "schemas", "dsl", "adapters", "rules", "tests"):
        for path in walk(root / folder):
            if path.suffix not in CODE:
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            lines = sum(max(1, -(-len(line) // COLUMNS)) for line in text.splitlines())
            if lines > MOST_LINES:
                yield f"{path.relative_to(root).as_posix()}: {lines} lines of {COLUMNS} columns, at most {MOST_LINES}: split it by idea"
