"""One of two ranks on one GPU, for on_gpu.py: ranks.py steady SECONDS, or ranks.py stages.

steady prints the time of a step; stages goes through what a profiler plugin is to tell apart, with a line for each:
late (rank 1 comes 5 s late), busy (rank 1's stream is busy for 4 s before it), graph, point-to-point, steady (until a file
named by STOP_FILE exists), mismatch (rank 1 with another count; does not end).
"""

import json
import os
import resource
import sys
import time

import torch
import torch.distributed as dist


def say(**what):
    print(json.dumps({"t": round(time.monotonic(), 3), "rank": rank, **what}), flush=True)


def step():
    for tensor in tensors:
        torch.mm(a, b, out=c)
        dist.all_reduce(tensor)


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


rank = int(os.environ["RANK"])
torch.cuda.set_device(0)
dist.init_process_group("nccl", device_id=torch.device("cuda", 0) if "EAGER" in os.environ else None)
a, b = (torch.randn(1024, 1024, device="cuda") for _ in range(2))
c = torch.empty_like(a)
tensors = [torch.ones(n, device="cuda") for n in (1 << 10, 1 << 18, 1 << 20, 1 << 18)]
for _ in range(10):
    step()
torch.cuda.synchronize()
say(stage="ready", pid=os.getpid(), nccl=".".join(map(str, torch.cuda.nccl.version())))

if sys.argv[1] == "steady":
    times, end, begun_cpu, begun = [], time.monotonic() + float(sys.argv[2]), cpu(), time.monotonic()
    more = torch.ones(1, device="cuda")
    while True:
        before = time.perf_counter()
        for _ in range(4):
            step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - before) / 4)
        if len(times) % 25 == 0:  # both end after the same step
            more.fill_(1.0 if time.monotonic() < end else 0.0)
            dist.broadcast(more, 0)
            if more.item() == 0:
                break
    times.sort()
    say(stage="done", steps=4 * len(times), median_ms=1e3 * times[len(times) // 2], p10_ms=1e3 * times[len(times) // 10],
        mean_ms=1e3 * sum(times) / len(times), cpu_ms=1e3 * (cpu() - begun_cpu) / (4 * len(times)),
        wall=round(time.monotonic() - begun, 2))
    dist.destroy_process_group()
    sys.exit()

say(stage="late")
if rank == 1:
    time.sleep(5)
step()
torch.cuda.synchronize()
say(stage="busy")
if rank == 1:
    torch.cuda._sleep(int(1.6e9 * 4))
dist.all_reduce(tensors[1])
torch.cuda.synchronize()
say(stage="graph")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    dist.all_reduce(tensors[0])
    dist.all_reduce(tensors[1])
for _ in range(50):
    graph.replay()
torch.cuda.synchronize()
time.sleep(1.5)
say(stage="point-to-point")
for _ in range(20):
    (dist.send if rank == 0 else dist.recv)(tensors[1], 1 - rank)
torch.cuda.synchronize()
time.sleep(1.5)
say(stage="steady")
more = torch.ones(1, device="cuda")
while True:
    for _ in range(10):
        step()
    more.fill_(0.0 if os.path.exists(os.environ["STOP_FILE"]) else 1.0)
    dist.broadcast(more, 0)
    if more.item() == 0:
        break
say(stage="mismatch")
dist.all_reduce(tensors[2] if rank == 0 else tensors[1])
torch.cuda.synchronize()
say(stage="end")
