"""The telemetry of the chaos tests: some jobs of four ranks, each with faults, as JSON lines; the same for the same seed and beginning."""

import json
import random

RANKS = 4
AFTER_THE_END = 128    # seconds of a job's clock from its end to its verdict, and some
LASTS = "lasts"        # what the names of the jobs begin with that have no end: their alerts fire when all else is over


class Job:
    """One job: steps of its ranks from `begin` to `end`, in seconds of the plan, and what goes wrong meanwhile."""

    def __init__(self, draw, name, begin, end, first):
        self.draw, self.name, self.first = draw, name, first     # first: the moment that second 0 of the plan is
        self.begin, self.end = begin, end
        self.records = []

    def put(self, at, **record):
        self.records.append({"t": round(self.first + at, 3), "job": self.name, **record})

    def node(self, rank):
        return f"{self.name}-n{rank // 2}"

    def start(self):
        self.put(self.begin, event="start", world_size=RANKS)
        for rank in range(RANKS):
            self.put(self.begin + 0.001 * rank, event="member", rank=rank, node=self.node(rank), gpu=f"0000:{rank % 2 + 1}0:00.0")

    def stretch(self, shortest, longest):
        """A span of time somewhere between the first seconds and the last ones."""
        lasting = self.draw.uniform(shortest, longest)
        begin = self.draw.uniform(self.begin + 3, max(self.begin + 4, self.end - lasting - 2))
        return begin, begin + lasting

    def steps(self):
        gap = self.draw.uniform(0.4, 0.8)
        silence, slow, climb = self.stretch(6, 9), self.stretch(10, 14), self.stretch(6, 9)
        slow_rank = self.draw.randrange(RANKS)
        at, step = self.begin + 1.0, 0
        while at < self.end - 0.5:
            if silence[0] <= at < silence[1]:
                at = silence[1]
            step += 1
            for rank in range(RANKS):
                own = 0.2 * self.draw.uniform(0.98, 1.02) * (2.4 if rank == slow_rank and slow[0] <= at < slow[1] else 1)
                values = {"step": step, "step_time": round(gap, 4), "compute_time": round(own, 4)}
                if rank == 0:
                    values["loss"] = round((9 if climb[0] <= at < climb[1] else 3) * self.draw.uniform(0.99, 1.01), 4)
                self.put(at + 0.01 * rank, rank=rank, values=values)
            if step % 5 == 0:
                self.put(at + 0.1, rank=step % RANKS, line=f"step {step} of {self.name} is done")
            at += gap
        for _ in range(self.draw.randrange(1, 4)):
            rank = self.draw.randrange(RANKS)
            self.put(self.draw.uniform(self.begin + 2, self.end - 2), event="xid", node=self.node(rank), gpu=f"0000:{rank % 2 + 1}0:00.0",
                     code=self.draw.choice([31, 79, 94]))

    def finish(self):
        self.put(self.end, event="end", reason=self.draw.choice(["completed", "failed"]))


def telemetry(seed, first, jobs, active, spread):
    """The lines. `first`: when the plan begins, seconds since 1970; `active`: seconds in which jobs make steps, and begin in this part of them."""
    draw = random.Random(seed)
    records = []
    for number in range(jobs):
        begin = draw.uniform(0, active * spread)
        job = Job(draw, f"job{number}", begin, draw.uniform(active * 0.85, active), first)
        job.start(), job.steps(), job.finish()
        records += job.records
    for name, begin in (LASTS, 1), (LASTS + "-longer", active * spread):
        lasts = Job(draw, name, begin, max(active * 0.6, begin + 12), first)
        lasts.start(), lasts.steps()
        records += lasts.records
    return [json.dumps(record) for record in sorted(records, key=lambda one: one["t"])]
