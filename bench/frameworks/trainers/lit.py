"""Lightning's Trainer, which starts its other ranks itself."""

import argparse
import os
import time

import lightning
import torch
from torch import nn

import faults


class Pairs(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        time.sleep(0.005)
        x = torch.randn(64, generator=torch.Generator().manual_seed(index))
        return x, x[:4].sum().unsqueeze(0)


class Net(lightning.LightningModule):
    def __init__(self, log):
        super().__init__()
        self.log_lines = log
        self.net = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 1))

    def training_step(self, batch, index):
        faults.step(self.global_rank)
        x, y = batch
        loss = faults.loss(nn.functional.mse_loss(self.net(x), y))
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def on_before_optimizer_step(self, optimizer):
        faults.rate(optimizer)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--hooks", action="store_true")
    parser.add_argument("--strategy", default="ddp")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    faults.started(int(os.environ.get("LOCAL_RANK", 0)))
    loader = torch.utils.data.DataLoader(Pairs(), batch_size=16, num_workers=options.workers)
    callbacks = []
    if options.hooks:
        import tocsin
        callbacks.append(tocsin.LightningCallback())
    trainer = lightning.Trainer(
        callbacks=callbacks,
        max_steps=options.steps, accelerator="cpu", devices=options.devices, strategy=options.strategy, logger=False,
        enable_checkpointing=False, enable_progress_bar=not options.silent, default_root_dir=str(faults.FOLDER))
    trainer.fit(Net(not options.silent), loader)
