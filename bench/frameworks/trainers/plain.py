"""A loop as people write it: DDP over gloo, a data loader with workers, a line each few steps. Under torchrun, `spawn` or alone."""

import argparse
import os
import threading
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, Dataset

import faults


class Numbers(Dataset):
    def __init__(self, count, rank):
        self.count, self.rank = count, rank

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.01 + faults.decoding(self.rank))      # a read and some decoding
        faults.fetch(self.rank)
        x = torch.randn(64, generator=torch.Generator().manual_seed(index))
        return x, x[:8].sum().unsqueeze(0)


def validate(model, options, rank):
    if options.validation and options.validates in (-1, rank):
        until = time.time() + options.validation
        with torch.no_grad():
            while time.time() < until:
                model(torch.randn(256, 64))
        if rank == 0 and not options.silent:
            print("validation done", flush=True)
    if options.validates >= 0 and dist.is_initialized():
        dist.barrier()


def slow_write(seconds):
    """As to a slow file system: the call of the main thread takes that long."""
    out, into = os.pipe()

    def drain():
        time.sleep(seconds)
        while os.read(out, 1 << 20):
            pass

    reader = threading.Thread(target=drain)
    reader.start()
    os.write(into, bytes(4 << 20))
    os.close(into)
    reader.join()
    os.close(out)


def save(model, options, rank):
    if options.save:
        if rank == 0:
            slow_write(options.save)
            torch.save(model.state_dict(), faults.FOLDER / "model.pt")
        if dist.is_initialized():
            dist.barrier()


def train(rank, world, options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    faults.started(rank)
    if world > 1:
        if "RANK" in os.environ:
            dist.init_process_group("gloo")
        else:
            dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{options.port}", rank=rank, world_size=world)
    faults.met(rank)
    norm = [nn.BatchNorm1d(512)] if options.norm else []
    net = nn.Sequential(nn.Linear(64, 512), *norm, nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 1))
    faults.make_groups()
    if options.fsdp:
        from torch.distributed.fsdp import fully_shard
        model = fully_shard(net)
    else:
        model = nn.parallel.DistributedDataParallel(net) if world > 1 else net
    if options.compile and options.compile in ("all", str(rank)):
        model = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if options.hooks:
        import tocsin
        tocsin.watch(model, optimizer, step=0)
    loader = DataLoader(Numbers(1 << 20, rank), batch_size=16, num_workers=options.workers, multiprocessing_context=options.context if options.workers else None)
    if options.uneven >= 0:
        with model.join():
            fit(rank, 1, options, model, optimizer, loader, most=150 if rank == options.uneven else 300)
        dist.barrier()
    else:
        fit(rank, world, options, model, optimizer, loader)
    if rank == 0 and not options.silent:
        print("training finished", flush=True)
    if world > 1:
        dist.destroy_process_group()


def fit(rank, world, options, model, optimizer, loader, most=1 << 40):
    begin, step, last = time.time(), 0, time.time()
    for x, y in loader:
        faults.step(rank)
        loss = faults.loss(nn.functional.mse_loss(model(x), y))
        optimizer.zero_grad()
        loss.backward()
        faults.rate(optimizer)
        optimizer.step()
        step += 1
        if step % options.every == 0 and rank == 0 and not options.silent:
            now = time.time()
            print(f"step {step} | loss {loss.item():.4f} | lr {optimizer.param_groups[0]['lr']:.2e} | {(now - last) / options.every * 1000:.1f} ms/step", flush=True)
            last = now
        if step % options.interval == 0:
            validate(model, options, rank)
            save(model, options, rank)
        stop = torch.tensor([time.time() - begin > options.seconds], dtype=torch.int)
        if world > 1:
            dist.broadcast(stop, 0)
        if stop.item() or step == most:
            break


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--context", default="fork")
    parser.add_argument("--interval", type=int, default=150)
    parser.add_argument("--validation", type=float, default=0)
    parser.add_argument("--validates", type=int, default=-1, help="the one rank that validates; -1: all do")
    parser.add_argument("--save", type=float, default=0)
    parser.add_argument("--fsdp", action="store_true")
    parser.add_argument("--norm", action="store_true", help="a model with buffers, which DDP broadcasts at each step")
    parser.add_argument("--compile", default="", help="all, or a rank")
    parser.add_argument("--uneven", type=int, default=-1, help="the rank whose data ends first; the others join")
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--hooks", action="store_true")
    parser.add_argument("--spawn", type=int, default=0)
    parser.add_argument("--port", type=int, default=29600)
    options = parser.parse_args()
    if options.spawn:
        mp.spawn(train, (options.spawn, options), nprocs=options.spawn)
    else:
        train(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)), options)
