"""What other programs say reaches the log of a service without Kafka: posted, scraped, or read from files."""

import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/disk_log"), str(ROOT / "tests/service")]
from embedded import Embedded  # noqa: E402
from service import TOCSIN, small_rules  # noqa: E402
from tests.servers.process import Server, program, wait_for  # noqa: E402
from tests.servers.prometheus import Prometheus  # noqa: E402

TOOLS = os.environ.get("TOOLS", str(ROOT / "build/tools/bin/python"))
HERE = pathlib.Path(__file__).resolve().parent


class Exporter(ThreadingHTTPServer):
    """Answers a scrape as an exporter does, or with a status of its own."""

    def __init__(self, text):
        self.text, self.status, self.asked = text, 200, 0
        super().__init__(("127.0.0.1", 0), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked += 1
            body = self.server.text.encode() if self.path == "/metrics" else b""
            self.send_response(self.server.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass


class NodeExporter(Server):
    """Debian's."""

    title = "node exporter"

    def command(self):
        return [program("prometheus-node-exporter", "prometheus-node-exporter"), f"--web.listen-address=127.0.0.1:{self.port}"]


class Service(Embedded):
    """`tocsin run` with sources."""

    def __init__(self, folder, sources):
        self.folder = pathlib.Path(folder)
        rules, state = small_rules(folder), self.folder / "state"
        (self.folder / "tocsin.yml").write_text(json.dumps({"ingest": {"sources": sources}}))
        super().__init__(state, rules, ("--config", str(self.folder / "tocsin.yml")))
        self.ready()

    def records(self):
        """All that the log has, as `export` writes it."""
        lines = []
        for partition in sorted(self.directory.glob("partition-*")):
            done = subprocess.run([TOCSIN, "export", str(partition)], stdout=subprocess.PIPE, text=True, check=True)
            lines += [json.loads(line) for line in done.stdout.splitlines()]
        return lines

    def lines(self, job):
        return [(record.get("rank"), record["line"]) for record in self.records() if record.get("job") == job and "line" in record]

    def values(self, job):
        return [(record.get("rank"), record["values"]) for record in self.records() if record.get("job") == job and "values" in record]

    def places(self):
        """The file that remembers how far files were read."""
        return next(self.folder.glob("state/**/followed.json"), None)

    def open_files(self):
        return [os.readlink(one) for one in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir() if one.is_symlink()]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.kill()


class TestSources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tocsin-sources-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def service(self, *sources):
        service = Service(self.folder, list(sources))
        self.addCleanup(service.close)
        return service

    @unittest.skipUnless(pathlib.Path(TOOLS).exists(), "build/tools with OpenTelemetry's exporters is not there: scripts/test makes it")
    def test_opentelemetry_s_exporters_for_python_post_metrics_and_logs(self):
        service = self.service({"name": "otel", "format": "otlp_metrics", "post": True}, {"name": "otel-logs", "format": "otlp_logs", "post": True})
        done = subprocess.run([TOOLS, HERE / "otel_client.py", service.port()], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, "a line of rank 0\n") if done.stderr else (0, ""))
        values = {(rank, value["loss"]) for rank, value in service.values("otel-job")}     # a last time when the client ends
        self.assertEqual(values, {(0, 2.5), (1, 3.5)})
        self.assertEqual(service.lines("otel-job"), [(0, "a line of rank 0")])

    def test_a_real_prometheus_writes_remotely_what_it_scrapes(self):
        exporter = Exporter('loss{job_id="prom-job", rank="3"} 1.25\nbuckets_bucket{job_id="prom-job", le="1"} 4\n')
        service = self.service({"name": "prom", "format": "prometheus_remote_write", "post": True, "keep": ["loss"]})
        configuration = json.dumps({
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{"job_name": "x", "static_configs": [{"targets": [f"127.0.0.1:{exporter.server_port}"]}]}],
            "remote_write": [{"url": f"http://127.0.0.1:{service.port()}/api/v1/write", "queue_config": {"batch_send_deadline": "1s"}}]})
        with Prometheus(configuration):
            values = wait_for(lambda: service.values("prom-job"), 40, "a value by remote write")
        self.assertEqual({(rank, json.dumps(value)) for rank, value in values}, {(3, '{"loss": 1.25}')})

    def test_targets_are_scraped_also_those_that_a_file_lists_and_one_that_does_not_answer_is_named(self):
        exporter, listed = Exporter('loss{job_id="a", rank="0"} 1.5\n'), Exporter("temperature 40\n")
        (self.folder / "targets.json").write_text(json.dumps([{"targets": [f"127.0.0.1:{listed.server_port}"], "labels": {"job_id": "b", "rank": "7"}}]))
        service = self.service({"name": "dcgm", "format": "prometheus_text", "every": "1s",
                                "scrape": [f"127.0.0.1:{exporter.server_port}", str(self.folder / "targets.json")]})
        wait_for(lambda: service.values("a") and service.values("b"), 30, "values of both targets")
        self.assertIn((0, {"loss": 1.5}), service.values("a"))
        self.assertIn((7, {"temperature": 40}), service.values("b"))
        exporter.status = 500
        lines = wait_for(lambda: [line for line in list(service.log) if "does not answer" in line], 20, "a line about the target")
        self.assertIn(f"source dcgm: http://127.0.0.1:{exporter.server_port}/metrics does not answer: 500", lines[0])
        exporter.status = 200
        wait_for(lambda: any("answers again" in line for line in list(service.log)), 20, "a line that it answers again")

    def test_files_are_followed_over_rotation_truncation_and_a_kill_and_each_line_comes_once(self):
        logs = self.folder / "logs"
        (logs / "llama").mkdir(parents=True)
        rank0 = logs / "llama/train-rank0.out"
        rank0.write_text("before the first start\n")
        pattern = f"{logs}/{{job}}/*-rank{{rank}}.out"
        service = self.service({"name": "logs", "format": "logs_plain", "files": [pattern]},
                               {"name": "also", "format": "logs_plain", "files": [f"{logs}/*/*-rank1.out"], "labels": {"job_id": "also"}})
        expected = []

        def write(path, *lines, mode="a"):
            with open(path, mode, encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in lines))
            expected.extend(lines)

        def all_there():
            wait_for(lambda: sorted(line for _, line in service.lines("llama")) == sorted(expected), 30, f"{len(expected)} lines")

        wait_for(service.places, 20, "the places")
        write(rank0, "one", "two")
        all_there()
        rank0.rename(logs / "llama/train-rank0.out.1")
        write(logs / "llama/train-rank0.out.1", "to the old file, behind its rotation")
        write(rank0, "to the new file")
        all_there()
        write(rank0, "cut, and begun anew", mode="w")
        rank1 = logs / "llama/train-rank1.out"
        write(rank1, "another rank")
        all_there()
        wait_for(lambda: service.lines("also") == [(None, "another rank")], 20, "the line in the other source that has the file")

        # What is deleted is closed after a silence, in which rank 0 has written nothing: then a line comes in two pieces.
        deleted = logs / "llama/train-rank2.out"
        write(deleted, "deleted soon")
        all_there()
        deleted.unlink()
        wait_for(lambda: not any("train-rank2.out" in name for name in service.open_files()), 20, "the deleted file closed")
        wait_for(lambda: "train-rank2.out" not in service.places().read_text(), 20, "the deleted file forgotten")
        with open(rank0, "a", encoding="utf-8") as file:
            file.write("a line in ")
        write(rank1, "between the pieces")
        all_there()
        write(rank0, "two pieces")
        expected[-1] = "a line in two pieces"
        write(deleted, "a new file of this name")
        all_there()

        # Killed while an old file may still be written to.
        rank0.rename(logs / "llama/train-rank0.out.3")
        write(rank0, "to the next file")
        all_there()
        service.process.send_signal(signal.SIGSTOP)
        write(logs / "llama/train-rank0.out.3", "the rest of the old file")
        service.kill()
        write(rank0, "while nobody reads")
        rank0.rename(logs / "llama/train-rank0.out.2")
        write(rank0, "a new file while nobody reads")
        service.start()
        service.ready()
        all_there()
        self.assertEqual({rank for rank, line in service.lines("llama") if line == "another rank"}, {1})

    def test_a_pattern_with_a_wildcard_takes_regular_files_alone(self):
        for name in ("secret", "own.log"):
            (self.folder / name).write_text("")
        (self.folder / "link.log").symlink_to(self.folder / "secret")
        (self.folder / "named").symlink_to(self.folder / "secret")
        service = self.service(*({"name": name, "format": "logs_plain", "files": [pattern], "labels": {"job_id": name}} for name, pattern in (
            ("found", f"{self.folder}/*.log"), ("device", "/dev/zer[o]"), ("named", f"{self.folder}/named"))))
        for name in (f"source found: {self.folder}/link.log is not followed", "source device: /dev/zero is not followed"):
            wait_for(lambda name=name: any(name in line for line in list(service.log)), 20, name)
        wait_for(service.places, 20, "the places")
        for name in ("secret", "own.log"):
            with open(self.folder / name, "a", encoding="utf-8") as file:
                file.write(f"a line of {name}\n")
        wait_for(lambda: service.lines("named") and service.lines("found"), 20, "lines")
        self.assertEqual([service.lines(job) for job in ("named", "found", "device")], [[(None, "a line of secret")], [(None, "a line of own.log")], []])
        self.assertNotIn("/dev/zero", service.open_files())

    def test_places_that_are_not_ours_are_named_and_files_are_followed_from_their_ends(self):
        log = self.folder / "x.log"
        log.write_text("before\n")
        service = self.service({"name": "logs", "format": "logs_plain", "files": [str(log)], "labels": {"job_id": "x"}})
        wait_for(service.places, 20, "the places")
        place = {"source": "logs", "path": str(log), "inode": 1, "generation": 1, "position": "x", "next": 1, "mark": 1}
        for i, wrong in enumerate(({"sources": [1], "files": []}, {"sources": ["logs"], "files": {"/x": 5}}, {"sources": ["logs"], "files": [place]})):
            service.kill()
            service.places().write_text(json.dumps(wrong))
            service.start()
            wait_for(lambda: any("followed.json is not ours" in line for line in list(service.log)), 20, "the complaint")
            wait_for(lambda wrong=wrong: json.loads(service.places().read_text()) != wrong, 20, "the places")
            with open(log, "a", encoding="utf-8") as file:
                file.write(f"line {i}\n")
            wait_for(lambda i=i: service.lines("x") == [(None, f"line {n}") for n in range(i + 1)], 20, "the line")

    def wrap_on(self, node, service):
        """A job k whose processes are on a node of this name; it is in the log when this returns."""
        wrapped = subprocess.Popen(["unshare", "--uts", "sh", "-c", f'hostname {node}; exec "$@"', "sh", TOCSIN, "wrap", "--job", "k", "--journal", self.folder / "journal",
                                    "--to", f"http://127.0.0.1:{service.port()}", "--", "sleep", "12"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(wrapped.wait)
        wait_for(lambda: any(record.get("node") == node for record in service.records()), 20, "a record of the node")

    def test_a_real_node_exporter_is_scraped_for_the_jobs_of_its_node(self):
        with NodeExporter() as exporter:
            (self.folder / "targets.json").write_text(json.dumps([{"targets": [f"127.0.0.1:{exporter.port}"], "labels": {"host": "n8"}}]))
            service = self.service({"name": "nodes", "format": "prometheus_text", "every": "1s", "scrape": [str(self.folder / "targets.json")],
                                    "keep": ["node_memory_MemTotal_bytes"], "signals": {"node_memory_MemTotal_bytes": "host_memory_limit B"}})
            self.wrap_on("n8", service)
            total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            scraped = lambda: [record for record in service.records() if record.get("job") == "k" and record.get("source") != "sampler"  # noqa: E731
                               and "host_memory_limit" in record.get("values", {})]
            record = wait_for(scraped, 20, "a value of the exporter")[0]
            self.assertEqual((record["node"], record["values"]["host_memory_limit"]), ("n8", total))

    def test_a_line_of_the_kernel_s_log_goes_to_the_jobs_of_its_node(self):
        kmsg = self.folder / "kmsg"
        kmsg.write_text("")
        service = self.service({"name": "kernel", "format": "kernel_log", "files": [str(kmsg)], "labels": {"host": "n7"}})
        self.wrap_on("n7", service)
        with open(kmsg, "a", encoding="utf-8") as file:
            file.write("4,1,5,-;NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n SUBSYSTEM=pci\n")
        wait_for(lambda: any("fallen off" in line for _, line in service.lines("k")), 20, "the line")

    def test_a_request_may_be_compressed_by_gzip_and_a_broken_one_is_refused(self):
        service = self.service({"name": "x", "format": "otlp_metrics", "post": True})
        points = [{"asDouble": 3.5, "attributes": [{"key": "rank", "value": {"stringValue": "4"}}]}]
        body = json.dumps({"resourceMetrics": [{"resource": {"attributes": [{"key": "job_id", "value": {"stringValue": "z"}}]},
                                                "scopeMetrics": [{"metrics": [{"name": "loss", "gauge": {"dataPoints": points}}]}]}]}).encode()

        def post(content):
            request = urllib.request.Request(f"http://127.0.0.1:{service.port()}/v1/metrics", content,
                                             {"Content-Type": "application/json", "Content-Encoding": "gzip"})
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.status, answer.read()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read()

        self.assertEqual(post(gzip.compress(body)), (200, b"{}"))
        self.assertEqual(service.values("z"), [(4, {"loss": 3.5})])
        for wrong in (gzip.compress(body)[:-20], b"no gzip"):
            status, text = post(wrong)
            self.assertEqual(status, 400)
            self.assertIn(b"not a gzip stream, or is cut short", text)
        self.assertEqual(post(gzip.compress(bytes(80 << 20)))[0], 413)
        self.assertEqual(post(gzip.compress(b"{nonsense"))[0], 400)

    def test_a_post_for_which_there_is_no_source_says_what_to_add(self):
        service = self.service({"name": "x", "format": "otlp_metrics", "post": True})
        status, text = service.get("/v1/logs", method="POST")
        self.assertEqual(status, 404)
        self.assertIn("no source takes this: add one to ingest.sources with format: otlp_logs, post: true", text)


if __name__ == "__main__":
    unittest.main()
