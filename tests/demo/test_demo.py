"""scripts/demo --kafka, as it is shown: the chain of real servers, the fault, its alert, and that nothing of it is left."""

import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "scripts" / "demo_kafka.py"
sys.path[:0] = [str(ROOT)]

from tests.demo import dashboards  # noqa: E402


class Demo:
    """scripts/demo_kafka.py --stay."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tocsin-test-demo-")
        self.process = subprocess.Popen([sys.executable, "-u", DEMO, "--stay"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                        env=dict(os.environ, TMPDIR=self.folder.name))
        self.lines, self.text = queue.Queue(), ""
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def until(self, pattern, seconds):
        """Reads its output on until this is in it."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text, re.M)):
            try:
                line = self.lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"within {seconds} s there was no {pattern!r} in:\n{self.text}") from None
            if line is None:
                raise AssertionError(f"it ended with {self.process.wait()} before {pattern!r}:\n{self.text}")
            self.text += line
        return found

    def processes(self):
        """Those that it started, itself included, as pid: command. They have its environment."""
        mine, found = f"TMPDIR={self.folder.name}".encode(), {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mine in (process / "environ").read_bytes().split(b"\0"):
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
        return found

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(90)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


class Kafka(unittest.TestCase):
    def test_a_stopped_rank_is_seen_in_alertmanager_and_in_prometheus_and_nothing_is_left(self):
        demo = Demo()
        self.addCleanup(demo.close)
        demo.until("All of it stays until Ctrl-C", 300)
        seconds = re.search(r"From the fault to the alert: ([\d.]+) s; from the end of the fault to the end of the alert: ([\d.]+) s", demo.text)
        self.assertGreater(float(seconds[1]), 5, demo.text)
        self.assertLess(float(seconds[1]), 60, demo.text)
        self.assertLess(float(seconds[2]), 60, demo.text)
        self.assertRegex(demo.text, r"    rank_stopped, critical, family C2\n")
        self.assertRegex(demo.text, r"    summary: +demo: ")
        self.assertRegex(demo.text, r"    culprits: +rank 2 on ")
        self.assertRegex(demo.text, r"    action: +kill -CONT \d+ on ")
        self.assertRegex(demo.text, r'in Prometheus: tocsin_alert_firing\{job_id="demo", rule="rank_stopped"\} 1, \d+ s after the fault')
        self.look(demo)
        started = " ".join(demo.processes().values())
        for part in ("kafka.Kafka", "prometheus-alertmanager", "prometheus --config.file", " run ", " wrap ", "train.py"):
            self.assertIn(part, started)
        os.killpg(demo.process.pid, signal.SIGINT)     # as Ctrl-C in a terminal: to all of them
        demo.until("all that was started has ended", 90)
        self.assertEqual(demo.process.wait(30), 0, demo.text)
        self.assertEqual(demo.processes(), {})
        self.assertEqual([path.name for path in pathlib.Path(demo.folder.name).glob("tocsin-*")], [])

    def look(self, demo):
        """What the addresses that it prints have to show."""
        def get(path):
            with urllib.request.urlopen(api + path, timeout=10) as answer:
                return answer.read().decode()
        api = re.search(r"the engine +(http://[\d.:]+)/api/v1/jobs", demo.text)[1]
        job, = json.loads(get("/api/v1/jobs?job=demo"))["data"]
        self.assertEqual((job["state"], job["ranks"], len(job["by_rank"]), job["step_time"]["ranks"]), ("running", 4, 4, 4))
        self.assertGreater(job["step"], 19)
        self.assertGreater(job["steps_per_second"], 0)
        self.assertGreater(job["lost_gpu_seconds"], 4 * 10)
        self.assertTrue(0 < job["goodput"] < 1, job)
        self.assertIn('tocsin_job_step_time_seconds{job_id="demo",quantile="0.5"} ', get("/metrics"))

        self.assert_dashboards_have_data(re.search(r"the figures +(http://[\d.:]+)/graph", demo.text)[1])

    def assert_dashboards_have_data(self, prometheus):
        """Each query of each panel, with its variables filled in, and those of the variables themselves."""
        def numbers(expression):
            address = f"{prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
            try:
                with urllib.request.urlopen(address, timeout=10) as answer:
                    result = json.load(answer)["data"]
            except urllib.error.HTTPError as error:
                return error.read().decode()
            values = [result["result"]] if result["resultType"] == "scalar" else [one["value"] for one in result["result"]]
            return [value for _, value in values if value != "NaN"]
        values = {"job_id": "demo", "rank": "2", "instance": ".*", "__rate_interval": "1m"}
        empty = []
        for name, board in dashboards.boards().items():
            asked = [(f"variable {variable}", f'count by ({label}) ({selector})') for variable, selector, label in dashboards.variables(board)]
            for title, expression in [*asked, *dashboards.queries(board)]:
                expression = dashboards.filled(expression, values)
                found = numbers(expression)
                if not found or isinstance(found, str):
                    empty.append(f"{name}: {title}: {expression}: {found}")
        self.assertEqual(empty, [])

    def test_what_is_missing_is_named_with_its_remedy(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = pathlib.Path(folder, "bin")
            programs.mkdir()
            tocsin = programs / "tocsin"
            tocsin.write_text("#!/bin/sh\n")
            tocsin.chmod(0o755)

            def refused(*flags, **more):
                done = subprocess.run([sys.executable, *flags, DEMO, "--tocsin", tocsin], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                      env={**os.environ, "PATH": str(programs), "TMPDIR": folder, **more})
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                return done.stderr
            self.assertIn(" has no PyTorch: apt-get install python3-torch\n", refused("-S"))
            self.assertIn("error: prometheus-alertmanager is not installed: apt-get install prometheus-alertmanager", refused())
            for name in ("prometheus-alertmanager", "prometheus"):
                shutil.copy(tocsin, programs / name)
            self.assertIn("error: java is not installed: apt-get install default-jre-headless", refused())
            shutil.copy(tocsin, programs / "java")
            self.assertIn("error: mvn is not installed: apt-get install maven", refused(TOCSIN_SERVERS=folder))
            tocsin.unlink()
            self.assertIn("error: there is no program ", refused())


if __name__ == "__main__":
    unittest.main()
