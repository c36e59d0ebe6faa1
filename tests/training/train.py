#!/usr/bin/env python3
"""One rank of a small real training job: a byte-level language model, DistributedDataParallel over gloo, on a CPU.

Reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT from its environment; launch.py sets them. README.md describes its lines.
"""

import argparse
import os
import sys
import tempfile
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from controls import Controls
from model import ByteModel
from text import Loader, read_corpus
from timing import Collectives, Reporter


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=0, help="stop after this many steps (0: by --seconds)")
    parser.add_argument("--seconds", type=float, default=60, help="stop after about this many seconds of training")
    parser.add_argument("--lr", type=float, default=3e-3, help="learning rate after the warm-up")
    parser.add_argument("--warmup", type=int, default=20, help="steps of linear warm-up")
    parser.add_argument("--batch", type=int, default=8, help="sequences a rank and step")
    parser.add_argument("--context", type=int, default=64, help="bytes a sequence")
    parser.add_argument("--width", type=int, default=64, help="width of the model")
    parser.add_argument("--clip", type=float, default=1.0, help="clip the gradient to this norm (0: do not)")
    parser.add_argument("--device-ms", type=float, default=120, help="sleep in the forward pass, for an accelerator's time")
    parser.add_argument("--eval-every", type=int, default=0, help="evaluate every so many steps (0: never)")
    parser.add_argument("--save-every", type=int, default=100, help="write a checkpoint every so many steps (0: never)")
    parser.add_argument("--save-dir", help="where checkpoints go (default: a temporary folder)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the model and the data")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds until a collective gives up")
    return parser.parse_args()


class Trainer:
    """The training loop of one rank."""

    def __init__(self, options, rank):
        torch.manual_seed(options.seed)
        torch.set_num_threads(1)
        self.options, self.rank = options, rank
        self.controls = Controls(rank)
        self.collectives = Collectives()
        self.report = Reporter(rank, self.collectives)
        model = ByteModel(width=options.width, context=options.context)
        self.model = DistributedDataParallel(model, broadcast_buffers=False)
        self.model.register_comm_hook(None, self.collectives.average_gradients)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr)
        self.loss = nn.CrossEntropyLoss()
        self.loader = Loader(read_corpus(), options.batch, options.context, 1000 * options.seed + rank, self.controls)
        self.phase = None
        self.usual = 0.0  # seconds of this rank's own work in the last step
        self.delay = 0.0  # and what a control added to it

    def run(self):
        """Trains until the steps or the seconds are used up."""
        begin, step = time.monotonic(), 0
        while not self.finished(step, time.monotonic() - begin):
            step += 1
            self.controls.step = step
            self.enter("train")
            self.train_step(step)
            if self.options.eval_every and step % self.options.eval_every == 0:
                self.evaluate()
            if self.options.save_every and step % self.options.save_every == 0:
                self.save(step)
        self.report.close()

    def finished(self, step, elapsed):
        """All ranks stop at the same step: rank 0's clock decides, and tells the others every tenth step."""
        if self.options.steps:
            return step >= self.options.steps
        if step % 10 or step == 0:
            return False
        over = torch.tensor([1.0 if elapsed >= self.options.seconds else 0.0])
        self.collectives.broadcast(over)
        return bool(over.item())

    def train_step(self, step):
        start = time.perf_counter()
        batch, target = self.loader.next()
        loaded = time.perf_counter()

        loss = self.forward(batch, target) * self.controls.number("loss_factor", 1.0)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # its end is the end of the last all-reduce
        reduced = time.perf_counter()

        limit = self.options.clip or float("inf")
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), limit).item()
        rate = self.set_learning_rate(step)
        self.optimizer.step()
        end = time.perf_counter()

        comm = reduced - self.collectives.last_launch
        times = {"step": end - start, "data": loaded - start, "comm": comm, "compute": end - loaded - comm}
        self.usual = times["compute"] - self.delay
        known = f"loss {loss.item():.4f} | grad_norm {norm:.2f} | lr {rate:.1e} | " if self.rank == 0 else ""
        self.report.step(step, times, known)

    def forward(self, batch, target):
        """The loss of a batch; the sleep stands for the time of an accelerator's kernels."""
        loss = self.loss(self.model(batch).flatten(0, 1), target.flatten())
        self.delay = max(0.0, self.controls.number("compute_factor", 1.0) - 1) * self.usual
        time.sleep(self.options.device_ms / 1000 + self.delay)
        return loss

    def set_learning_rate(self, step):
        rate = self.options.lr * min(1.0, step / max(1, self.options.warmup)) * self.controls.number("lr_factor", 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def evaluate(self, batches=5):
        self.enter("eval")
        with torch.no_grad():
            losses = []
            for _ in range(batches):
                batch, target = self.loader.sample()
                losses.append(self.loss(self.model.module(batch).flatten(0, 1), target.flatten()).item())
        if self.rank == 0:
            self.report.say(f"eval loss {sum(losses) / len(losses):.4f}")
        self.collectives.barrier()

    def save(self, step):
        self.enter("checkpoint")
        if self.rank == 0:
            start = time.perf_counter()
            path = os.path.join(self.options.save_dir, f"step{step}.pt")
            torch.save({"step": step, "model": self.model.module.state_dict(),
                        "optimizer": self.optimizer.state_dict()}, path)
            self.report.say(f"saved checkpoint at step {step} to {path} in {time.perf_counter() - start:.2f} s")
        self.collectives.barrier()

    def enter(self, phase):
        if phase != self.phase:
            self.phase = phase
            self.report.say(f"phase {phase}")


def main():
    options = parse_arguments()
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing:
        sys.exit(f"train.py: {', '.join(missing)} not in the environment; start it with launch.py")
    rank = int(os.environ["RANK"])
    if not options.save_dir:
        options.save_dir = os.path.join(tempfile.gettempdir(), f"train-{os.environ['MASTER_PORT']}")
    os.makedirs(options.save_dir, exist_ok=True)
    dist.init_process_group("gloo", timeout=timedelta(seconds=options.timeout))
    Trainer(options, rank).run()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
