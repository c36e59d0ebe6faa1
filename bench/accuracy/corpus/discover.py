"""Finds every item of a corpus folder, by what the files are; only where content tells no label, the folder's name does."""

import csv
from pathlib import Path

from . import curves, dumps, gpus, logs, runs

# Logs without a label of their own, by the folder they lie in. None: the item is converted, and not scored.
FOLDER_LABELS = {"gpud": "B2", "superbench": "G1", "mlperf": "G1", "torchtitan": "G1", "progress": None}
NOT_RECORDINGS = {"formats"}  # single messages for decoders


def items(root):
    """Pairs of (item, recording), in a stable order, made one at a time."""
    root = Path(root)
    sources = list(logs.label_sources(root))
    for folder in [root, *sorted(path for path in root.rglob("*") if path.is_dir())]:
        if NOT_RECORDINGS & set(folder.relative_to(root).parts):
            continue
        yield from folder_items(folder, sources, root)


def folder_items(folder, sources, root):
    """The items whose files lie in this very folder."""
    if (folder / "meta.json").is_file():
        yield runs.run_item(folder)
        return
    if (folder / "labels.csv").is_file():
        yield from logs.excerpts(folder)
        return
    if any(parent_has(folder, name, root) for name in ("meta.json", "labels.csv")):
        return
    if dumps.dump_files(folder):
        yield dumps.dump_item(folder)
        return
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in SUFFIXES)
    queries = [path for path in files if begins_with(path, "NVSMI LOG")]
    if queries:
        yield gpus.hang_queries(folder, queries, [path for path in files if path.name.startswith("dmesg")])
        return
    readings = [path for path in files if begins_with(path, '"power_reading"')]
    if readings:
        yield gpus.power(folder, readings)
        return
    shape = shape_of(folder, root)
    for path in files:
        yield from file_items(path, shape, sources)


SUFFIXES = {".log", ".txt", ".out", ".csv", ".prom", ".jsonl"}


def file_items(path, shape, sources):
    """The item of one file, where it is one."""
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            columns = next(csv.reader(file), [])
        if "step" in columns and {"lm_loss", "loss"} & set(columns):
            yield curves.table(path, shape)
    elif path.suffix == ".prom":
        yield gpus.exposition(path, shape)
    elif path.suffix == ".jsonl":
        if begins_with(path, '"gpu_usage:'):
            yield gpus.monitor(path, shape)
    elif path.suffix == ".out":
        yield logs.job_output(path, sources)
    elif is_pairs(path):
        yield curves.pairs(path, shape)
    elif path.name.endswith("_reference.txt") or path.name.lower().startswith("readme"):
        return
    else:
        failed = "error" in path.stem.lower()  # an output of a tool that did not start: neither healthy nor a training
        yield logs.whole_log(path, shape, None if failed else FOLDER_LABELS.get(shape))


def shape_of(folder, root):
    """The name of the corpus part that a folder belongs to."""
    inside = folder.relative_to(root).parts
    return inside[0] if inside else root.resolve().name


def parent_has(folder, name, root):
    return any((parent / name).is_file() for parent in folder.parents if parent.is_relative_to(root))


def begins_with(path, text, within=4096):
    with open(path, encoding="utf-8", errors="replace") as file:
        return text in file.read(within)


def is_pairs(path):
    """Two numbers a line, as loss curves are kept."""
    with open(path, encoding="utf-8", errors="replace") as file:
        rows = [line.split() for line in file.read(4096).splitlines()[:-1]]
    return len(rows) > 2 and all(len(row) == 2 and row[0].isdigit() and row[1].replace(".", "", 1).isdigit() for row in rows)
