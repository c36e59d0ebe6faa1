"""Jobs as wrap records them: the lines of one process are of no rank, its samples of rank 0; a launcher outlives its ranks."""

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


def slow_launcher():
    """Two ranks of which one prints for both; their processes end, and their launcher a minute later."""
    yield {"t": BEGIN, "job": "two", "event": "start", "attempt": "1", "world_size": 2}
    for rank in range(2):
        yield {"t": BEGIN, "job": "two", "event": "member", "attempt": "1", "rank": rank, "node": "n1"}
    for second in range(1, 100):
        if second < 80:
            yield {"t": BEGIN + second, "job": "two", "line": f"iter {second}: loss {3 - second / 1000:.4f}, time 1000.00ms, mfu 10.00%"}
        for rank in range(2):
            yield {"t": BEGIN + second + 0.9, "job": "two", "rank": rank, "source": "sampler",
                   "values": {"process_state": "sleeping", "process_cpu": 0.01, "process_pid": 4711 + rank}}
    for rank in range(2):
        yield {"t": BEGIN + 100, "job": "two", "rank": rank, "event": "exit"}
    yield {"t": BEGIN + 160, "job": "two", "event": "end", "reason": "completed"}


def longer_steps():
    """30 steps of 105 s, then 60 of 111 s, as the lines of one process."""
    t = BEGIN
    yield {"t": t, "job": "slow", "event": "start", "attempt": "1", "world_size": 1}
    for step in range(1, 91):
        took = 105 if step <= 30 else 111
        t += took
        yield {"t": t, "job": "slow", "line": f" iteration {step:8d}/ 1000 | elapsed time per iteration (s): {took:.3f} | lm loss: {5 - step / 100:.5E} | grad norm: 1.000 |"}
    yield {"t": t + 1, "job": "slow", "event": "end", "reason": "cancelled"}


def alerts_of(records):
    with tempfile.TemporaryDirectory() as folder:
        lines, journal = pathlib.Path(folder, "log.jsonl"), pathlib.Path(folder, "journal")
        lines.write_text("".join(json.dumps(record) + "\n" for record in records))
        environment = dict(os.environ, TOCSIN_RULES=str(ROOT / "rules"))
        subprocess.run([TOCSIN, "ingest", lines, "--to", journal], check=True, env=environment)
        done = subprocess.run([TOCSIN, "replay", journal, "--quiet", "--alerts", "-"], check=True, env=environment, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class OneProcess(unittest.TestCase):
    def test_that_no_step_is_missing_once_the_processes_of_all_ranks_have_ended(self):
        self.assertEqual([alert["rule"] for alert in alerts_of(slow_launcher()) if alert.get("state") == "firing"], [])

    def test_that_steps_of_two_minutes_which_stay_longer_are_one_alert_to_the_end(self):
        slower = [(alert["state"], alert.get("reason")) for alert in alerts_of(longer_steps()) if alert.get("rule") == "job_slower"]
        self.assertEqual([state for state, _ in slower], ["firing", "resolved"])
        self.assertIn("attempt", slower[1][1])

    def test_that_it_was_stopped_is_reported(self):
        alerts = alerts_of(records())
        fired = [alert for alert in alerts if alert.get("state") == "firing"]
        self.assertEqual([alert["rule"] for alert in fired], ["job_stopped"])
        self.assertIn("stopped by a signal (pid 4711)", json.dumps(fired[0]["implies"]))
        self.assertLess(fired[0]["at"] / 1e9 - BEGIN - STOPPED, 20)
        self.assertEqual([alert["verdict"]["family"] for alert in alerts if "verdict" in alert], ["C3"])


if __name__ == "__main__":
    unittest.main()
