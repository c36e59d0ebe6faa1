"""The Trainer of transformers with a tiny GPT-2 on made-up tokens."""

import argparse
import os

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

import faults


class Tokens(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        tokens = torch.randint(0, 50, (32,), generator=torch.Generator().manual_seed(index % 512)).cumsum(0) % 200
        return {"input_ids": tokens, "labels": tokens}


class Faults(TrainerCallback):
    def on_step_begin(self, args, state, control, **rest):
        faults.step(args.process_index)

    def on_pre_optimizer_step(self, args, state, control, optimizer=None, **rest):
        if optimizer is not None:
            faults.rate(optimizer)


class Faulty(Trainer):
    def compute_loss(self, *args, **named):
        loss = super().compute_loss(*args, **named)
        return (faults.loss(loss[0]), loss[1]) if isinstance(loss, tuple) else faults.loss(loss)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--hooks", action="store_true")
    parser.add_argument("--bar", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    faults.started(int(os.environ.get("RANK", 0)))
    config = GPT2Config(vocab_size=200, n_positions=32, n_embd=128, n_layer=4, n_head=4)
    arguments = TrainingArguments(
        output_dir=str(faults.FOLDER / "hf"), use_cpu=True, max_steps=options.steps, per_device_train_batch_size=8,
        logging_steps=10_000_000 if options.silent or options.bar else 5, disable_tqdm=not options.bar,
        eval_strategy="steps", eval_steps=150, save_steps=200, dataloader_num_workers=1, report_to=[], learning_rate=1e-3, seed=1,
        logging_nan_inf_filter=False)
    callbacks = [Faults()]
    if options.hooks:
        import tocsin
        callbacks.append(tocsin.TrainerCallback())
    Faulty(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Tokens(100_000), eval_dataset=Tokens(64), callbacks=callbacks).train()
