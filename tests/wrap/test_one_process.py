"""A job of one process, as wrap records it: its lines are of no rank, its samples of rank 0."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, KNOWN, STOPPED, END = 1_780_000_000, 30, 120, 180   # when it is known to be the rank; when it is stopped


def records():
    yield {"t": BEGIN, "job": "one", "event": "start", "attempt": "1"}
    step = 0
    for second in range(1, END):
        t = BEGIN + second
        if second == KNOWN:
            yield {"t": t, "job": "one", "event": "start", "attempt": "1", "world_size": 1}
            yield {"t": t, "job": "one", "event": "member", "attempt": "1", "rank": 0, "node": "n1"}
        if second < STOPPED:
            for part in range(4):
                step += 1
                yield {"t": t + part * 0.25, "job": "one", "line": f"iter {step}: loss {3 - step / 1000:.4f}, time 250.00ms, mfu 10.00%"}
        if second >= KNOWN:
            yield {"t": t + 0.9, "job": "one", "rank": 0, "source": "sampler",
                   "values": {"process_state": "stopped" if second >= STOPPED else "running", "process_cpu": 0.0 if second >= STOPPED else 0.9, "process_pid": 4711,
                              "wait_syscall": "none", "wait_channel": "none"}}
    yield {"t": BEGIN + END, "job": "one", "event": "end", "reason": "cancelled"}


class OneProcess(unittest.TestCase):
    def test_that_it_was_stopped_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            lines, journal = pathlib.Path(folder, "log.jsonl"), pathlib.Path(folder, "journal")
            lines.write_text("".join(json.dumps(record) + "\n" for record in records()))
            environment = dict(os.environ, TOCSIN_RULES=str(ROOT / "rules"))
            subprocess.run([TOCSIN, "ingest", lines, "--to", journal], check=True, env=environment)
            done = subprocess.run([TOCSIN, "replay", journal, "--quiet", "--alerts", "-"], check=True, env=environment, capture_output=True, text=True)
        alerts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        fired = [alert for alert in alerts if alert.get("state") == "firing"]
        self.assertEqual([alert["rule"] for alert in fired], ["job_stopped"])
        self.assertIn("(pid 4711)", json.dumps(fired[0]["implies"]))
        self.assertLess(fired[0]["at"] / 1e9 - BEGIN - STOPPED, 20)
        self.assertEqual([alert["verdict"]["family"] for alert in alerts if "verdict" in alert], ["C3"])


if __name__ == "__main__":
    unittest.main()
