"""Which rank a log line comes from, by its prefix."""

import re

# Prefixes that name a rank wherever they occur at the start of a line.
NAMED = re.compile(r"^(?:\s*\d+: |\([^)]{0,60}\) )?\[(?:rank|default|trainer|worker)(\d+)\]:?")
# "[Rank 3]" behind a stamp and the place in the source, as DeepSpeed and the watchdogs of PyTorch write it.
WITHIN = re.compile(r"^.{0,110}?\[(?:PG (?:ID )?\d+[^\]]{0,60} )?Rank (\d+)\]")
# "host:pid:tid [3] NCCL": the number is the rank on its host.
NCCL = re.compile(r"^(?:\[[^\]]*\] )?([\w.-]+):\d+:\d+ \[(\d+)\] .{0,80}?NCCL ")
# "3: text", srun -l: believed only where most lines have it.
TASK = re.compile(r"^\s*(\d{1,5}): ")
TASK_SHARE = 0.5
# Where fewer lines than this name a rank, the log is one stream of a whole job in which a few lines speak about ranks.
NAMED_SHARE = 0.1


def ranks_of(lines):
    """A rank for each line; None for what no rank printed (the launcher). Where hardly a line names a rank, all are rank 0's."""
    own = [text for text in lines if text.strip()]
    labelled = sum(bool(TASK.match(text)) for text in own) >= max(2, TASK_SHARE * len(own))
    hosts = {found[1] for text in lines if (found := NCCL.match(text))}
    ranks, last = [], None
    for text in lines:
        rank = rank_of(text, labelled, one_host=len(hosts) <= 1)
        if rank is None and last is not None and text[:1] in (" ", "\t"):
            rank = last  # the rest of a wrapped line, or of a record of several lines
        ranks.append(rank)
        last = rank
    named = {rank for rank in ranks if rank is not None}
    if len(named) > 1 and sum(rank is not None for rank in ranks) < NAMED_SHARE * len(own):
        return [0] * len(lines)
    if len(named) <= 1:
        return [next(iter(named), 0)] * len(lines)
    return ranks


def rank_of(text, labelled, one_host):
    """The rank that this line's own prefix names, or None."""
    if found := NAMED.match(text) or WITHIN.match(text):
        return int(found[1])
    if one_host and (found := NCCL.match(text)):
        return int(found[2])
    if labelled and (found := TASK.match(text)):
        return int(found[1])
    return None
