"""The program, and a journal that tests of its commands replay: four ranks, of which one hangs."""

import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN = 1_780_000_000
HANG = 120          # seconds into the log
SECONDS = 200


def tocsin(*arguments, **more):
    """Runs the binary; returns the completed process with its output as text."""
    environment = dict(os.environ, TOCSIN_RULES=str(ROOT / "rules"))
    return subprocess.run([TOCSIN, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=300, **more)


def records():
    """Four ranks that step three times a second; from HANG on rank 2 sleeps outside a collective the others wait in."""
    yield {"t": BEGIN, "job": "demo", "event": "start", "world_size": 4}
    for rank in range(4):
        yield {"t": BEGIN, "job": "demo", "event": "member", "rank": rank, "node": "n1"}
    step = 0
    for second in range(1, SECONDS):
        t = BEGIN + second
        if second < HANG:
            for part in range(3):
                step += 1
                for rank in range(4):
                    yield {"t": t + part * 0.3 + rank * 0.01, "job": "demo", "rank": rank, "source": "profiler",
                           "values": {"step": step, "step_time": 0.3, "compute_time": 0.2 + 0.002 * math.sin(step + rank)}}
            yield {"t": t + 0.95, "job": "demo", "rank": 0, "line": f"iter {step}: loss {2 + 5 * math.exp(-step / 100):.4f}, time 300.00ms, mfu 10.00%"}
        for rank in range(4):
            launched = step + (1 if second >= HANG and rank != 2 else 0)
            yield {"t": t + 0.96, "job": "demo", "rank": rank, "source": "sampler",
                   "values": {"collective_launched": launched, "collective_done": step,
                              "process_state": "sleeping",
                              "process_cpu": 0.0 if second >= HANG and rank == 2 else 0.4}}
    yield {"t": BEGIN + SECONDS, "job": "demo", "event": "end", "reason": "cancelled"}


def history(journal):
    """Every transition and verdict beside a journal, in order."""
    lines = []
    for path in sorted(journal.glob("alerts*")):
        lines += path.read_text().splitlines()
    return lines


class WithJournal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.base = pathlib.Path(cls.folder.name)
        cls.lines = cls.base / "log.jsonl"
        cls.lines.write_text("".join(json.dumps(r) + "\n" for r in records()))
        done = tocsin("ingest", cls.lines, "--to", cls.base / "journal")
        assert done.returncode == 0, done.stderr
        cls.plain = tocsin("replay", cls.base / "journal", "--quiet", "--alerts", "-", "--digest", "--counters")
        assert cls.plain.returncode == 0, cls.plain.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def fresh_journal(self, name):
        """The journal once more, with nothing beside it."""
        path = self.base / name
        done = tocsin("ingest", self.lines, "--to", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path
