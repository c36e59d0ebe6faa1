"""The scenarios: what is run, which fault it has, and what has to be found.

family: what the verdict or an alert must name, or several that are right; none: nothing may alarm.
verdict: the families that a verdict may name, "" standing for none; not given: those of `family`, and of a healthy job none or G1.
within: seconds from the fault to the first alert of that family, or from the end of the job where only that tells ("end").
"""

from dataclasses import dataclass, field


@dataclass
class Scenario:
    name: str
    launcher: str                      # torchrun, spawn, alone, lightning, accelerate, notebook, bare
    program: str
    ranks: int = 2
    options: list = field(default_factory=list)
    fault: str = ""                    # what the program does itself: see trainers/faults.py
    signal: str = ""                   # what `run` does from outside: stop:SECONDS or kill
    culprit: int | None = None
    family: tuple = ()
    verdict: tuple = ()
    within: float = 60
    after: float = 20                  # seconds from the first step to the fault
    lasts: float = 60
    port: bool = False                 # the port of the rendezvous is taken

    def __post_init__(self):
        self.verdict = self.verdict or self.family or ("", "G1")

    @property
    def healthy(self):
        return not self.family


def plain(seconds, *more):
    return ["--seconds", str(seconds), *map(str, more)]


HANG = ("C2",)
ALL = [
    # ---- torchrun and a loop of one's own ----
    Scenario("torchrun: healthy, four ranks", "torchrun", "plain.py", 4, plain(80)),
    Scenario("torchrun: healthy, workers by spawn", "torchrun", "plain.py", 2, plain(80, "--context", "spawn")),
    Scenario("torchrun: stop of 45 s", "torchrun", "plain.py", 2, plain(100), signal="stop:45", culprit=1, family=HANG, within=20),
    Scenario("torchrun: stop of 60 s, rank 0", "torchrun", "plain.py", 2, plain(110), signal="stop:60", culprit=0, family=HANG, within=20),
    Scenario("torchrun: stop of 120 s, four ranks", "torchrun", "plain.py", 4, plain(170), signal="stop:120", culprit=2, family=HANG, within=20),
    Scenario("torchrun: kill", "torchrun", "plain.py", 4, plain(100), signal="kill", culprit=3, family=("A2",)),
    Scenario("torchrun: exception", "torchrun", "plain.py", 4, plain(100), fault="exception:2", culprit=2, family=("A1",)),
    Scenario("torchrun: loss is NaN", "torchrun", "plain.py", 2, plain(60), fault="nan", family=("E1",)),
    Scenario("torchrun: exploding rate", "torchrun", "plain.py", 2, plain(70), fault="rate", family=("E1",)),
    Scenario("torchrun: straggler by sleep", "torchrun", "plain.py", 4, plain(130), fault="sleeps:1", culprit=1, family=("D3",)),
    Scenario("torchrun: straggler by CPU", "torchrun", "plain.py", 4, plain(130), fault="computes:2", culprit=2, family=("D3",)),
    Scenario("torchrun: silent validation of 60 s", "torchrun", "plain.py", 2, plain(110, "--validation", 60)),
    Scenario("torchrun: save of 60 s by rank 0", "torchrun", "plain.py", 4, plain(110, "--save", 60)),
    Scenario("torchrun: nothing printed", "torchrun", "plain.py", 2, plain(100, "--silent")),
    Scenario("torchrun: port taken", "torchrun", "plain.py", 2, plain(60), port=True, family=("C1",)),
    Scenario("torchrun: a rank never comes", "torchrun", "plain.py", 4, plain(20), fault="absent:2", lasts=110, culprit=2, family=("C1",), within=100),
    # ---- torch.multiprocessing.spawn ----
    Scenario("spawn: healthy", "spawn", "plain.py", 3, plain(80)),
    Scenario("spawn: stop of 60 s", "spawn", "plain.py", 3, plain(110), signal="stop:60", culprit=2, family=HANG, within=20),
    Scenario("spawn: kill", "spawn", "plain.py", 2, plain(100), signal="kill", culprit=1, family=("A2",)),
    Scenario("spawn: exception", "spawn", "plain.py", 2, plain(100), fault="exception:1", culprit=1, family=("A1",)),
    # ---- one process ----
    Scenario("alone: healthy", "alone", "plain.py", 1, plain(80, "--workers", 3)),
    Scenario("alone: stop of 45 s", "alone", "plain.py", 1, plain(110), signal="stop:45", culprit=0, family=("C3", "C2"), within=20, after=35),
    # ---- transformers ----
    Scenario("transformers: healthy, with evaluation and save", "torchrun", "hf.py", 2, ["--steps", "400"]),
    Scenario("transformers: a bar and nothing else", "torchrun", "hf.py", 2, ["--steps", "400", "--bar"]),
    Scenario("transformers: stop of 60 s", "torchrun", "hf.py", 2, ["--steps", "600"], signal="stop:60", culprit=1, family=HANG, within=20),
    Scenario("transformers: stop of 60 s, nothing printed", "torchrun", "hf.py", 2, ["--steps", "600", "--silent"], signal="stop:60", culprit=1, family=HANG, within=20),
    Scenario("transformers: exception", "torchrun", "hf.py", 2, ["--steps", "900"], fault="exception:0", culprit=0, family=("A1",)),
    Scenario("transformers: exploding rate", "torchrun", "hf.py", 2, ["--steps", "400"], fault="rate", family=("E1",)),
    # ---- Lightning ----
    Scenario("Lightning: healthy", "lightning", "lit.py", 2, ["--steps", "700"]),
    Scenario("Lightning: healthy, nothing printed", "lightning", "lit.py", 2, ["--steps", "700", "--silent"]),
    Scenario("Lightning: stop of 60 s", "lightning", "lit.py", 2, ["--steps", "700"], signal="stop:60", culprit=1, family=HANG, within=20),
    Scenario("Lightning: kill", "lightning", "lit.py", 2, ["--steps", "1500"], signal="kill", culprit=1, family=("A2",)),
    Scenario("Lightning: loss is NaN", "lightning", "lit.py", 2, ["--steps", "500"], fault="nan", family=("E1",)),
    # ---- accelerate ----
    Scenario("accelerate: healthy, a bar", "accelerate", "acc.py", 2, ["--steps", "900"]),
    Scenario("accelerate: stop of 60 s", "accelerate", "acc.py", 2, ["--steps", "900"], signal="stop:60", culprit=1, family=HANG, within=20),
    Scenario("accelerate: straggler by sleep", "accelerate", "acc.py", 3, ["--steps", "600"], fault="sleeps:2", culprit=2, family=("D3",)),
    Scenario("accelerate: exception", "accelerate", "acc.py", 2, ["--steps", "2000"], fault="exception:1", culprit=1, family=("A1",)),
    Scenario("accelerate's launcher for notebooks: stop of 60 s", "notebook", "acc.py", 2, ["--steps", "900"], signal="stop:60", culprit=1, family=HANG, within=20),
    # ---- with the hooks of adapters/python/tocsin.py (`run --without-hooks`: the same jobs without) ----
    Scenario("hooks: healthy, four ranks", "torchrun", "plain.py", 4, plain(80, "--hooks", "--workers", 6)),
    Scenario("hooks: loaders with one worker, for which all steps wait", "torchrun", "plain.py", 4, plain(110, "--hooks", "--workers", 1), family=("D1",), within=90),
    Scenario("hooks: healthy, workers by spawn, nothing printed", "spawn", "plain.py", 3, plain(80, "--hooks", "--workers", 6, "--context", "spawn", "--silent")),
    Scenario("hooks: silent validation of 60 s", "torchrun", "plain.py", 2, plain(110, "--validation", 60, "--hooks", "--workers", 16)),
    Scenario("hooks: straggler by sleep", "torchrun", "plain.py", 4, plain(130, "--hooks"), fault="sleeps:1", culprit=1, family=("D3",)),
    Scenario("hooks: straggler by CPU", "torchrun", "plain.py", 4, plain(130, "--hooks"), fault="computes:2", culprit=2, family=("D3",)),
    Scenario("hooks: straggler by its data loader", "torchrun", "plain.py", 4, plain(130, "--hooks"), fault="loader:1", culprit=1, family=("D3",)),
    Scenario("hooks: stop of 60 s", "torchrun", "plain.py", 2, plain(110, "--hooks"), signal="stop:60", culprit=1, family=HANG, within=20),
    Scenario("hooks: a rank sleeps for 150 s", "torchrun", "plain.py", 4, plain(190, "--hooks"), fault="hangs:2", lasts=150, culprit=2, family=HANG),
    Scenario("hooks: transformers, healthy, with evaluation and save", "torchrun", "hf.py", 2, ["--steps", "400", "--hooks"]),
    Scenario("hooks: transformers, straggler by sleep", "torchrun", "hf.py", 3, ["--steps", "500", "--hooks"], fault="sleeps:2", culprit=2, family=("D3",)),
    Scenario("hooks: Lightning, healthy, nothing printed", "lightning", "lit.py", 2, ["--steps", "700", "--silent", "--hooks", "--workers", "4"]),
    Scenario("hooks: Lightning, straggler by sleep", "lightning", "lit.py", 3, ["--steps", "600", "--hooks"], fault="sleeps:1", culprit=1, family=("D3",)),
    Scenario("hooks: accelerate, straggler by sleep", "accelerate", "acc.py", 3, ["--steps", "600", "--hooks"], fault="sleeps:2", culprit=2, family=("D3",)),
]
