"""Text to learn from, and a loader that prefetches batches in a thread."""

import os
import queue
import random
import threading

import torch

PREFETCHED_BATCHES = 2


def read_corpus(limit_bytes=2_000_000):
    """The sources of Python's own standard library, as one tensor of bytes."""
    folder = os.path.dirname(os.__file__)
    parts, size = [], 0
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".py") or size >= limit_bytes:
            continue
        with open(os.path.join(folder, name), "rb") as source:
            parts.append(source.read())
        size += len(parts[-1])
    return torch.frombuffer(bytearray(b"".join(parts)[:limit_bytes]), dtype=torch.uint8)


class Loader:
    """Batches of (input, target), made ahead by a thread of its own.

    `controls` is asked before each batch, so that a test can block the loader in a real read.
    """

    def __init__(self, corpus, batch, context, seed, controls):
        self._corpus, self._batch, self._context = corpus, batch, context
        self._random = random.Random(seed)
        self._controls = controls
        self._ready = queue.Queue(maxsize=PREFETCHED_BATCHES)
        threading.Thread(target=self._fill, name="loader", daemon=True).start()

    def next(self):
        """The next batch; waits until the thread has one."""
        return self._ready.get()

    def sample(self):
        """One batch, made now."""
        last = len(self._corpus) - self._context - 1
        starts = [self._random.randrange(last) for _ in range(self._batch)]
        rows = torch.stack([self._corpus[s:s + self._context + 1] for s in starts]).long()
        return rows[:, :-1], rows[:, 1:]

    def _fill(self):
        while True:
            self._controls.hold_loader()
            self._ready.put(self.sample())
