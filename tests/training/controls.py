"""What may be changed in a running rank from outside.

A JSON file named by TRAIN_CONTROLS is polled (its modification time, at most every 50 ms). It holds a list of settings:

    {"rank": 2, "from_step": 40, "name": "compute_factor", "value": 3.0}

`rank` null means every rank. Names: `compute_factor` (own work takes that many times as long), `lr_factor`, `loss_factor` (NaN
poisons the loss), `loader_read` (the loader reads this path, usually a FIFO without a writer, before its next batch).
When a setting first has an effect, a line {"name", "rank", "t"} is appended to the file named by TRAIN_MARKS.
"""

import json
import os
import threading
import time

POLL_SECONDS = 0.05


class Controls:
    """The settings that apply to this rank. `step` is set by the training loop; the loader's thread may read too."""

    def __init__(self, rank, path=None, marks=None):
        self.rank = rank
        self.step = 0
        self._path = path or os.environ.get("TRAIN_CONTROLS")
        self._marks = marks or os.environ.get("TRAIN_MARKS")
        self._settings, self._stamp, self._polled = [], None, 0.0
        self._marked = set()
        self._lock = threading.Lock()

    def number(self, name, default):
        """The value of a setting, or the default where it does not apply now."""
        setting = self._active(name)
        return default if setting is None else float(setting["value"])

    def hold_loader(self):
        """Blocks in a read while the setting `loader_read` applies."""
        setting = self._active("loader_read")
        if setting is not None:
            with open(setting["value"], "rb") as source:
                source.read()

    def _active(self, name):
        with self._lock:
            self._poll()
            for setting in self._settings:
                if setting["name"] == name and setting.get("rank") in (None, self.rank) \
                        and self.step >= setting.get("from_step", 0):
                    self._mark(name)
                    return setting
        return None

    def _poll(self):
        now = time.monotonic()
        if not self._path or now - self._polled < POLL_SECONDS:
            return
        self._polled = now
        try:
            stamp = os.stat(self._path).st_mtime_ns
            if stamp != self._stamp:
                with open(self._path, encoding="utf-8") as file:
                    self._settings = json.load(file)
                self._stamp = stamp
        except (OSError, ValueError):
            pass  # not there yet, or half written: the next poll sees it whole

    def _mark(self, name):
        if name in self._marked or not self._marks:
            return
        self._marked.add(name)
        with open(self._marks, "a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, "rank": self.rank, "t": time.time()}) + "\n")
