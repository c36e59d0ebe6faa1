"""Flight Recorder dumps of PyTorch: what each rank had launched and completed of each process group when it hung."""

import json
import re

from .records import SECOND, SYNTHETIC_START, Item, Recording

DUMP = re.compile(r"dump_?(\d+)(?:\.json)?$")
HELD = 180  # seconds that the hang lasts after the dumps: long enough for a rule to be sure
STAGES = "PIPELINE_MODEL_PARALLEL_GROUP"
TENSORS = "TENSOR_MODEL_PARALLEL_GROUP"


def dump_files(folder):
    """{rank: path} of the dumps in a folder."""
    found = {int(match[1]): path for path in sorted(folder.iterdir())
             if path.is_file() and (match := DUMP.search(path.name))}
    return found


def dump_item(folder):
    """One job: how far each rank is, over the time that its dump still remembers; then the hang is held."""
    name = f"flight_recorder-{folder.name}"
    recording = Recording(name)
    dumps = {}
    for rank, path in dump_files(folder).items():
        try:
            dumps[rank] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue  # a torn dump: the rank stays silent, as it did
    world_size = max([rank for dump in dumps.values() for rank in members(dump)] + list(dumps), default=0) + 1
    created = [t for dump in dumps.values() for t in entry_times(dump)]
    begin = min(created, default=SYNTHETIC_START + SECOND) - SECOND
    last = max(created, default=begin) + SECOND
    recording.event(begin, "start", world_size=world_size)
    places = positions(dumps)
    base = min((done for _, done in places.values()), default=0)
    for rank, dump in sorted(dumps.items()):
        recording.event(begin, "member", rank=rank, **coordinates(dump, rank))
        tell(recording, rank, base, places[rank], entry_times(dump), begin, last)
    recording.coverage(begin, last + HELD * SECOND, "sampler", ranks=list(range(world_size)))
    item = Item(id=name, shape="flight_recorder", label="C2", culprit_ranks=culprits(folder), job=recording.job)
    return item, recording


def entry_times(dump):
    """When the rank launched the collectives that the dump still remembers."""
    return sorted(entry["time_created_ns"] for entry in dump.get("entries") or [] if entry.get("time_created_ns"))


def positions(dumps):
    """{rank: (launched, done)} on one scale for all ranks.

    A rank belongs to many groups, and two ranks rarely to the same ones, so their totals cannot be compared. How far a rank is
    behind the furthest member of a group can be: a rank's place is the largest total less the most that it lacks in any group.
    """
    groups, largest = {}, 0
    for rank, dump in dumps.items():
        own = group_counts(dump)
        largest = max(largest, sum(launched for launched, _ in own.values()))
        for group, counts in own.items():
            groups.setdefault(group, {})[rank] = counts
    lacks = {rank: [0, 0] for rank in dumps}
    for members_of in groups.values():
        front = max(launched for launched, _ in members_of.values())
        for rank, counts in members_of.items():
            for index in (0, 1):
                lacks[rank][index] = max(lacks[rank][index], front - counts[index])
    return {rank: (largest - lack[0], largest - lack[1]) for rank, lack in lacks.items()}


def group_counts(dump):
    """{group: (launched, completed)} of the groups whose members all take part in each collective."""
    config, status = dump.get("pg_config") or {}, dump.get("pg_status") or {}
    entries = dump.get("entries") or []
    # Status goes by a number of the rank's own, in the order in which the groups were made; entries tell both.
    names = dict(zip(sorted(status, key=natural), sorted(config, key=natural)))
    names.update({str(entry["pg_id"]): entry["process_group"][0] for entry in entries if entry.get("process_group")})
    pairwise = {entry["process_group"][0] for entry in entries if entry.get("is_p2p") and entry.get("process_group")}
    pairwise |= {name for name, group in config.items() if str(group.get("desc", "")).startswith("PIPELINE")}
    return {names[key]: (max(0, value.get("last_enqueued_collective") or 0), max(0, value.get("last_completed_collective") or 0))
            for key, value in status.items() if key in names and names[key] not in pairwise}


def natural(name):
    return (0, int(name), "") if name.isdigit() else (1, 0, name)


def members(dump):
    """The ranks that the dump's process groups name."""
    ranks = []
    for group in (dump.get("pg_config") or {}).values():
        ranks += rank_list(group)
    return ranks


def rank_list(group):
    return [int(digits) for digits in re.findall(r"\d+", str(group.get("ranks") or ""))]


def coordinates(dump, rank):
    """Where the rank stands in the model, from the groups that it belongs to."""
    result = {}
    for group in (dump.get("pg_config") or {}).values():
        ranks = rank_list(group)
        if rank not in ranks:
            continue
        if group.get("desc") == STAGES:
            result["pipeline_stage"] = ranks.index(rank)
        elif group.get("desc") == TENSORS:
            result["tensor_rank"] = ranks.index(rank)
    return result


def tell(recording, rank, base, place, launches, begin, last):
    """The rank's counts: all ranks alike at the begin, one more at each launch that is remembered, then held."""
    launched, done = place
    recording.values(begin, {"collective_launched": base, "collective_done": base}, rank=rank, source="sampler")
    for index, t in enumerate(launches):
        now = min(launched, base + 1 + index)
        recording.values(t, {"collective_launched": now, "collective_done": min(now, done)}, rank=rank, source="sampler")
    for second in range(HELD + 1):
        recording.values(last + second * SECOND, {"collective_launched": launched, "collective_done": done},
                         rank=rank, source="sampler")


def culprits(folder):
    """The ranks that the reference beside the dumps calls missing, else those that the injection's log names."""
    reference = folder.parent / f"{folder.name}_reference.txt"
    if reference.is_file():
        ranks = {int(rank) for text in reference.read_text(encoding="utf-8").splitlines()[1:] if "|" in text
                 for rank in re.findall(r"\d+", text.split("|")[-1])}
        if ranks:
            return sorted(ranks)
    injection = folder / "fault_injection.log"
    if injection.is_file():
        return sorted({int(rank) for rank in re.findall(r"^Rank (\d+)", injection.read_text(encoding="utf-8"), re.M)})
    return []
