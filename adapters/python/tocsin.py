"""Prints where each rank's steps spend their time, in lines that tocsin reads: docs/python.md describes them.

    import tocsin
    tocsin.watch(model, optimizer)                     # a loop of one's own; before the first step, on every rank

    Trainer(..., callbacks=[tocsin.TrainerCallback()])               # transformers
    lightning.Trainer(..., callbacks=[tocsin.LightningCallback()])   # Lightning

Nothing here changes what is trained, and nothing here may end a training: an exception is reported once on stderr, and then all of it is
switched off. TOCSIN_LINES=0 in the environment switches it off from the start.
"""

import atexit
import os
import sys
import threading
import time
import types

_EVERY = 0.5     # seconds between two lines of a rank
_LOOK = 0.1      # seconds between two looks at what the training thread does, and between two steps whose backward pass is measured
_COUNTS = 1.0    # seconds between two lines of counts
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "LOCAL_RANK")

_watches = []    # those that are on, in this process


def watch(model, *optimizers, step=None, every=_EVERY):
    """Prints the times of a loop that calls `step()` of these optimizers; a step of the first one is a step of the training.

    step: the step that the training goes on from, 0 for a new one. Not given, it is that of the optimizer's own state (Adam and its kin
    have one); an optimizer without one has lines without a step.
    """
    watched = Watch(step=step, every=every)
    watched.guarded(watched.follow, model, optimizers)
    return watched


class Watch:
    """What one training of this process is measured by. Its methods never raise: see `guarded`."""

    def __init__(self, step=None, every=_EVERY, out=None):
        self.out = sys.__stdout__ if out is None else out
        self.every, self.step = every, step
        self.on = os.environ.get("TOCSIN_LINES", "") != "0"
        self.removers = []          # undo what was hooked
        self.rank = None            # once torch.distributed knows it; it forgets before the last line
        self.thread = None          # the one that trains
        self.begun = None           # of the step that runs; none: not measured
        self.line_at = None
        self.counts_at = 0.0
        self.models = []
        self.hooks = []             # on their parameters, in steps that are measured
        self.measure_at = 0.0
        self.queued = False         # a backward pass is measured
        self.computed_at = None     # this rank's part of it is over, and its gradients are not reduced yet
        self.gpu = False
        self.pairs = []             # GPU events around a reduction that may not be over yet
        self.phase = None
        self.looker = None
        self.gate = threading.Lock()       # it looks as long as this is held: cheaper than an Event
        self._clear()
        if self.on:
            _watches.append(self)

    def _clear(self):
        self.steps, self.span, self.data = 0, 0.0, 0.0
        self.measured, self.reduced = 0, 0.0      # steps whose backward passes were measured, and the seconds that they waited
        self.blocked = 0.0                        # in other collectives
        self.kept = 0.0, 0.0                      # data and blocked when the last step ended

    # ---- safety ----

    def guarded(self, function, *arguments):
        """Calls it; whatever goes wrong ends the measuring, and not the training."""
        if not self.on:
            return None
        try:
            return function(*arguments)
        except Exception as error:
            self.switch_off(error)
            return None

    def switch_off(self, error=None):
        """Takes the hooks out again, and reports why if it is a failure."""
        if not self.on:
            return
        self.on = False
        if self.gate.locked():
            self.gate.release()
        if self in _watches:
            _watches.remove(self)
        removers, self.removers = self.removers, []
        for remove in removers:
            try:
                remove()
            except Exception:
                pass               # a hook that stays does nothing any more
        if error is not None:
            try:
                sys.stderr.write(f"tocsin: times are no longer printed: {type(error).__name__}: {error}\n")
                sys.stderr.flush()
            except Exception:
                pass

    # ---- what is hooked ----

    def follow(self, model, optimizers):
        """A loop of one's own."""
        models = list(model) if isinstance(model, (list, tuple)) else [model]
        flat = [o for each in optimizers for o in (each if isinstance(each, (list, tuple)) else [each])]
        if not flat:
            raise TypeError("watch(model, optimizer): the optimizer is missing")
        self.follow_backward(models)
        self.follow_optimizer(_innermost(flat[0]))
        self.begin()

    def begin(self):
        """What every kind of training has: its data, and a thread that looks at it."""
        _time_loaders()
        self.thread = threading.get_ident()
        self.look()
        atexit.register(self.close)

    def look(self):
        self.gate.acquire(blocking=False)
        self.looker = threading.Thread(target=self._look, name="tocsin", daemon=True)
        self.looker.start()

    def follow_backward(self, models):
        import torch
        self.engine = torch.autograd.Variable._execution_engine
        for model in models:
            trained = [p for p in model.parameters() if p.requires_grad]
            self.models += trained[-1:]      # the last layer's are in every backward pass
        self.gpu = any(p.is_cuda for p in self.models)
        self.removers.append(self._unhook)

    def _hook(self):
        if not self.hooks:
            self.hooks = [parameter.register_hook(self._backward) for parameter in self.models]

    def _unhook(self):
        hooks, self.hooks = self.hooks, []
        for hook in hooks:
            hook.remove()

    def follow_optimizer(self, optimizer):
        def finished(*_):
            try:
                self.stepped(None, optimizer)
            except Exception as error:
                self.switch_off(error)

        if hasattr(optimizer, "register_step_post_hook"):
            self.removers.append(optimizer.register_step_post_hook(finished).remove)
            return
        original = optimizer.step      # PyTorch 1

        def step(_, *arguments, **named):
            result = original(*arguments, **named)
            finished()
            return result

        optimizer.step = types.MethodType(step, optimizer)

    # ---- the wait for other ranks: from the end of a rank's own backward pass until its gradients are reduced ----

    def _backward(self, _):
        """A gradient is there: the engine will call back at the end of this backward pass."""
        if self.queued:
            return
        try:
            self.queued = True
            self.engine.queue_callback(self._computed)
        except Exception as error:
            self.switch_off(error)

    def _computed(self):
        """All gradients are computed. What DDP queued to wait for their reduction comes before what is queued now."""
        try:
            self.computed_at = self._mark()
            self.engine.queue_callback(self._reduced)
        except Exception as error:
            self.switch_off(error)

    def _reduced(self):
        try:
            begin, end = self.computed_at, self._mark()
            self.queued, self.computed_at = False, None
            if not self.gpu:
                self.reduced += end - begin
            elif begin is not None and end is not None:
                self.pairs.append((begin, end))
                del self.pairs[:-64]
        except Exception as error:
            self.switch_off(error)

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

    def _read_pairs(self):
        while self.pairs and self.pairs[0][1].query():
            begin, end = self.pairs.pop(0)
            self.reduced += begin.elapsed_time(end) / 1000

    # ---- steps ----

    def stepped(self, step=None, optimizer=None):
        """The optimizer has made a step; `step`: its number, if the framework knows it."""
        if not self.on:
            return
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
            self.steps += 1
            self.span += now - self.begun
            if self.hooks:
                self.measured += 1
                self.queued, self.computed_at = False, None
            if now - self.line_at >= self.every:
                self._print_times(now)
        if now >= self.measure_at:
            self.measure_at = now + _LOOK
            self._hook()
        elif self.hooks:
            self._unhook()
        self.begun, self.kept = now, (self.data, self.blocked)

    def leave_out(self):
        """What ran since the last step is no part of one: an evaluation, a checkpoint."""
        if self.begun is not None:
            self.begun = time.perf_counter()
            self.data, self.blocked = self.kept

    def enter(self, phase):
        if self.phase != phase:
            self.phase = phase
            self.say(f"phase {phase}")

    def _print_times(self, now):
        self._read_pairs()
        span, data = self.span / self.steps, self.data / self.steps
        comm = self.reduced / max(1, self.measured) + self.blocked / self.steps
        compute = max(0.0, span - data - comm)
        known = f"step {self.step} | " if self.step is not None else ""
        self.phase = "train"
        self.say(f"{known}step_time {span:.5f} | compute {compute:.5f} | data {data:.5f} | comm {comm:.5f}")
        self.line_at = now
        self._clear()

    # ---- collectives ----

    def _look(self):
        before = time.perf_counter()
        try:
            while not self.gate.acquire(timeout=_LOOK):
                now = time.perf_counter()
                self._look_once(now, now - before)
                before = now
        except Exception as error:
            self.switch_off(error)

    def _look_once(self, now, since):
        within = self._in_collective()
        if within:
            self.blocked += since
        if now - self.counts_at >= _COUNTS:
            self.counts_at = now
            # What a GPU has done cannot be seen from here without holding it up.
            launched = None if self.gpu else _launched()
            if launched is not None:
                self.say(f"collectives launched {launched} done {launched - (within or self.computed_at is not None)}")

    def _in_collective(self):
        """Whether the training thread waits in a function of torch.distributed."""
        frame = sys._current_frames().get(self.thread)
        for _ in range(3):
            if frame is None:
                return False
            if frame.f_code.co_filename.endswith("distributed_c10d.py"):
                return True
            frame = frame.f_back
        return False

    # ---- lines ----

    def say(self, text):
        """One line in one write: ranks share a pipe."""
        if self.rank is None and (distributed := _distributed()) is not None:
            self.rank = distributed.get_rank()
        self.out.write(f"[rank {_environment_rank() if self.rank is None else self.rank}] {text}\n")
        self.out.flush()

    def close(self):
        """The end of the training: what was measured last is printed."""
        if self.on and self.steps:
            self.guarded(self._print_times, time.perf_counter())
        self.switch_off()
        if self.looker is not None and self.looker is not threading.current_thread():
            self.looker.join(1.0)      # a thread that prints while the interpreter goes away would crash it
        atexit.unregister(self.close)


# ---- what torch knows ----

def _distributed():
    module = sys.modules.get("torch.distributed")
    return module if module is not None and module.is_available() and module.is_initialized() else None


def _environment_rank():
    for name in _RANKS:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0


def _launched():
    """Collectives that this rank has asked its largest group for; none where the group does not count them."""
    distributed = _distributed()
    if distributed is None:
        return None
    try:
        return distributed.group.WORLD._get_sequence_number_for_group()
    except (AttributeError, RuntimeError):
        return None


def _innermost(optimizer):
    """The optimizer of torch within those that frameworks put around it."""
    for _ in range(8):
        inner = getattr(optimizer, "optimizer", None)
        if inner is None or not hasattr(inner, "step"):
            break
        optimizer = inner
    return optimizer


def _step_of(optimizer):
    """The number of steps that the optimizer's state has seen, before a restart too."""
    for state in optimizer.state.values():
        count = state.get("step") if isinstance(state, dict) else None
        if count is not None:
            return int(count)
    return None


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
            waited = time.perf_counter() - begin
            for each in _watches:
                if each.thread == threading.get_ident():
                    each.data += waited

    __next__.tocsin = True
    iterator.__next__ = __next__


def _forget():
    """A process that was forked, as loader workers are, trains nothing."""
    for each in _watches:
        each.on = False
        each.looker = None
    _watches.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# ---- frameworks: their modules are loaded when these classes are asked for ----

def _trainer_callback():
    import transformers

    class TrainerCallback(transformers.TrainerCallback):
        """For `callbacks` of the Trainer of transformers."""

        def __init__(self):
            self.watched = None

        def _do(self, name, *arguments):
            if self.watched is not None:
                self.watched.guarded(getattr(self.watched, name), *arguments)

        def on_train_begin(self, args, state, control, model=None, **_):
            self.watched = Watch(step=state.global_step)
            if model is not None:
                self._do("follow_backward", [model])
            self._do("begin")

        def on_step_end(self, args, state, control, **_):
            self._do("stepped", state.global_step)

        def on_prediction_step(self, args, state, control, **_):
            self._do("enter", "eval")

        def on_evaluate(self, args, state, control, **_):
            self._do("leave_out")

        def on_save(self, args, state, control, **_):
            self._do("leave_out")

        def on_train_end(self, args, state, control, **_):
            if self.watched is not None:
                self.watched.close()

    return TrainerCallback


def _lightning_callback():
    try:
        from lightning.pytorch import callbacks
    except ImportError:
        from pytorch_lightning import callbacks

    class LightningCallback(callbacks.Callback):
        """For `callbacks` of Lightning's Trainer."""

        def __init__(self):
            self.watched = None
            self.made = None

        def _do(self, name, *arguments):
            if self.watched is not None:
                self.watched.guarded(getattr(self.watched, name), *arguments)

        def on_train_start(self, trainer, pl_module):
            self.made = trainer.global_step
            self.watched = Watch(step=self.made)
            self._do("follow_backward", [pl_module])
            self._do("begin")

        def on_train_batch_end(self, trainer, *_, **__):
            if trainer.global_step != self.made:      # not in every batch where gradients are accumulated
                self.made = trainer.global_step
                self._do("stepped", self.made)

        def on_validation_start(self, trainer, *_):
            if not trainer.sanity_checking:
                self._do("enter", "eval")

        def on_validation_end(self, *_):
            self._do("leave_out")

        def on_train_end(self, *_):
            if self.watched is not None:
                self.watched.close()

    return LightningCallback


_CALLBACKS = {"TrainerCallback": _trainer_callback, "LightningCallback": _lightning_callback}


def __getattr__(name):
    if name not in _CALLBACKS:
        raise AttributeError(f"module 'tocsin' has no attribute {name!r}; it has watch, TrainerCallback and LightningCallback")
    globals()[name] = _CALLBACKS[name]()
    return globals()[name]
