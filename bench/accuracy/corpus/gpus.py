"""Figures of GPUs and nodes: nvidia-smi queries, exposition text, power readings, monitor records.

A query or a scrape is one look at a state that lasted. Such a look is held: repeated once a second until the next one, and for
HELD seconds after the last, so that rules which ask for a lasting state can decide.
"""

import re
from datetime import datetime, timezone

from .records import SECOND, SYNTHETIC_START, Item, Recording, json_lines, text_lines, to_number
from .stamps import stamp, times

HELD = 600
BEFORE = 3600   # of a machine's kernel log, only so many seconds before the first look belong to the job
NODE = "node0"  # one machine's figures name no node
MEBIBYTE = 1 << 20

QUERY_FIELDS = {  # section, key of nvidia-smi -q: signal, factor to our unit
    ("Utilization", "Gpu"): ("gr_engine_active", 0.01),
    ("Power Readings", "Power Draw"): ("gpu_power", 1),
    ("GPU Power Readings", "Power Draw"): ("gpu_power", 1),
    ("Temperature", "GPU Current Temp"): ("gpu_temperature", 1),
    ("FB Memory Usage", "Used"): ("gpu_memory_used", MEBIBYTE),
    ("Clocks", "SM"): ("sm_clock", 1),
}
REASON_BITS = {"Idle": 0x1, "Applications Clocks Setting": 0x2, "SW Power Cap": 0x4, "HW Slowdown": 0x8,
               "Sync Boost": 0x10, "SW Thermal Slowdown": 0x20, "HW Thermal Slowdown": 0x40,
               "HW Power Brake Slowdown": 0x80, "Display Clock Setting": 0x100}
MONITOR_FIELDS = {"gpu_usage": ("gr_engine_active", 0.01), "gpu_temperature": ("gpu_temperature", 1),
                  "gpu_power": ("gpu_power", 1), "gpu_mem_used": ("gpu_memory_used", 1),
                  "gpu_corrected_ecc": ("ecc_corrected", 1), "gpu_uncorrected_ecc": ("ecc_uncorrected", 1)}
EXPOSITION = re.compile(r"^([A-Za-z_:][\w:]*)\{([^}]*)\}\s+(\S+)")
PAIR = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
IDENTITY = {"rank", "local_rank", "ip", "job_name", "pod_name", "instance", "node", "hostname"}


def hang_queries(folder, queries, kernel_logs, shape="m4_hang"):
    """A machine's nvidia-smi queries and kernel logs, as one job whose ranks are its GPUs."""
    recording = Recording(shape)
    looks = sorted(((when, gpus) for path in queries for when, gpus in [query(path)] if when and gpus),
                   key=lambda look: look[0])
    buses = sorted({bus for _, gpus in looks for bus in gpus})
    begin = min(when for when, _ in looks) - BEFORE * SECOND if looks else 0
    for path in kernel_logs:
        lines = list(text_lines(path))
        for t, text in zip(times(lines)[0], lines):
            if t >= begin:
                recording.line(t, text, node=NODE, source="kernel_log")
    if not looks and len(recording):
        begin = recording.span()[0]
    recording.event(begin, "start", world_size=len(buses) or 1)
    for rank, bus in enumerate(buses):
        recording.event(begin, "member", rank=rank, node=NODE, gpu=bus)
    hold(recording, looks, buses)
    item = Item(id=f"{shape}-{folder.name}" if folder.name != shape else shape, shape=shape, label="C2",
                acceptable=["C3"], job=recording.job)
    return item, recording


def hold(recording, looks, buses):
    """The figures of each look, once a second until the next."""
    now = {}
    for index, (when, gpus) in enumerate(looks):
        now.update(gpus)
        until = looks[index + 1][0] if index + 1 < len(looks) else when + HELD * SECOND
        for t in range(when, until, SECOND):
            for bus, values in now.items():
                recording.values(t, values, rank=buses.index(bus), node=NODE, gpu=bus, source="nvml")


def query(path):
    """(time, {bus: values}) of the output of nvidia-smi -q."""
    when, gpus, bus, section = None, {}, None, ""
    for text in text_lines(path):
        if found := re.match(r"^GPU ([0-9A-Fa-f:.]+)\s*$", text):
            bus = found[1]
            gpus[bus] = {}
            continue
        key, colon, value = (part.strip() for part in text.partition(" : "))
        if not colon:
            section = key or section
        elif key == "Timestamp":
            when = parse_date(value)
        elif bus is not None:
            figure(gpus[bus], section, key, value)
    return when, gpus


def figure(values, section, key, text):
    """Takes one line of a query into a GPU's values."""
    if section in ("Clocks Throttle Reasons", "Clocks Event Reasons") and key in REASON_BITS:
        values["clock_event_reasons"] = values.get("clock_event_reasons", 0) | (REASON_BITS[key] if text == "Active" else 0)
    elif (section, key) in QUERY_FIELDS:
        signal, factor = QUERY_FIELDS[section, key]
        value = to_number(text.split()[0]) if text.split() else None
        if value is not None:
            values[signal] = value * factor


def parse_date(text):
    try:
        return int(datetime.strptime(text, "%a %b %d %H:%M:%S %Y").replace(tzinfo=timezone.utc).timestamp()) * SECOND
    except ValueError:
        return None


def exposition(path, shape="xpu_timer"):
    """A scrape of all ranks' gauges. Series that tell more than who they are about (a kernel, a quantile) are left out."""
    name = f"{shape}-{path.stem}"
    recording = Recording(name)
    ranks = {}
    for text in text_lines(path):
        if found := EXPOSITION.match(text):
            labels = dict(PAIR.findall(found[2]))
            value = to_number(found[3])
            if value is not None and labels.get("rank", "").isdigit() and not labels.keys() - IDENTITY:
                ranks.setdefault(int(labels["rank"]), (labels.get("ip") or labels.get("node"), {}))[1][found[1]] = value
    recording.event(SYNTHETIC_START, "start", world_size=max(ranks, default=0) + 1)
    for rank, (node, values) in sorted(ranks.items()):
        recording.event(SYNTHETIC_START, "member", rank=rank, node=node)
        for second in range(HELD + 1):
            recording.values(SYNTHETIC_START + second * SECOND, values, rank=rank, source="xpu_timer")
    label = "C2" if "hang" in path.stem.lower() else "G1"
    return Item(id=name, shape=shape, label=label, job=recording.job), recording


def power(folder, files, shape="mlperf"):
    """Power of each node, from MLPerf's power logs: one healthy job of one rank a node."""
    name = f"{shape}-{folder.name}"
    recording = Recording(name)
    nodes = []
    for path in files:
        readings = [(found[1], to_number(value[1])) for text in text_lines(path) if '"power_reading"' in text
                    and (found := stamp(text, 2026)) and (value := re.search(r'"value": ([0-9.]+)', text))]
        if readings:
            nodes.append(path.stem)
        for t, watts in readings:
            recording.values(t, {"node_power": watts}, node=path.stem, source="power")
    if len(recording):
        begin = recording.span()[0]
        recording.event(begin - SECOND, "start", world_size=len(nodes))
        for rank, node in enumerate(nodes):
            recording.event(begin - SECOND, "member", rank=rank, node=node)
    return Item(id=name, shape=shape, label="G1", job=recording.job), recording


def monitor(path, shape="superbench"):
    """Records of a GPU monitor: one object a line, with keys like `gpu_usage:3`."""
    name = f"{shape}-{path.stem}"
    recording = Recording(name)
    gpus = set()
    for entry in json_lines(path):
        found = stamp(str(entry.get("time", "")), 2026)
        if not found:
            continue
        by_gpu = {}
        for key, value in entry.items():
            field, _, index = key.partition(":")
            if field in MONITOR_FIELDS and index.isdigit() and isinstance(value, (int, float)):
                signal, factor = MONITOR_FIELDS[field]
                by_gpu.setdefault(int(index), {})[signal] = value * factor
                if field == "gpu_mem_used" and entry.get(f"gpu_mem_total:{index}"):
                    by_gpu[int(index)]["gpu_memory_used_ratio"] = round(value / entry[f"gpu_mem_total:{index}"], 6)
        for gpu, values in by_gpu.items():
            gpus.add(gpu)
            recording.values(found[1], values, rank=gpu, node=NODE, gpu=str(gpu), source="nvml")
    if len(recording):
        begin = recording.span()[0]
        recording.event(begin - SECOND, "start", world_size=max(gpus) + 1)
        for gpu in sorted(gpus):
            recording.event(begin - SECOND, "member", rank=gpu, node=NODE, gpu=str(gpu))
    return Item(id=name, shape=shape, label="G1", job=recording.job), recording
