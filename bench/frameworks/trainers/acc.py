"""A loop with accelerate, and its bar; under `accelerate launch`, or with its launcher for notebooks."""

import argparse
import os
import sys
import time

import torch
from accelerate import Accelerator, notebook_launcher
from torch import nn
from tqdm import tqdm

import faults


def train(options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    faults.started(int(os.environ.get("RANK", 0)))
    accelerator = Accelerator(cpu=True)
    rank = accelerator.process_index
    x = torch.randn(4096, 64)
    data = torch.utils.data.TensorDataset(x, x[:, :4].sum(1, keepdim=True))
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    if options.hooks:
        import tocsin
        tocsin.watch(model, optimizer, step=0)
    bar = tqdm(total=options.steps, disable=not accelerator.is_main_process, file=sys.stderr)
    done = 0
    while done < options.steps:
        for a, b in loader:
            faults.step(rank)
            time.sleep(0.05)                     # what data costs elsewhere
            loss = faults.loss(nn.functional.mse_loss(model(a), b))
            accelerator.backward(loss)
            faults.rate(optimizer)
            optimizer.step()
            optimizer.zero_grad()
            done += 1
            bar.update(1)
            bar.set_postfix(loss=f"{loss.item():.4f}")
            if done == options.steps:
                break
    accelerator.end_training()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--hooks", action="store_true")
    parser.add_argument("--notebook", type=int, default=0)
    options = parser.parse_args()
    if options.notebook:
        notebook_launcher(train, (options,), num_processes=options.notebook, use_port="29750")
    else:
        train(options)
