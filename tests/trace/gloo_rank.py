"""gloo_rank.py RANK WORLD_SIZE STORE MODE: one rank of a job that uses several groups. `loops`: rank 2 stays in a loop of Python at step 20."""

import sys
import time

import torch
import torch.distributed as dist

STEPS = 40
rank, size, store, mode = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
for step in range(STEPS):
    if mode == "loops" and step == 20 and rank == 2:
        while True:
            time.sleep(0)
    model(torch.ones(2, 8)).sum().backward()
    some = torch.ones(4)
    dist.all_reduce(some, group=pairs[rank // 2])
    later = dist.all_reduce(some, async_op=True)
    later.wait()
    if step == 10:
        try:
            dist.reduce_scatter(some, [torch.ones(4) for _ in range(size)])     # gloo of PyTorch 1.13 throws
        except RuntimeError:
            pass
    if rank == 0:
        dist.send(some, 1)
    if rank == 1:
        dist.recv(some, 0)
    dist.all_gather([torch.ones(4) for _ in range(size)], some)
    dist.broadcast(some, 0)
    dist.barrier()
print("done", flush=True)
while sys.stdin.readline() == "again\n":   # stays, to be looked at
    dist.all_reduce(torch.ones(4), group=pairs[rank // 2])
    dist.barrier()
    print("done", flush=True)
