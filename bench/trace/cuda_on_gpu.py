"""What the tracer sees of CUDA calls on a GPU, and what the rules make of it: jobs of PyTorch under `tocsin wrap`, in batches, as they share one GPU.

    cuda_on_gpu.py FOLDER [JOB...]     FOLDER is an installation, with libnccl.so.2.xz in it: NCCL 2.30 or later, which lets two ranks share a GPU

Prints the alerts of each job beside what was expected, and the values by which rules/launches.lua and rules/gpu_unused.lua judged. All of it and the
journals are left in OUT. Without a GPU it runs what a CPU can run, to try the script.
"""

import json
import lzma
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

out = pathlib.Path(os.environ.get("OUT", "/tmp/tocsin-cuda-on-gpu"))
LATE, DATA = 0.06, 0.005      # seconds of Python in a step


def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def is_over():
    return pathlib.Path(os.environ["STOP"]).exists()


def perceptron(torch, device, width=2048, layers=4):
    return torch.nn.Sequential(*(layer for _ in range(layers) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU()))).to(device)


def train_two(late=0.0):
    """DDP over NCCL; rank 1 spends `late` seconds between its kernels, and its steps are watched by tocsin.py."""
    import torch
    import torch.distributed as dist

    gpu, rank = torch.cuda.is_available(), int(os.environ["RANK"])
    device = torch.device("cuda", 0) if gpu else torch.device("cpu")
    dist.init_process_group("nccl" if gpu else "gloo", device_id=device if gpu else None)
    model = torch.nn.parallel.DistributedDataParallel(perceptron(torch, device, 2048 if gpu else 256))
    optimizer, go_on = torch.optim.SGD(model.parameters(), lr=0.05), torch.ones(1, device=device)
    if late:
        import tocsin
        tocsin.watch(model, optimizer)
    batch = torch.empty(2048 if gpu else 64, 2048 if gpu else 256, device=device)
    for step in range(1 << 30):
        loss = (model(batch.normal_()) - batch).square().mean()
        if rank == 1:
            busy(late)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        go_on.fill_(0.0 if rank == 0 and is_over() else 1.0)
        dist.broadcast(go_on, 0)
        value = loss.item()
        if rank == 0:
            print(f"step {step} loss {value:.6f}", flush=True)
        if go_on.item() == 0:
            break
    dist.destroy_process_group()


def read_each():
    """Reads a value of the output of each layer."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    layers, batch = perceptron(torch, device, 1024, 48), torch.empty(256, 1024, device=device)
    for step in range(1 << 30):
        value, sizes, began = batch.normal_(), [], time.perf_counter()
        for layer in layers:
            value = layer(value)
            sizes.append(value.abs().mean().item())
        if step % 5 == 0:
            print(f"step {step}/{1 << 30} time {time.perf_counter() - began:.4f}", flush=True)
        if is_over():
            break


def train_by_graphs():
    """One graph a step, and its loss is read; DATA of Python before each."""
    import torch

    model, batch = perceptron(torch, "cuda"), torch.empty(1024, 2048, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def train():
        optimizer.zero_grad(set_to_none=False)
        loss = (model(batch.normal_()) - batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        for _ in range(3):
            train()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = train()
    for step in range(1 << 30):
        busy(DATA)
        graph.replay()
        print(f"step {step} loss {loss.item():.6f}", flush=True)
        if is_over():
            break


def train_on_cpu():
    import torch

    model = perceptron(torch, "cpu", 256)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(1 << 30):
        batch = torch.randn(64, 256)
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.05)
        print(f"step {step} loss {loss.item():.6f}", flush=True)
        if is_over():
            break


# name: what a rank runs, how many ranks, seconds at most, rules of which one must fire (none: no warning), rules whose values are printed
JOBS = {
    "reads_each": (read_each, 1, 150, ["launches_block"], ["launches_block"]),
    "graphs": (train_by_graphs, 1, 45, [], ["launches_block"]),
    "healthy": (train_two, 2, 100, [], ["launch_gaps", "launches_block"]),
    "late": (lambda: train_two(LATE), 2, 100, ["straggler"], ["launch_gaps"]),
    "on_cpu": (train_on_cpu, 1, 230, ["gpu_unused"], ["gpu_unused"]),
}
# These at a time. The GPU of two ranks is never idle: that of the late one is busy with the other's collectives, so launch_gaps cannot fire.
BATCHES = [["reads_each"], ["graphs"], ["healthy", "late"], ["on_cpu"]]
NEEDS_GPU = {"graphs"}


class Job:
    def __init__(self, name, tools):
        self.name, self.tools = name, tools
        _, self.ranks, self.seconds, self.expected, self.rules = JOBS[name]
        self.journal, self.stop = out / name, out / f"stop.{name}"
        rules = ["--rules", "shipped"] + (["--rules", out / "site"] if name == "on_cpu" else [])
        environment = dict(
            os.environ, STOP=str(self.stop), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29700 + list(JOBS).index(name)), NCCL_MULTI_RANK_GPU_ENABLE="1",
            NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1", NCCL_IB_DISABLE="1", NCCL_SOCKET_IFNAME="lo", NCCL_MAX_CTAS="4", NCCL_NET_GDR_LEVEL="LOC",
            NCCL_CUMEM_HOST_ENABLE="0", NCCL_RAS_ENABLE="0", OMP_NUM_THREADS="2")
        self.process = subprocess.Popen(
            [tools / "bin/tocsin", "wrap", "--job", name, *rules, "--journal", self.journal, "--", "env", *([] if self.ranks == 2 else ["RANK=0", "WORLD_SIZE=1"]),
             sys.executable, __file__, "rank" if self.ranks == 1 else "launch", name],
            env=environment, stdout=subprocess.DEVNULL, stderr=open(out / f"{name}.stderr", "w"))
        self.began = time.time()

    def alerts(self):
        file = self.journal / "alerts.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [one for one in map(json.loads, lines) if one.get("state") == "firing" and one["severity"] in ("warning", "critical")]

    def is_done(self):
        if self.process.poll() is not None:
            return True
        seen = any(alert["rule"] in self.expected for alert in self.alerts())
        if seen or time.time() - self.began > self.seconds:
            self.stop.touch()
        return False

    def report(self, say):
        fired = self.alerts()
        right = any(one["rule"] in self.expected for one in fired) if self.expected else not fired
        say(f"{self.name}: {'as expected' if right else 'NOT AS EXPECTED'} ({' or '.join(self.expected) or 'no warning'}), exit status {self.process.returncode}")
        for one in fired:
            say(f"  {one['rule']} {one['member']} after {one['at'] / 1e9 - self.began:.1f} s: {one['form']['seen']}")
        for rule in self.rules:
            for rank in range(self.ranks if rule == "launch_gaps" else 1):
                done = subprocess.run([self.tools / "bin/tocsin", "explain", self.journal, "--rule", rule, *(["--rank", str(rank)] if rule == "launch_gaps" else []),
                                       "--from", "+0s", "--json"],
                                      capture_output=True, text=True)
                if done.returncode:
                    say(f"  {rule}: {done.stderr.strip()}")
                    continue
                changes = json.loads(done.stdout)["changes"]
                for change in changes[len(changes) // 4::max(1, len(changes) // 5)]:
                    say(f"  {rule}, rank {rank}, {change['at'][11:19]}: {change['outcome']}", *(f"{key}={value}" for key, value in change["values"].items()))
        notes = [line for line in (out / f"{self.name}.stderr").read_text().splitlines() if line.startswith("tocsin:") and "journal" not in line]
        for note in notes[:5]:
            say(" ", note)


def launch(name):
    if os.path.exists("/tmp/libnccl.so.2"):
        os.environ["LD_PRELOAD"] = "/tmp/libnccl.so.2"
    ranks = [subprocess.Popen([sys.executable, __file__, "rank", name], env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2")) for rank in range(2)]
    sys.exit(max(rank.wait() for rank in ranks))


def unpack(tools):
    with lzma.open(tools / "libnccl.so.2.xz") as packed, open("/tmp/libnccl.so.2.part", "wb") as whole:
        shutil.copyfileobj(packed, whole, 1 << 20)
    os.rename("/tmp/libnccl.so.2.part", "/tmp/libnccl.so.2")


def main(tools, chosen):
    (out / "site").mkdir(parents=True)
    (out / "site" / "tunes.lua").write_text('tune "gpu_unused" { params = { patience = "20s" } }\n')
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip() \
        if shutil.which("nvidia-smi") else ""
    unpacking = threading.Thread(target=unpack, args=(tools,))
    of_nccl = gpu and any(JOBS[name][1] == 2 for name in chosen or JOBS)
    if of_nccl:
        unpacking.start()
    with open(out / "report.txt", "w") as report:
        def say(*what):
            for file in (sys.stdout, report):
                print(*what, file=file, flush=True)

        say(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), gpu or "no GPU", "Linux", os.uname().release)
        for batch in BATCHES:
            if of_nccl and "healthy" in batch:
                unpacking.join()
            jobs = [Job(name, tools) for name in batch if (not chosen or name in chosen) and (gpu or name not in NEEDS_GPU)]
            while not all([job.is_done() for job in jobs]):
                time.sleep(1)
                for job in jobs:
                    if time.time() - job.began > job.seconds + 40:
                        job.process.kill()
            for job in jobs:
                job.report(say)


if __name__ == "__main__":
    if sys.argv[1] == "launch":
        launch(sys.argv[2])
    elif sys.argv[1] == "rank":
        JOBS[sys.argv[2]][0]()
    else:
        main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:])
