"""Recorded training runs: output of every rank, figures from /proc, step times, scheduler events.

From meta.json only what any site knows is given on: job id, world size, which rank ran on which node. Its label goes to the
item and never into a record; its injection is not read at all.
"""

import json
import re
from pathlib import Path

from .records import SECOND, Item, Recording, json_lines

STATES = {"running": "running", "sleeping": "sleeping", "idle": "sleeping", "disk-sleep": "disk_sleep",
          "disk_sleep": "disk_sleep", "stopped": "stopped", "tracing-stop": "stopped", "tracing_stop": "stopped",
          "zombie": "zombie", "dead": "zombie"}
END_REASONS = {"COMPLETED": "completed", "FAILED": "failed", "BOOT_FAIL": "failed", "TIMEOUT": "timeout",
               "DEADLINE": "timeout", "CANCELLED": "cancelled", "NODE_FAIL": "node_fail", "PREEMPTED": "preempted",
               "REQUEUED": "requeued", "OUT_OF_MEMORY": "oom"}
# Slurm's words for a node, the worst first: a state is several of them, joined by "+".
NODE_STATES = [("NOT_RESPONDING", "not_responding"), ("NO_RESPOND", "not_responding"), ("DOWN", "down"),
               ("FAIL", "fail"), ("DRAIN", "drain"), ("ERROR", "fail")]
CGROUP_USE = re.compile(r"(?:cgroup|memcg|cg_).*(?:current|usage|used)|(?:cgroup|memcg)_(?:memory|mem)_bytes$")
CGROUP_LIMIT = re.compile(r"(?:cgroup|memcg|cg_).*(?:limit|max)")


def run_item(folder):
    """(item, recording) of one run's folder."""
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    label = meta.get("label") or {}
    name = meta.get("run_id") or folder.name
    item = Item(id=f"runs-{name}", shape="runs", label=label.get("family"),
                acceptable=label.get("acceptable") or [], must_not_fire=label.get("must_not_fire") or [],
                culprit_ranks=label.get("culprit_ranks") or [], fault_time=label.get("fault_time"),
                is_run=True, job=str(meta.get("job_id") or name))
    return item, Run(folder, meta, item.job).recording


class Run:
    """Reads one run's folder into a recording."""

    def __init__(self, folder, meta, job):
        self.folder = Path(folder)
        self.recording = Recording(job, job)
        self.world_size = meta.get("world_size")
        self.ranks = meta.get("ranks") or []
        self.nodes = {rank.get("node") for rank in self.ranks if rank.get("node")}
        self.ended = set()
        events = list(json_lines(self.folder / "events.jsonl"))
        coverage = {"scheduler": bool(events)}
        self.events(events)
        coverage["log"] = self.logs()
        coverage["sampler"] = self.processes()
        coverage["profiler"] = self.steps()
        self.machine()
        self.attempts(meta, events)
        self.end_by_accounting(events)
        self.listen(coverage)

    def attempts(self, meta, events):
        """The start of each attempt, with its members: at the scheduler's word, else at the first process."""
        starts = {}
        for event in events:
            if event.get("event") == "job_start":
                starts.setdefault(event.get("attempt") or 1, event)
        for rank in sorted(self.ranks, key=lambda rank: rank.get("start") or 0):
            starts.setdefault(rank.get("attempt") or 1, {"t": rank.get("start") or meta.get("start")})
        if not starts and meta.get("start"):
            starts[1] = {"t": meta["start"]}
        begins = {}
        for attempt, event in starts.items():
            # The scheduler is polled, so a process may print before the scheduler reports that its job has started.
            t = min(event["t"], self.recording.first_of_attempt(attempt) or event["t"])
            begins[attempt] = t
            labels = {key: str(event[key]) for key in ("partition", "time_limit", "name", "restarts") if event.get(key)}
            self.recording.event(t, "start", attempt=attempt, source="scheduler", labels=labels or None,
                                 world_size=event.get("world_size") or self.world_size)
            for rank in self.ranks:
                if (rank.get("attempt") or 1) == attempt and rank.get("node"):
                    self.recording.event(t, "member", attempt=attempt, rank=rank["rank"], node=rank["node"],
                                         source="scheduler")
        self.starts = begins
        self.recording.not_before(min(begins.values(), default=0))

    def events(self, events):
        """What the scheduler and the kernel reported. A second end of an attempt (a corrected exit code) adds nothing."""
        for event in sorted(events, key=lambda event: event.get("t", 0)):
            kind, attempt, t = event.get("event"), event.get("attempt"), event.get("t")
            if t is None:
                continue
            if kind in ("job_end", "job_requeued") and attempt not in self.ended:
                self.ended.add(attempt)
                self.recording.event(t, "end", attempt=attempt, source="scheduler", reason=end_reason(event),
                                     code=event.get("exit_code"), signal=event.get("signal") or None)
            elif kind == "cancel_requested":
                self.recording.event(t, "cancel_requested", attempt=attempt, source="scheduler",
                                     reason=event.get("reason"))
            elif kind == "node_state" and event.get("node"):
                self.recording.add(t, signal="node_state", value=node_state(event.get("state")), node=event["node"],
                                   source="scheduler")
            elif event.get("source") == "kernel" or kind == "kernel_log":
                text = event.get("text") or event.get("line") or event.get("message") or event.get("msg")
                for node in [event["node"]] if event.get("node") else sorted(self.nodes) or [None]:
                    if text:
                        self.recording.line(t, text, node=node, source="kernel_log")

    def end_by_accounting(self, events):
        """Where the scheduler's polled state never showed an end, its accounting record tells it."""
        last = max(self.starts, default=1)
        for event in events:
            state = (event.get("record") or {}).get("state")
            if event.get("event") == "jobcomp" and state and last not in self.ended:
                self.ended.add(last)
                self.recording.event(event["t"], "end", attempt=last, source="scheduler",
                                     reason=end_reason({"state": state}))

    def logs(self):
        """Every line of every stream; whether there was a stream at all. A piece that ends in a carriage return is a line of its own, as our collector cuts it."""
        any_file = False
        for path in sorted((self.folder / "logs").glob("*")):
            any_file = True   # an empty one, too, was listened to
            for entry in json_lines(path):
                if "text" not in entry or "t" not in entry:
                    continue
                self.log_line(entry, entry["text"])
        return any_file

    def log_line(self, entry, text):
        self.recording.line(entry["t"], text, rank=entry.get("rank"), attempt=entry.get("attempt"),
                            stream=entry.get("stream"))

    def processes(self):
        """Figures of each rank's process, once a second."""
        any_sample = False
        for entry in json_lines(self.folder / "metrics.jsonl"):
            if entry.get("rank") is None or "t" not in entry:
                continue
            user, system = entry.get("cpu_user_ratio"), entry.get("cpu_system_ratio")
            wait = entry.get("wchan")
            self.recording.values(entry["t"], {
                "process_cpu": None if user is None and system is None else round((user or 0) + (system or 0), 4),
                "process_state": STATES.get(entry.get("state"), entry.get("state")),
                "process_rss": entry.get("rss_bytes"),
                "wait_channel": None if wait is None else str(wait),
                "collective_launched": entry.get("coll_launched"),
                "collective_done": entry.get("coll_done"),
            }, rank=entry["rank"], attempt=entry.get("attempt"), source="sampler")
            any_sample = True
        return any_sample

    def steps(self):
        """Where each step's time went, of each rank."""
        any_step = False
        for entry in json_lines(self.folder / "steps.jsonl"):
            if entry.get("rank") is None or "t" not in entry:
                continue
            self.recording.values(entry["t"], {
                "step": entry.get("step"), "step_time": entry.get("step_time_s"),
                "compute_time": entry.get("compute_time_s"), "data_time": entry.get("data_wait_s"),
                "comm_time": entry.get("comm_wait_s"),
            }, rank=entry["rank"], attempt=entry.get("attempt"), source="profiler")
            any_step = True
        return any_step

    def machine(self):
        """Memory of the machine's job group, for each node of the job (one machine plays them all)."""
        for entry in json_lines(self.folder / "node.jsonl"):
            use = first_match(entry, CGROUP_USE)
            limit = first_match(entry, CGROUP_LIMIT)
            if use is None and entry.get("mem_total_bytes") and entry.get("mem_available_bytes"):
                use = entry["mem_total_bytes"] - entry["mem_available_bytes"]
                limit = entry["mem_total_bytes"]
            own = entry.get("node")
            for node in [own] if own in self.nodes or not self.nodes else sorted(self.nodes):
                self.recording.values(entry["t"], {"host_memory_used": use, "host_memory_limit": limit},
                                      node=node, source="sampler")

    def listen(self, coverage):
        """The collectors listen to the whole job throughout, whether anybody speaks or not."""
        if not len(self.recording):
            return
        first, last = self.recording.span()
        begin = min(self.starts.values(), default=first)
        for source, present in coverage.items():
            if present:
                self.recording.coverage(begin, max(last, begin + SECOND), source)


def end_reason(event):
    """The end_reason for how the scheduler says that an attempt ended."""
    named = f"{event.get('state') or ''} {event.get('reason') or ''}".upper().replace(" ", "_")
    if event.get("event") == "job_requeued":
        for word, reason in (("PREEMPT", "preempted"), ("NODE_FAIL", "node_fail"), ("NODEFAIL", "node_fail")):
            if word in named:
                return reason
        return "requeued"
    return END_REASONS.get(str(event.get("state") or "").split()[0].rstrip("+") if event.get("state") else "", "unknown")


def node_state(named):
    """The node_state for a state in Slurm's words."""
    parts = re.split(r"[+\s]", (named or "").upper().replace("*", "+NOT_RESPONDING"))
    for word, state in NODE_STATES:
        if any(part.startswith(word) for part in parts):
            return state
    return "up" if named else None


def first_match(entry, pattern):
    return next((value for key, value in entry.items() if pattern.search(key) and isinstance(value, (int, float))), None)
