"""tocsin ingest --try: what a mapping makes of a file."""

import os
import pathlib
import subprocess
import tempfile
import unittest

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = """kafka: {brokers: [b:9092]}
ingest:
  sources:
    - {name: gpus, topic: g, format: prometheus_text}
    - {name: logs, topic: l, format: logs_json, extract: {file: "/log/{job}-{rank}.out"}}
"""
METRICS = """# HELP DCGM_FI_DEV_SM_CLOCK clock
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a",Hostname="n1",job_id="7"} 1410 1790000000000
other{job_id="7"} 3 1790000000000
other 3
oops
"""


class Try(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.config = self.file("tocsin.yml", CONFIG)
        self.metrics = self.file("m.prom", METRICS)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def run_try(self, *arguments):
        return subprocess.run([TOCSIN, "ingest", *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd=self.folder,
                              env=dict(os.environ, TOCSIN_RULES=str(ROOT / "rules")))

    def test_each_line_is_shown_as_its_record_or_with_the_reason_and_then_the_numbers(self):
        done = self.run_try("--try", "m.prom", "--config", self.config, "--source", "gpus")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        names, clock, other, no_job, malformed, *summary = done.stdout.splitlines()
        self.assertRegex(names, r'^m\.prom:2: \{"t":.*"job":"7","node":"n1","gpu":"GPU-a","event":"member","gpu_uuid":"GPU-a","gpu_index":"0"\}$')
        self.assertRegex(clock, r'^m\.prom:2: \{"t":1790000000000000000,.*"values":\{"DCGM_FI_DEV_SM_CLOCK":1410\}\}$')
        self.assertRegex(other, r'^m\.prom:3: .*"values":\{"other":3\}\}$')
        self.assertEqual(no_job, "m.prom:4: no_job: no job: none of the usual labels (docs/ingest.md) has a value; it has no labels")
        self.assertRegex(malformed, r"^m\.prom:5: malformed: no line of exposition text: ")
        self.assertEqual(summary, ["2 samples, 0 lines and 1 events of 1 jobs; 0 values not kept", "2 left out: malformed 1, no_job 1",
                                   "1 values of DCGM_FI_DEV_SM_CLOCK: the signal sm_clock (MHz)", "1 values of other: no signal of the rules"])

    def test_a_job_that_the_service_leaves_out_for_its_name_is_left_out_here_too(self):
        self.file("cluster", '{"file":"/log/cluster-3.out","message":"m"}\n')
        done = self.run_try("--try", "cluster", "--config", self.config, "--source", "logs", "--strict")
        self.assertEqual((done.returncode, done.stdout.splitlines()), (1, [
            "cluster:1: malformed: a job cannot be called cluster: that name is reserved for all nodes; rename the job",
            "0 samples, 0 lines and 0 events of 0 jobs; 0 values not kept", "1 left out: malformed 1"]))

    def test_what_was_left_out_is_a_failure_where_it_is_asked_for(self):
        self.assertEqual(self.run_try("--try", "m.prom", "--config", self.config, "--source", "gpus", "--strict", "--quiet").returncode, 1)
        self.file("good", '{"file":"/log/9-3.out","message":"m"}\n')
        good = self.run_try("--try", "good", "--config", self.config, "--source", "logs", "--strict", "--quiet")
        self.assertEqual((good.returncode, len(good.stdout.splitlines())), (0, 1))
        self.assertIn('"job":"9","rank":3,"line":"m"', good.stdout)

    def test_of_a_large_file_each_line_is_a_message_with_its_own_place(self):
        self.file("large", '{"file":"/log/9-3.out","message":"m"}\n' * 120_000 + "{}\n")
        done = self.run_try("--try", "large", "--config", self.config, "--source", "logs")
        self.assertEqual(done.returncode, 0)
        self.assertIn("large:120001: malformed: no text of a line", done.stdout)
        self.assertIn("120000 lines", done.stdout)

    def test_the_nodes_of_a_start_of_slurm_are_shown_or_what_is_wrong_with_their_list(self):
        config = self.file("slurm.yml", "kafka: {brokers: [b:9092]}\ningest: {sources: [{name: jobs, topic: j, format: slurm_jobcomp}]}\n")
        self.file("jobs", '{"jobid":7,"state":null,"nodes":"n[08-10],x"}\n{"jobid":8,"state":null,"nodes":"n[01-40]"}\n'
                          '{"jobid":9,"state":null,"nodes":"n[1-"}\n{"jobid":7,"state":"COMPLETED","@end":"x","nodes":"n[08-10],x"}\n')
        done = self.run_try("--try", "jobs", "--config", config)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual([line for line in lines if '"event"' not in line],
                         ["jobs:1: job 7 is on 4 nodes until its end: n08, n09, n10, x",
                          "jobs:2: job 8 is on 40 nodes until its end: n01, n02, n03, n04, n05, n06, n07, n08, …",
                          "jobs:3: malformed: the nodes of job 9: a '[' without its ']': 'n[1-'",
                          "0 samples, 0 lines and 4 events of 3 jobs; 0 values not kept", "2 starts name the nodes of their job",
                          "1 left out: malformed 1"])
        self.assertEqual(len(lines), 10)

    def test_what_names_a_node_and_no_job_is_for_the_jobs_there(self):
        config = self.file("nodes.yml", "kafka: {brokers: [b:9092]}\ningest:\n  sources:\n    - {name: gpus, topic: g, format: prometheus_text}\n"
                                        "    - {name: kernel, topic: k, format: logs_syslog, covers: kernel_log}\n    - {name: log, topic: l, format: logs_syslog}\n")
        self.file("g", 'DCGM_FI_DEV_SM_CLOCK{gpu="0",Hostname="n1"} 1410 1790000000000\n')
        self.file("k", "2026-11-21T02:14:43Z n1 kernel: NVRM: Xid (PCI:0000:1b:00): 79\n")
        done = self.run_try("--try", "g", "--config", config, "--source", "gpus", "--strict")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines(), [
            'g:1: for the jobs on node n1: {"t":1790000000000000000,"node":"n1","gpu":"0","values":{"DCGM_FI_DEV_SM_CLOCK":1410}}',
            "1 samples, 0 lines and 0 events of 0 jobs; 0 values not kept", "1 records name a node and no job: they go to the jobs that are on it",
            "0 left out", "1 values of DCGM_FI_DEV_SM_CLOCK: the signal sm_clock (MHz)"])
        done = self.run_try("--try", "k", "--config", config, "--source", "kernel", "--strict", "--quiet")
        self.assertEqual((done.returncode, done.stdout.startswith("k:1: for the jobs on node n1: {")), (0, True))
        done = self.run_try("--try", "k", "--config", config, "--source", "log", "--strict", "--quiet")
        self.assertEqual((done.returncode, done.stdout.startswith("k:1: no_job: ")), (1, True))

    def test_what_cannot_be_tried_is_refused_with_the_reason(self):
        self.file("none.yml", "kafka: {brokers: [b:9092]}\n")
        for reason, *arguments in (("has several sources: name one with --source: gpus, logs", "--config", self.config),
                                   ("has no source 'gpu' (gpus?)", "--config", self.config, "--source", "gpu"),
                                   ("has no ingest.sources", "--config", "none.yml"),
                                   ("--try needs --config FILE", ),
                                   ("cannot read missing.yml", "--config", "missing.yml")):
            done = self.run_try("--try", self.metrics, *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(reason, done.stderr)
        self.assertIn("nofile", self.run_try("--try", "nofile", "--config", self.config, "--source", "gpus").stderr)
        self.assertIn("FILE is required, or --try FILE", self.run_try("--to", "x").stderr)


if __name__ == "__main__":
    unittest.main()
