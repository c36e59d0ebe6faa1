"""Prints where each rank's steps spend their time, in lines that tocsin reads (docs/python.md).

    import tocsin
    tocsin.watch(model, optimizer)                                   # a loop of one's own; on every rank
    Trainer(..., callbacks=[tocsin.TrainerCallback()])               # transformers
    lightning.Trainer(..., callbacks=[tocsin.LightningCallback()])   # Lightning

Nothing here changes what is trained or ends it: an exception is reported once on stderr, and all is off then, as it is
where the environment has TOCSIN_LINES=0.
"""

import atexit
import contextlib
import functools
import os
import random
import sys
import threading
import time

_EVERY, _COUNTS = 0.5, 1.0    # seconds between two lines of times, and of counts
_LOOK = 0.1      # seconds between two looks at the training thread
_MEASURED = 0.03      # seconds: of longer steps each backward pass is measured, of shorter ones one in this time
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "LOCAL_RANK")

_watches = []    # those that are on, in this process


def watch(model, *optimizers, step=None, every=_EVERY):
    """Prints the times of a loop that calls `step()` of these optimizers; one of the first is a step of the training.

    step: what it goes on from. Not given, it is that of the optimizer's state (Adam and its kin), or lines have none.
    """
    for before in list(_watches):      # a training of this process that is over: another fold, another try
        before.close()
    watched = Watch(step=step, every=every)
    watched.follow(model, optimizers)
    return watched


def _harmless(method):
    """Whatever goes wrong ends the measuring, and not the training."""
    @functools.wraps(method)
    def safe(self, *arguments):
        if self.on:
            try:
                method(self, *arguments)
            except Exception as error:
                self.switch_off(error)
    return safe


class Watch:
    """What one training of this process is measured by. What others call of it never raises."""

    def __init__(self, step=None, every=_EVERY, out=None):
        self.out = sys.__stdout__ if out is None else out
        self.every, self.step = every, step
        self.on = os.environ.get("TOCSIN_LINES", "") != "0"
        self.removers, self.looker, self.gate = [], None, threading.Lock()     # it looks until it gets the lock
        self.rank, self.thread = None, None      # kept, for torch.distributed forgets it; who trains
        self.begun, self.workers = None, None      # of the step that runs, none: not measured; see _workers
        self.line_at, self.counts_at, self.phase = None, 0.0, None
        self.mean, self.chance = _MEASURED, random.Random(0)     # of the last steps; not the training's chance
        self.parameters, self.hooks = [], []       # hooks on them, in steps whose backward passes are measured
        self.queued, self.computed_at = False, None      # a pass is measured; it is computed, and not reduced yet
        self.gpu, self.pairs = False, []           # events around a reduction that may not be over yet
        self._clear()
        if self.on:
            _watches.append(self)

    def _clear(self):
        self.steps, self.span, self.data, self.measured, self.reduced = 0, 0.0, 0.0, 0, 0.0
        self.blocked, self.busy, self.looked = 0.0, 0.0, 0.0      # in other collectives; workers at work, of looks
        self.kept = (0.0, 0.0, 0.0, 0.0)      # what data and these three were when a step ended

    def switch_off(self, error=None):
        """The hooks do nothing any more. They stay: whoever calls one may be going through all of them."""
        if not self.on:
            return
        self.on = False
        if self.gate.locked():
            self.gate.release()
        _watches[:] = [each for each in _watches if each is not self]
        if error is not None:
            with contextlib.suppress(Exception):
                sys.stderr.write(f"tocsin: times are no longer printed: {type(error).__name__}: {error}\n")
                sys.stderr.flush()

    @_harmless
    def follow(self, model, optimizers):
        flat = [o for each in optimizers for o in (each if isinstance(each, (list, tuple)) else [each])]
        if not flat:
            raise TypeError("watch(model, optimizer): the optimizer is missing")
        self.follow_backward(list(model) if isinstance(model, (list, tuple)) else [model])
        self.follow_optimizer(_innermost(flat[0]))
        self.begin()

    @_harmless
    def begin(self):
        """What every kind of training has: its data, and a thread that looks at it."""
        _time_loaders()
        self.thread = threading.get_ident()
        atexit.register(self.close)
        with contextlib.suppress(ImportError):      # where this file was copied alone
            import tocsin_stacks
            tocsin_stacks.register()
        self.gate.acquire(blocking=False)
        self.looker = threading.Thread(target=self._look, name="tocsin", daemon=True)
        self.looker.start()

    @_harmless
    def follow_backward(self, models):
        import torch
        self.engine = torch.autograd.Variable._execution_engine
        trained = [[p for p in model.parameters() if p.requires_grad] for model in models]
        self.parameters += [p for each in trained for p in each[-1:]]      # the last layer's are in every backward pass
        self.gpu = any(p.is_cuda for p in self.parameters)
        self.removers.append(self._measure)

    # At random: a loader's workers make steps long and short in turn, and every other step would be of one kind.
    def _measure(self, on=False):
        if on and not self.hooks:
            self.hooks = [parameter.register_hook(self._backward) for parameter in self.parameters]
        while self.hooks and not on:
            self.hooks.pop().remove()

    def follow_optimizer(self, optimizer):
        original, finished = optimizer.step, lambda *_: self.stepped(None, optimizer)
        @functools.wraps(original)      # a scheduler has marked the one that it counts
        def step(_, *arguments, **named):
            result = original(*arguments, **named)
            finished()
            return result
        if hasattr(optimizer, "register_step_post_hook"):
            self.removers.append(optimizer.register_step_post_hook(finished).remove)
        else:      # PyTorch 1
            optimizer.step = step.__get__(optimizer)

    @_harmless
    def _backward(self, _):
        """A gradient is there: the engine will call back at the end of this backward pass."""
        if not self.queued:
            self.queued = True
            self.engine.queue_callback(self._computed)

    @_harmless
    def _computed(self):
        """All gradients are computed. What DDP queued to wait for their reduction comes before what is queued now."""
        self.computed_at = self._mark()
        self.engine.queue_callback(self._reduced)

    @_harmless
    def _reduced(self):
        begin, end, self.queued, self.computed_at = self.computed_at, self._mark(), False, None
        if not self.gpu:
            self.reduced += end - begin
        elif begin is not None and end is not None:
            self.pairs.append((begin, end))
            del self.pairs[:-64]

    def _mark(self):
        """A moment of the host, or, where a GPU computes, of its stream: the host is ahead of it."""
        if not self.gpu:
            return time.perf_counter()
        torch = sys.modules["torch"]
        if torch.cuda.is_current_stream_capturing():
            return None            # an event would spoil the graph that is recorded
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    @_harmless
    def stepped(self, step=None, optimizer=None):
        now = time.perf_counter()
        if step is not None:
            self.step = step
        elif self.step is not None:
            self.step += 1
        elif self.begun is None and optimizer is not None:
            self.step = _step_of(optimizer)
        if self.begun is None:          # the first step loads, compiles and allocates
            self.thread, self.line_at = threading.get_ident(), now
            self._clear()
        else:
            took = now - self.begun
            self.steps, self.span, self.mean = self.steps + 1, self.span + took, self.mean + (took - self.mean) / 16
            if self.hooks:
                self.measured, self.queued, self.computed_at = self.measured + 1, False, None
            if now - self.line_at >= self.every:
                self._print_times(now)
        self._measure(self.chance.random() * _MEASURED < self.mean)
        self.begun, self.kept = now, (self.data, self.blocked, self.busy, self.looked)

    @_harmless
    def leave_out(self):
        """What ran since the last step is no part of one: an evaluation, a checkpoint."""
        if self.begun is not None:
            self.begun, (self.data, self.blocked, self.busy, self.looked) = time.perf_counter(), self.kept

    @_harmless
    def evaluate(self):
        if self.phase != "eval":
            self.phase = "eval"
            self.say("phase eval")

    def _print_times(self, now):
        while self.pairs and self.pairs[0][1].query():
            begin, end = self.pairs.pop(0)
            self.reduced += begin.elapsed_time(end) / 1000
        span, data = self.span / self.steps, self.data / self.steps
        comm = self.reduced / max(1, self.measured) + self.blocked / self.steps
        compute = max(0.0, span - data - comm)
        known = f"step {self.step} | " if self.step is not None else ""
        workers = f" | workers {self.busy / self.looked:.2f}" if self.looked else ""
        self.say(f"{known}step_time {span:.5f} | compute {compute:.5f} | data {data:.5f} | comm {comm:.5f}{workers}")
        self.line_at, self.phase = now, "train"
        self._clear()

    @_harmless
    def _look(self):
        now = time.perf_counter()
        while not self.gate.acquire(timeout=_LOOK):
            before, now = now, time.perf_counter()
            self._look_once(now, now - before)

    def _look_once(self, now, since):
        self.blocked += since * (within := self._in_collective())
        if self.workers is not None:
            count, asked, ready = self.workers
            with contextlib.suppress(Exception):      # a loader that is taken down
                self.busy += since * min(1.0, max(0, asked - ready()) / count)
                self.looked += since
        if now - self.counts_at >= _COUNTS:
            self.counts_at = now
            # What a GPU has done cannot be seen from here without holding it up.
            if (launched := None if self.gpu else _launched()) is not None:
                self.say(f"collectives launched {launched} done {launched - (within or self.computed_at is not None)}")

    def _in_collective(self):
        """Whether the training thread waits in a function of torch.distributed."""
        frame = sys._current_frames().get(self.thread)
        frames = (frame, frame and frame.f_back, frame and frame.f_back and frame.f_back.f_back)
        return any(each and each.f_code.co_filename.endswith("distributed_c10d.py") for each in frames)

    def say(self, text):
        """One line in one write: ranks share a pipe."""
        if self.rank is None and (distributed := _distributed()) is not None:
            self.rank = distributed.get_rank()
        known = (int(os.environ[name]) for name in _RANKS if os.environ.get(name, "").isdecimal())
        self.out.write(f"[rank {next(known, 0) if self.rank is None else self.rank}] {text}\n")
        self.out.flush()

    def close(self):
        """The end of the training: what was measured last is printed, and the hooks are taken out."""
        if self.steps:
            _harmless(Watch._print_times)(self, time.perf_counter())
        self.switch_off()
        if self.looker is not None and self.looker is not threading.current_thread():
            self.looker.join(1.0)      # a thread that prints while the interpreter goes away would crash it
        atexit.unregister(self.close)
        while self.removers:
            with contextlib.suppress(Exception):
                self.removers.pop()()


def _distributed():
    module = sys.modules.get("torch.distributed")
    return module if module and module.is_available() and module.is_initialized() else None


def _launched():
    """Collectives that this rank has asked its largest group for; none where nobody, or wrap itself, counts them."""
    traced = os.path.exists(os.path.join(os.environ.get("TOCSIN_NCCL_DIR", ""), "traced"))
    with contextlib.suppress(AttributeError, RuntimeError):
        return None if traced else _distributed().group.WORLD._get_sequence_number_for_group()


def _innermost(optimizer):
    """The optimizer of torch within those that frameworks put around it."""
    while hasattr(getattr(optimizer, "optimizer", None), "step"):
        optimizer = optimizer.optimizer
    return optimizer


def _step_of(optimizer):
    """The number of steps that the optimizer's state has seen, before a restart too."""
    counts = (state.get("step") for state in optimizer.state.values() if isinstance(state, dict))
    return next((int(count) for count in counts if count is not None), None)


def _time_loaders():
    """Every iterator of a DataLoader of this process tells the watches how long its caller waited."""
    from torch.utils.data import dataloader
    iterator = getattr(dataloader, "_BaseDataLoaderIter", None)
    original = getattr(iterator, "__next__", None)
    if original is None or getattr(original, "tocsin", False):
        return

    def __next__(self):
        begin = time.perf_counter()
        try:
            return original(self)
        finally:
            for each in _watches:
                if each.thread == threading.get_ident():
                    each.data, each.workers = each.data + time.perf_counter() - begin, _workers(self)

    __next__.tocsin = True
    iterator.__next__ = __next__


def _workers(iterator):
    """Of a loader: how many workers it has, how many batches they were asked for, what counts those that are ready."""
    with contextlib.suppress(AttributeError, TypeError, ValueError):      # it has none, or keeps them otherwise
        queues = {iterator._worker_result_queue, iterator._data_queue}      # two where memory is pinned
        count, asked = int(iterator._num_workers), int(iterator._tasks_outstanding)
        return (count, asked, lambda: sum(each.qsize() for each in queues)) if count and asked else None


def _forget():
    """A process that was forked, as loader workers are, trains nothing."""
    while _watches:
        vars(_watches.pop()).update(on=False, looker=None)


getattr(os, "register_at_fork", lambda **_: None)(after_in_child=_forget)


class _Callback:
    """What both have: pickled or copied, as frameworks do before they start their processes, it is a new one."""

    def __init__(self):
        self.watched, self.made = Watch(), None

    def __reduce__(self):
        return type(self), ()

    def _begin(self, model, step):
        self.watched.switch_off()
        self.watched, self.made = Watch(step=step), step
        self.watched.follow_backward([model])
        self.watched.begin()


def _trainer_callback():
    import transformers

    class TrainerCallback(_Callback, transformers.TrainerCallback):
        """For `callbacks` of the Trainer of transformers."""

        def on_train_begin(self, args, state, control, model=None, **_):
            self._begin(model, state.global_step)
        def on_step_end(self, args, state, control, **_):
            self.watched.stepped(state.global_step)
        def on_prediction_step(self, args, state, control, **_):
            self.watched.evaluate()
        def on_save(self, args, state, control, **_):
            self.watched.leave_out()
        on_evaluate = on_save
        def on_train_end(self, args, state, control, **_):
            self.watched.close()

    return TrainerCallback


def _lightning_callback():
    try:
        from lightning.pytorch import callbacks
    except ImportError:
        from pytorch_lightning import callbacks

    class LightningCallback(_Callback, callbacks.Callback):
        """For `callbacks` of Lightning's Trainer."""

        def on_train_start(self, trainer, pl_module):
            self._begin(pl_module, trainer.global_step)
        def on_train_batch_end(self, trainer, *_, **__):
            if trainer.global_step != self.made:      # not in every batch where gradients are accumulated
                self.made = trainer.global_step
                self.watched.stepped(self.made)
        def on_validation_start(self, trainer, *_):
            if not trainer.sanity_checking:
                self.watched.evaluate()
        def on_validation_end(self, *_):
            self.watched.leave_out()
        def on_train_end(self, *_):
            self.watched.close()

    return LightningCallback


def __getattr__(name):
    """The callbacks, when they are asked for: their frameworks are loaded then."""
    make = {"TrainerCallback": _trainer_callback, "LightningCallback": _lightning_callback}.get(name)
    if make is None:
        raise AttributeError(f"tocsin has no {name!r}: it has watch, TrainerCallback and LightningCallback")
    made = globals()[name] = make()
    made.__module__, made.__qualname__ = __name__, name      # so that it can be pickled
    return made
