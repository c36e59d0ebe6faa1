"""Who may include and link whom.

    adapters -> schemas -> stream
    adapters -> dsl/cases -> dsl/load -> dsl/lua -> dsl/text -> stream

and within stream: job -> ports -> rules -> windows -> graph -> topology -> values.

Each check takes the folder of the project and yields one line for each thing that is wrong: `file:line: what, and the remedy`.
"""

import re
from pathlib import Path
from typing import NamedTuple

INCLUDE = re.compile(r'^\s*#\s*(?:include|include_next|import)\s*([<"])([^>"]+)[>"]')
SOURCES = (".h", ".hpp", ".cpp", ".cc", ".c", ".inc", ".ipp")

DSL = ("dsl/cases", "dsl/load", "dsl/lua", "dsl/text")
# The components, the more specific first, and the components that each may include besides itself.
COMPONENTS = {
    "stream": (),
    "schemas": ("stream",),
    "dsl/text": ("stream",),
    "dsl": (),      # all is in the folders below
    "dsl/lua": ("dsl/text", "stream"),
    "dsl/load": ("dsl/lua", "dsl/text", "stream"),
    "dsl/cases": ("dsl/load", "dsl/lua", "dsl/text", "stream"),
    "adapters/cli": ("adapters", "adapters/kafka", "schemas", *DSL, "stream"),
    "adapters/kafka": ("adapters", "schemas", *DSL, "stream"),
    "adapters": ("adapters/kafka", "schemas", *DSL, "stream"),
}
# The folders of stream/, from the inside out: each may include the folders before it and itself. "stream" itself holds the ports.
INNER = ("values", "topology", "graph", "windows", "rules", "", "job")
BY_DEPTH = sorted(COMPONENTS, key=lambda component: -component.count("/"))

STANDARD = set("""
algorithm any array bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits cmath compare complex concepts
cstdarg cstddef cstdint cstdio cstdlib cstring ctime deque exception execution forward_list functional initializer_list iterator
limits list locale map memory memory_resource new numbers numeric optional queue random ranges ratio regex set source_location span
sstream stack stdexcept string string_view system_error tuple type_traits typeindex typeinfo unordered_map unordered_set utility
valarray variant vector version iosfwd iomanip ios istream ostream
""".split())
EXECUTION = {"atomic", "barrier", "condition_variable", "coroutine", "future", "latch", "mutex", "semaphore", "shared_mutex",
             "stop_token", "thread", "pthread.h", "threads.h", "stdatomic.h"}
INTRINSICS = {"immintrin.h", "emmintrin.h", "x86intrin.h", "cpuid.h"}


class Library(NamedTuple):
    """A library that lives in some components only."""

    name: str
    header: re.Pattern
    components: tuple


LIBRARIES = (
    Library("Lua", re.compile(r"^(lua\w*/)?(lua|lauxlib|lualib|luaconf|lua5\.4)\.(h|hpp)$"), ("dsl/lua", "dsl/load")),
    Library("Vectorscan", re.compile(r"^(hs/)?(hs|hs_common|hs_compile|hs_runtime|ch)\.h$"), ("dsl/text",)),
    Library("RE2", re.compile(r"^re2/"), ("dsl/text",)),
    Library("FlatBuffers", re.compile(r"^flatbuffers/|_generated\.h$"), ("schemas",)),
    Library("librdkafka", re.compile(r"^librdkafka/|^rdkafka"), ("adapters/kafka",)),
    Library("an HTTP library", re.compile(r"^curl/|^httplib|^boost/(beast|asio)|^microhttpd|^nghttp|^event2/|^civetweb|^crow"), ("adapters",)),
    Library("yaml-cpp", re.compile(r"^yaml-cpp/"), ("adapters",)),
    Library("prometheus-cpp", re.compile(r"^prometheus/"), ("adapters",)),
)

# Words that mean another executor, in code (comments and texts are taken out first).
SHARING = re.compile(r"\bstd::(?:\w*mutex|atomic\w*|lock_guard|unique_lock|scoped_lock|condition_variable\w*|thread|jthread|"
                     r"async|call_once|once_flag)\b|\bpthread_\w+")


def component_of(path):
    """The component that a path of the project lies in, or None."""
    return next((component for component in BY_DEPTH if path == component or path.startswith(component + "/")), None)


def inner_of(path):
    """The folder of stream/ that a path lies in: "" for stream/ itself, None outside of stream/."""
    parts = path.split("/")
    return None if parts[0] != "stream" else parts[1] if len(parts) > 2 else ""


def sources(root, folder):
    base = root / folder
    return sorted(path for path in base.rglob("*") if path.suffix in SOURCES) if base.is_dir() else []


def includes(path):
    """(line number, '<' or '"', what is included)"""
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found.group(1), found.group(2)


def check_includes(root):
    """No arrow but those above, and each library behind its own door."""
    for top in ("stream", "schemas", "dsl", "adapters"):
        for path in sources(root, top):
            here = path.relative_to(root).as_posix()
            component = component_of(here)
            for number, kind, target in includes(path):
                if problem := (judge_target(component, kind, target) or judge_inner(here, target) or judge_library(component, kind, target)):
                    yield f"{here}:{number}: {problem}"
    for path in sources(root, "bench"):
        for number, _, target in includes(path):
            if component_of(target) == "adapters/cli":
                yield f"{path.relative_to(root).as_posix()}:{number}: adapters/cli is included by nothing"


def judge_target(component, kind, target):
    """What is wrong with an include of one of our own files, or None."""
    there = component_of(target)
    if there is None:
        if kind == '"' and not any(library.header.search(target) for library in LIBRARIES):
            return f'"{target}" is no path from the root of the project: write "{component}/{target}", or <{target}> for a library'
        return None
    if kind == "<":
        return f'<{target}> is ours: write "{target}"'
    if ".." in target.split("/"):
        return f'"{target}": write the path from the root of the project'
    if there == "adapters/cli" and component != "adapters/cli":
        return f"{component} includes {target}: adapters/cli is included by nothing"
    if there != component and there not in COMPONENTS[component]:
        allowed = ", ".join(COMPONENTS[component]) or "nothing of ours"
        return f"{component} includes {target}: it may include {allowed}, besides itself"
    return None


def judge_inner(here, target):
    """What is wrong with an include of one folder of stream/ by another, or None."""
    inside, there = inner_of(here), inner_of(target)
    if inside is None or there is None:
        return None
    for folder in (inside, there):
        if folder not in INNER:
            return f"stream/{folder} has no place among the folders of stream/: add it to INNER in tests/project/arrows.py"
    if INNER.index(there) > INNER.index(inside):
        allowed = ", ".join(f"stream/{folder}" for folder in INNER[: INNER.index(inside)] if folder) or "no other folder of stream/"
        return f"{here.rsplit('/', 1)[0]} includes {target}: it may include {allowed}, besides itself"
    return None


def judge_library(component, kind, target):
    """What is wrong with an include of a library, or None."""
    for library in LIBRARIES:
        if library.header.search(target) and component not in library.components:
            where = " and ".join(library.components)
            return f"{component} includes {target}: {library.name} " + (f"belongs to {where} alone" if where else "has no component yet")
    if component_of(target) or kind == '"':
        return None
    if component in ("stream", *DSL) and target in EXECUTION:
        return f"{component} includes <{target}>: no mutex, atomic or thread here; executors belong to the adapters"
    if component == "stream" and target not in STANDARD | INTRINSICS | {"xxhash.h"}:
        return f"stream includes <{target}>: it knows only the standard library, without files, and xxHash"
    return None


def without_comments(text):
    """The text with comments and literals blanked, its lines kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def check_executors(root):
    """stream/ and dsl/ are one thread each: nothing in them is shared. And nowhere does anything belong to a thread: what is kept
    between calls is a member of somebody."""
    for top in ("stream", "schemas", "dsl", "adapters"):
        for path in sources(root, top):
            text = without_comments(path.read_text(encoding="utf-8", errors="replace"))
            for number, line in enumerate(text.splitlines(), 1):
                if re.search(r"\bthread_local\b", line):
                    yield (f"{path.relative_to(root).as_posix()}:{number}: thread_local in {component_of(path.relative_to(root).as_posix())}: what is kept between calls is "
                           "a member of the class that uses it, or a scratch that is passed")
    for top in ("stream", "dsl"):
        for path in sources(root, top):
            text = without_comments(path.read_text(encoding="utf-8", errors="replace"))
            for number, line in enumerate(text.splitlines(), 1):
                if found := SHARING.search(line):
                    yield f"{path.relative_to(root).as_posix()}:{number}: {found.group()} in {component_of(path.relative_to(root).as_posix())}: executors belong to the adapters"


# --- links -------------------------------------------------------------------------------------------------------------------------

LINK = re.compile(r"\b(tocsin_library|target_link_libraries|tocsin_test)\s*\(([^)]*)\)", re.DOTALL)


def libraries(root):
    """{library: component}, from every tocsin_library()."""
    found = {}
    for path in lists(root):
        text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8"))
        for kind, arguments in LINK.findall(text):
            if kind == "tocsin_library" and arguments.split():
                found[arguments.split()[0]] = component_of(path.parent.relative_to(root).as_posix())
    return found


def lists(root):
    for top in ("stream", "schemas", "dsl", "adapters"):
        if (root / top).is_dir():
            yield from sorted((root / top).rglob("CMakeLists.txt"))


def check_links(root):
    """Libraries are linked along the same arrows, and sources are listed."""
    components = libraries(root)
    for path in lists(root):
        here = path.relative_to(root).as_posix()
        component = component_of(path.parent.relative_to(root).as_posix())
        text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8"))
        if re.search(r"\bfile\s*\(\s*GLOB", text):
            yield f"{here}: sources are listed, never globbed"
        for _, arguments in LINK.findall(text):
            for word in arguments.split():
                there = components.get(word)
                if there and there != component and there not in COMPONENTS[component]:
                    yield f"{here}: {component} links {word}: it may link {', '.join(COMPONENTS[component]) or 'nothing of ours'}, besides itself"
