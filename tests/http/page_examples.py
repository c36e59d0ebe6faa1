"""A made-up cluster, as the API would show it: for the tests of the page and its picture. The rules are those of rules/."""

import datetime
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOW = datetime.datetime(2026, 11, 22, 3, 20, 41, tzinfo=datetime.timezone.utc)
WORDS = {"C2": "collective hang", "D3": "straggler", "E1": "abnormal loss", "B3": "GPU slowdown", "A1": "application error",
         "D1": "waiting for data"}


def nanoseconds(time):
    return int(time.timestamp()) * 1_000_000_000


def written(time):
    return time.strftime("%Y-%m-%d %H:%M:%S UTC")


def before(**ago):
    return NOW - datetime.timedelta(**ago)


def job(name, state="running", ranks=8, **figures):
    known = {"step": 48_210, "steps_per_second": 1.52, "loss": 2.143, "goodput": 0.964, "lost_gpu_seconds": 5_300.0, **figures}
    return {"job": name, "attempt": "1", "state": state, "partition": sum(name.encode()) % 3, "ranks": ranks, "alerts": [], "by_rank": [],
            **{key: value for key, value in known.items() if value is not None}}


def spread(values):
    values = sorted(values)
    return {"ranks": len(values), "least": values[0], "median": values[len(values) // 2], "p90": values[9 * len(values) // 10], "greatest": values[-1]}


def with_ranks(one, per_node=8, usual=0.412, slow=(), behind=()):
    """Each rank's times: what differs between them comes of their numbers, the same at each call."""
    for rank in range(one["ranks"]):
        compute = round(usual * (1 + 0.03 * (((rank * 7919) % 101) / 50 - 1)) * dict(slow).get(rank, 1), 4)
        one["by_rank"].append({"rank": rank, "node": f"gpu-{rank // per_node + 11:02}", "step": one["step"] - (1 if rank in behind else 0),
                               "step_time": round(usual * 1.34 + 0.001 * (rank % 3), 4), "compute_time": compute})
    one["compute_time"] = spread([rank["compute_time"] for rank in one["by_rank"]])
    one["step_time"] = spread([rank["step_time"] for rank in one["by_rank"]])
    return one


def alert(one, number, rule, family, severity, summary, since, later, member, who, texts, evidence,
          state="firing", ended=None, mode="live", reason="cleared"):
    """With its parts as they are written: who, seen, likely, do, not known."""
    named, seen, likely, action, not_known = texts
    at = ended or since + datetime.timedelta(seconds=later)
    form = {"what": summary + (f" ({family}, {WORDS[family]})" if family else ""), "who": f"{named}; job {one['job']}, attempt 1",
            "since": written(since) + (f", reported {later} s later" if state == "firing" else ""), "seen": seen, "likely": likely, "do": action,
            "not known": not_known, "more": f"tocsin explain JOURNAL --rule {rule} --job {one['job']} --at {at:%Y-%m-%dT%H:%M:%SZ}"}
    if state == "firing" and mode == "live":
        one["alerts"].append({"rule": rule, "family": family, "severity": severity, **{key: value for key, value in member.items() if key != "level"}})
    return {"id": f"{0xa31f00c4d2e90000 + number:016x}", "number": 1 if state == "firing" else 2, "rule": rule, "family": family,
            "family_words": WORDS.get(family, ""),
            "severity": severity, "mode": mode, "subject": one["job"], "attempt": "1", "member": member, "who": who, "state": state,
            "reason": "none" if state == "firing" else reason, "explained_by": "", "at": nanoseconds(at), "since": nanoseconds(since), "summary": summary,
            "shows": seen, "implies": [{"cause": "one", "text": likely}] if likely else [], "actions": [action], "not_known": not_known,
            "cannot_decide": [], "evidence": evidence, "form": {title: text for title, text in form.items() if text}}


def rules():
    """Of the shipped files."""
    all_rules = []
    for file in sorted((ROOT / "rules").rglob("*.lua")):
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if not (name := re.match(r'rule "(\w+)" \{', line)):
                continue
            text = "\n".join(lines[number:number + 4])
            value = lambda key: (re.search(rf'\b{key} = "([^"]*)"', text) or [None, ""])[1]  # noqa: E731, B023
            all_rules.append({"name": name[1], "family": value("family"), "severity": value("severity") or "warning", "mode": value("mode") or "live",
                              "summary": value("summary"), "file": file.relative_to(ROOT / "rules").as_posix(), "line": number, "scripted": False})
    return all_rules


def cluster():
    hung = with_ranks(job("llama-70b-pretrain", "hung", 64, steps_per_second=0, loss=1.873, goodput=0.912, lost_gpu_seconds=201_400), behind=(42,))
    slow = with_ranks(job("vit-large-imagenet", ranks=32, step=131_872, steps_per_second=1.81, loss=2.417, goodput=0.871, lost_gpu_seconds=88_200),
                      usual=0.186, slow={13: 1.74, 21: 1.12})
    diverged = with_ranks(job("moe-ablation-3", ranks=16, step=9_214, steps_per_second=0.74, loss=103.2, goodput=0.958, lost_gpu_seconds=9_900), usual=0.93)
    waits = with_ranks(job("speech-conformer", ranks=16, step=66_002, steps_per_second=2.2, loss=0.8141, goodput=0.784, lost_gpu_seconds=61_000), usual=0.21)
    lost = job("protein-fold-ft", "unobserved", 8, step=1_204, steps_per_second=None, loss=0.4417, goodput=0.93, lost_gpu_seconds=2_200)
    jobs = [hung, slow, diverged, waits, lost,
            job("mixtral-sft", ranks=128, step=4_410, steps_per_second=0.318, loss=1.1042, goodput=0.971, lost_gpu_seconds=41_300),
            job("llama-8b-dpo", ranks=8, step=2_118, steps_per_second=0.92, loss=0.3391, goodput=0.982, lost_gpu_seconds=800),
            job("diffusion-xl", ranks=32, step=212_400, steps_per_second=3.07, loss=0.08812, goodput=0.969, lost_gpu_seconds=37_900),
            job("clip-webscale", ranks=256, step=18_902, steps_per_second=0.61, loss=3.2071, goodput=0.944, lost_gpu_seconds=322_000),
            job("reward-model-7", ranks=4, step=640, steps_per_second=0.44, loss=0.5127, goodput=0.991, lost_gpu_seconds=90),
            job("ocr-finetune", "starting", 4, step=None, steps_per_second=None, loss=None, goodput=None, lost_gpu_seconds=None),
            job("eval-nightly", "ended", 8, step=5_000, steps_per_second=None, loss=1.52, goodput=0.973, lost_gpu_seconds=400)]
    rank = lambda number, node: {"level": "rank", "rank": number, "node": node}  # noqa: E731
    whole = {"level": "job"}
    alerts = [
        alert(hung, 1, "rank_stopped", "C2", "critical", "Rank process stopped (SIGSTOP); peers wait for it",
              before(minutes=6, seconds=12), 5, whole, [42],
              ("rank 42 on gpu-16, GPU 2, pid 28114", "stopped until it is continued: rank 42 on gpu-16",
               "stopped by a signal: SIGSTOP, SIGTSTP, or Ctrl-Z in the terminal", "continue rank 42 on gpu-16 (kill -CONT 28114)", ""),
              {"stopped": 1, "standing": 367.0, "state": "stopped"}),
        alert(diverged, 2, "loss_diverged", "E1", "critical", "Training diverged", before(minutes=24), 0, whole, [],
              ("the job", "median of the last 16 losses 103.2 at step 9,198; lowest 2.086, initially 5.638",
               "the learning rate is 300 times what it was before the rise",
               "stop the job, make the learning rate 300 times lower, and resume from before the rise",
               "whether the data changed: the job prints no epoch"),
              {"median": 103.2, "best": 2.086, "birth": 5.638, "step": 9198, "gradient": None}),
        alert(slow, 3, "straggler", "D3", "warning", "Straggler: one rank slows the whole job", before(hours=1, minutes=41), 30,
              rank(13, "gpu-12"), [13],
              ("rank 13 on gpu-12, GPU 5", "rank 13 on gpu-12: 324 ms of its own work in each step, 186 ms on its peers",
               "it computes longer: more work in each step, a busy host, or a slow GPU",
               "check gpu-12 (top, nvidia-smi dmon); if rank 13 has no more work than the others, drain gpu-12", "whether its clock is lower: no sm_clock"),
              {"own": 0.3237, "typical": 0.1861, "ratio": 1.739, "share": 0.42}),
        alert(waits, 4, "data_starved", "D1", "warning", "Data loading bottleneck", before(minutes=52), 60, whole, [],
              ("the job", "31 % of each step is waiting for the next batch, 4 % at the start", "the loader is slower than the step",
               "give the loader more workers, or move the data to local disks", ""), {"share": 0.31, "before": 0.04}),
        alert(lost, 5, "unobserved", "", "warning", "Part of the job is not observed: a log that carries its records is not read",
              before(minutes=4), 0, whole, [],
              ("the job", "nothing came since 03:16:41 UTC, while its log should be read", "", "see whether tocsin wrap still runs on its nodes", ""), {}),
        alert(slow, 6, "throttle", "B3", "warning", "GPU thermal throttling or power brake slowdown", before(hours=5), 20,
              {"level": "gpu", "node": "gpu-12", "gpu": "5"},
              ["gpu-12/5"], ("GPU 5 of gpu-12", "thermal slowdown in 94 % of the last minute", "its cooling", "look at the fans of gpu-12", ""),
              {"thermal": 0.94}, state="resolved", ended=before(hours=4, minutes=12)),
        alert(slow, 7, "straggler", "D3", "warning", "Straggler: one rank slows the whole job", before(hours=7), 30,
              rank(21, "gpu-13"), [21],
              ("rank 21 on gpu-13, GPU 5", "rank 21 on gpu-13: 291 ms of its own work in each step, 186 ms on its peers", "", "check the host of rank 21 on gpu-13", ""),
              {"own": 0.291, "typical": 0.186}, state="resolved", ended=before(hours=6, minutes=48)),
    ]
    slow["undecided"] = [{"rule": "collective_hang", "missing": ["collective_launched"]}, {"rule": "job_slower", "missing": []},
                         {"rule": "save_storm", "missing": ["checkpoint_begin", "checkpoint_end"]}]
    verdicts = [{
        "verdict": {"family": "A1", "family_words": WORDS["A1"], "end_reason": "failed", "families": [
            {"family": "A1", "words": WORDS["A1"], "standing": "in", "rules": ["exception"], "missing": []},
            {"family": "B3", "words": WORDS["B3"], "standing": "undecidable", "rules": [], "missing": ["throttle_thermal", "throttle_brake"]},
            {"family": "C2", "words": WORDS["C2"], "standing": "out", "rules": [], "missing": []},
            {"family": "E1", "words": WORDS["E1"], "standing": "out", "rules": [], "missing": []}],
            "shows": ["rank 7 on gpu-11: RuntimeError: shape '[32, 1024]' is invalid for input of size 32736 (train.py:211)"],
            "cannot_decide": [], "quarantined": []},
        "subject": slow["job"], "attempt": "0", "ended": nanoseconds(before(hours=9))}]
    status = {"version": "0.1.0", "group": "tocsin", "instance": "tocsin-a", "pack": "9f2c61d07be4a8135e0c44d2a9b3f7706c1d58e2f4a6b90c",
              "pack_since": "2026-11-20T14:02:11Z",
              "reload_failure": "", "not_ready": "", "time": NOW.strftime("%Y-%m-%dT%H:%M:%S.250Z"),
              "partitions": [{"partition": number, "restored": 1, "jobs": sum(one["partition"] == number for one in jobs)} for number in range(3)]}
    return {"jobs": jobs, "alerts": sorted(alerts, key=lambda one: -one["at"]), "verdicts": verdicts, "rules": rules(), "status": status}
