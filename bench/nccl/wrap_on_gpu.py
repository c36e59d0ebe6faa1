"""Two ranks of NCCL on one GPU under `tocsin wrap`: the stream of one is busy, then it sleeps, then it is stopped. What the alerts say, and when.

    wrap_on_gpu.py FOLDER      FOLDER has bin/tocsin, rules, and libnccl.so.2.xz, an NCCL of 2.30 or later (see on_gpu.py)

Prints the alerts with the seconds since their fault began. The journal is left in OUT.
"""

import json
import lzma
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

# Each after ten seconds of training; and each longer, for a wait that was longer before is no sign of a hang.
STAGES = [("busy", 15), ("sleeps", 40), ("stopped", 20)]
out = pathlib.Path(os.environ.get("OUT", "/tmp/tocsin-wrap-on-gpu"))


def mark(name):
    (out / f"began.{name}").write_text(str(time.time()))


def rank_of_two():
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
    a = torch.randn(2048, 2048, device="cuda")
    gradients, go_on = torch.ones(1 << 20, device="cuda"), torch.ones(1, device="cuda")

    def train(seconds):
        end = time.monotonic() + seconds
        while True:
            for _ in range(5):
                torch.mm(a, a)
                dist.all_reduce(gradients)
            go_on.fill_(1.0 if time.monotonic() < end else 0.0)
            dist.broadcast(go_on, 0)
            if go_on.item() == 0:
                return

    for stage, seconds in STAGES:
        train(10)
        if rank == 1:
            mark(stage)
            if stage == "stopped":
                waker = subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -CONT {os.getpid()}"])
                os.kill(os.getpid(), signal.SIGSTOP)
                waker.wait()
            elif stage == "sleeps":
                time.sleep(seconds)
            else:
                torch.cuda._sleep(int(1.6e9 * seconds))
    train(5)
    dist.destroy_process_group()


def launch():
    ranks = [subprocess.Popen([sys.executable, __file__, "rank"], env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2")) for rank in range(2)]
    sys.exit(max(rank.wait() for rank in ranks))


def main(tools):
    out.mkdir(parents=True, exist_ok=True)
    with lzma.open(tools / "libnccl.so.2.xz") as packed, open("/tmp/libnccl.so.2", "wb") as whole:
        shutil.copyfileobj(packed, whole, 1 << 20)
    environment = dict(
        os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT="29655", LD_PRELOAD="/tmp/libnccl.so.2", NCCL_MULTI_RANK_GPU_ENABLE="1",
        NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1", NCCL_IB_DISABLE="1", NCCL_SOCKET_IFNAME="lo", NCCL_MAX_CTAS="4", OUT=str(out),
        NCCL_NET_GDR_LEVEL="LOC", NCCL_CUMEM_HOST_ENABLE="0", NCCL_RAS_ADDR="127.0.0.1:28028", OMP_NUM_THREADS="4", PATH=f"{tools}:{os.environ['PATH']}")
    command = [str(tools / "bin/tocsin"), "wrap", "--job", "gpu", "--rules", str(tools / "rules"), "--journal", str(out / "journal"), "--", sys.executable, __file__, "launch"]
    # The preload is the ranks' alone.
    print("exit status", subprocess.run(["env", *(f"{k}={v}" for k, v in environment.items() if k != "LD_PRELOAD"), f"TWO_PRELOAD={environment['LD_PRELOAD']}", *command],
                                        timeout=240).returncode)
    begun = {stage: float((out / f"began.{stage}").read_text()) for stage, _ in STAGES if (out / f"began.{stage}").exists()}
    for line in (out / "journal" / "alerts.jsonl").read_text().splitlines():
        alert = json.loads(line)
        if alert.get("state") == "firing":
            at = alert["at"] / 1e9
            stage = max((s for s in begun if begun[s] <= at), key=begun.get, default="before")
            print(f"{stage}: {alert['rule']} who={alert['who']} after {at - begun.get(stage, at):.1f} s: {alert['form']['seen']}")
    for stage in begun:
        print(stage, "began", begun[stage])


if __name__ == "__main__":
    if sys.argv[1] == "launch":
        os.environ["LD_PRELOAD"] = os.environ.get("TWO_PRELOAD", "")
        launch()
    elif sys.argv[1] == "rank":
        rank_of_two()
    else:
        main(pathlib.Path(sys.argv[1]).resolve())
