"""Hangs whose rank no log shows, and healthy jobs that pause as if they hung: what the tracer of collectives is for.

Each is run by `run --only collectives:`. A hang has to be found within 15 s, with its rank.
"""

from scenarios import Scenario, plain

WITHIN, BESIDE = 15, 60      # the latter where another thread of the rank works meanwhile
# Faults that a rank does alone, and those in which all take part.
ALONE = {"hangs": "sleeps", "loops": "loops in Python", "locks": "waits for a lock", "locks_beside": "waits for a lock beside a busy thread", "reads": "reads a pipe that stays empty",
         "stuck_loader": "loader worker that gives nothing", "leaves": "main thread that has ended"}
TOGETHER = {"mismatch": "calls another collective", "order": "enters two groups in another order"}


def hang(launcher, program, ranks, fault, culprit, *options, silent=False, lasts=25.0):
    words = {**ALONE, **TOGETHER}.get(fault, "is stopped")
    how = ", ".join([*(o.lstrip("-") for o in options if not o.isdigit()), *(["nothing printed"] if silent else [])])
    name = f"collectives: {launcher}, {ranks} ranks{', ' + how if how else ''}: rank {culprit} {words}" + (f" for {lasts:.0f} s" if lasts != 25 else "")
    length = {"plain.py": plain(50), "acc.py": ["--steps", "500"], "lit.py": ["--steps", "350"]}[program]
    # Of two ranks that wait in two groups none is at fault alone.
    return Scenario(name, launcher, program, ranks, [*length, *options, *(["--silent"] if silent else [])],
                    fault="" if fault == "stop" else f"{fault}:{culprit}", signal=f"stop:{lasts:.0f}" if fault == "stop" else "",
                    culprit=None if fault == "order" else culprit, family=("C2",), verdict=("C2", ""),
                    within=BESIDE if fault == "locks_beside" else WITHIN, after=10, lasts=lasts)


def healthy(launcher, program, ranks, what, *options, silent=False, fault="", lasts=25.0):
    return Scenario(f"collectives: {launcher}, {ranks} ranks, healthy: {what}" + (", nothing printed" if silent else ""), launcher, program, ranks,
                    [*options, *(["--silent"] if silent else [])], fault=fault, after=10, lasts=lasts)


ALL = [
    *(hang("torchrun", "plain.py", ranks, fault, culprit, *options, silent=silent)
      for fault, ranks, culprit, options, silent in [
          ("stop", 2, 1, (), True), ("stop", 4, 2, (), False), ("stop", 8, 5, (), True),
          ("hangs", 2, 0, (), True), ("hangs", 4, 3, (), False), ("hangs", 4, 1, ("--fsdp",), True),
          ("loops", 2, 1, (), True), ("loops", 4, 2, (), False), ("loops", 8, 7, (), True), ("loops", 4, 0, ("--fsdp",), True),
          ("locks", 2, 1, (), False), ("locks", 4, 3, (), True), ("locks", 4, 2, ("--fsdp",), False),
          ("reads", 2, 0, (), True), ("reads", 4, 1, (), False),
          ("stuck_loader", 2, 1, (), True), ("stuck_loader", 4, 2, (), False), ("stuck_loader", 4, 0, ("--fsdp",), True),
          ("leaves", 2, 1, (), True), ("leaves", 4, 3, (), False),
          ("mismatch", 2, 1, (), True), ("mismatch", 4, 2, (), False), ("mismatch", 8, 3, (), True),
          ("order", 2, 1, (), True), ("order", 4, 2, (), False)]),
    hang("torchrun", "plain.py", 4, "locks_beside", 2, lasts=75.0), hang("torchrun", "plain.py", 4, "locks", 0, "--norm", silent=True),
    hang("torchrun", "plain.py", 2, "hangs", 1, lasts=20.0), hang("torchrun", "plain.py", 4, "hangs", 2, lasts=20.0, silent=True),
    *(hang("spawn", "plain.py", ranks, fault, culprit, silent=silent)
      for fault, ranks, culprit, silent in [("stop", 3, 2, True), ("loops", 2, 0, False), ("locks", 3, 1, True), ("mismatch", 3, 1, False),
                                            ("order", 2, 1, True), ("stuck_loader", 3, 0, True)]),
    *(hang("accelerate", "acc.py", ranks, fault, culprit)
      for fault, ranks, culprit in [("stop", 2, 1), ("loops", 3, 2), ("hangs", 2, 0), ("mismatch", 3, 1)]),
    *(hang("lightning", "lit.py", ranks, fault, culprit, silent=silent)
      for fault, ranks, culprit, silent in [("stop", 2, 1, True), ("loops", 2, 1, True), ("locks", 3, 2, False)]),

    healthy("torchrun", "plain.py", 2, "rank 0 validates for 30 s", *plain(75, "--validation", 30, "--validates", 0)),
    healthy("torchrun", "plain.py", 4, "rank 0 validates for 20 s", *plain(75, "--validation", 20, "--validates", 0), silent=True),
    healthy("torchrun", "plain.py", 4, "rank 3 validates for 12 s, again and again", *plain(75, "--validation", 12, "--validates", 3, "--interval", 60)),
    healthy("torchrun", "plain.py", 4, "save of 20 s by rank 0, sharded", *plain(75, "--save", 20, "--fsdp"), silent=True),
    healthy("torchrun", "plain.py", 2, "save of 30 s by rank 0", *plain(75, "--save", 30)),
    healthy("torchrun", "plain.py", 4, "save of 15 s by rank 0", *plain(75, "--save", 15), silent=True),
    healthy("torchrun", "plain.py", 4, "save of 8 s by rank 0, again and again", *plain(75, "--save", 8, "--interval", 60)),
    healthy("spawn", "plain.py", 3, "save of 20 s by rank 0", *plain(75, "--save", 20), silent=True),
    healthy("spawn", "plain.py", 2, "rank 0 validates for 20 s", *plain(75, "--validation", 20, "--validates", 0)),
    healthy("torchrun", "plain.py", 2, "one rank compiles", *plain(60, "--compile", "0")),
    healthy("torchrun", "plain.py", 4, "all compile", *plain(60, "--compile", "all"), silent=True),
    healthy("torchrun", "plain.py", 2, "data of rank 1 ends first", *plain(75, "--uneven", 1)),
    healthy("torchrun", "plain.py", 4, "data of rank 2 ends first", *plain(75, "--uneven", 2), silent=True),
    healthy("torchrun", "plain.py", 8, "eight ranks on a small machine", *plain(60), silent=True),
    healthy("torchrun", "plain.py", 4, "sharded", *plain(60, "--fsdp"), silent=True),
    healthy("torchrun", "plain.py", 2, "workers by spawn", *plain(60, "--context", "spawn", "--workers", 4)),
    healthy("accelerate", "acc.py", 2, "a bar", "--steps", "600"),
    healthy("accelerate", "acc.py", 4, "a bar, four ranks", "--steps", "400"),
    healthy("lightning", "lit.py", 2, "a bar", "--steps", "500"),
    healthy("lightning", "lit.py", 3, "three ranks", "--steps", "400", silent=True),
    healthy("torchrun", "plain.py", 4, "rank 0 sleeps for 85 s before the first collective", *plain(20), silent=True, fault="late:0", lasts=85),
    healthy("torchrun", "plain.py", 4, "rank 0 waits for a process of its own for 60 s", *plain(90), silent=True, fault="child:0", lasts=60),
    healthy("torchrun", "plain.py", 4, "a thread computes for rank 0, which waits for it", *plain(60), silent=True, fault="pool:0", lasts=12),
    healthy("torchrun", "serve.py", 4, "a server that has no requests for 100 s"),
]
