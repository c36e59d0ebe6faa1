"""Where a step's time goes, and how many collectives a rank has launched and completed."""

import threading
import time

import torch.distributed as dist


class Collectives:
    """Counts this rank's collectives. Gloo's own threads complete them, hence the lock."""

    def __init__(self):
        self._lock = threading.Lock()
        self.launched = 0
        self.done = 0
        self.last_launch = 0.0

    def average_gradients(self, _state, bucket):
        """DDP's communication hook: averages one bucket over all ranks."""
        tensor = bucket.buffer().div_(dist.get_world_size())
        future = self._launch(lambda: dist.all_reduce(tensor, async_op=True)).get_future()
        return future.then(self._completed)

    def barrier(self):
        """Waits for all ranks, and counts as one collective."""
        self._finish(self._launch(lambda: dist.barrier(async_op=True)))

    def broadcast(self, tensor):
        """Gives all ranks rank 0's tensor, and counts as one collective."""
        self._finish(self._launch(lambda: dist.broadcast(tensor, src=0, async_op=True)))

    def counts(self):
        """(launched, done)"""
        with self._lock:
            return self.launched, self.done

    def _launch(self, start):
        with self._lock:
            self.launched += 1
        self.last_launch = time.perf_counter()
        return start()

    def _finish(self, work):
        work.wait()
        with self._lock:
            self.done += 1

    def _completed(self, future):
        with self._lock:
            self.done += 1
        return future.value()[0]


class Reporter:
    """Prints this rank's lines; the counts come from a thread of their own, once a second."""

    def __init__(self, rank, collectives, interval=1.0):
        self._rank = rank
        self._collectives = collectives
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._count, name="reporter", daemon=True)
        self._thread.start()

    def say(self, text):
        """One line, written at once: ranks share a pipe, and a short write to it is never torn."""
        print(f"[rank {self._rank}] {text}\n", end="", flush=True)

    def step(self, step, times, known=""):
        """The line of one step; `known` holds what only rank 0 tells."""
        self.say(f"step {step} | {known}step_time {times['step']:.3f} | compute {times['compute']:.3f}"
                 f" | data {times['data']:.3f} | comm {times['comm']:.3f}")

    def close(self):
        """Prints the last counts and ends the thread."""
        self._stop.set()
        self._thread.join()

    def _count(self):
        stopping = False
        while not stopping:
            stopping = self._stop.wait(self._interval)
            launched, done = self._collectives.counts()
            self.say(f"collectives launched {launched} done {done}")
