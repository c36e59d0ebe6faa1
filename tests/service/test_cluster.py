"""Records of nodes against a real broker: they go to the jobs there and to the cluster, whose alerts stand in a real Alertmanager."""

import json
import pathlib
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from service import Instance, Workplace, of_job, tocsin, topic  # noqa: E402
from tests.servers.alertmanager import Alertmanager  # noqa: E402
from tests.servers.kafka import Kafka, Producer  # noqa: E402
from tests.servers.process import wait_for  # noqa: E402

PREFIX = "cluster"
CONFIG = """kafka: {{brokers: ["127.0.0.1:{port}"], prefix: {prefix}, instance_id: one, session_timeout: 6s}}
rules: [{rules}]
http: {{listen: 127.0.0.1:0}}
alertmanager: {{instances: [{{url: "{alertmanager}"}}]}}
ingest:
  group: {prefix}-ingest
  nodes: {nodes}
  sources:
    - {{name: steps, topic: {prefix}-steps, format: influx}}
    - {{name: dcgm, topic: {prefix}-dcgm, format: prometheus_text}}
    - {{name: kernel, topic: {prefix}-kernel, format: logs_json, covers: kernel_log}}
    - {{name: jobs, topic: {prefix}-jobs, format: slurm_jobcomp}}
"""


class Cluster(unittest.TestCase):
    def test_metrics_and_kernel_logs_of_nodes_reach_the_jobs_there_and_the_cluster(self):
        kafka = Kafka(**{"auto.create.topics.enable": "true", "num.partitions": "1"}).start()
        self.addCleanup(kafka.stop)
        server = Alertmanager()
        server.start()
        self.addCleanup(server.stop)
        place = Workplace(kafka, PREFIX, partitions=2)
        self.addCleanup(place.close)
        nodes = pathlib.Path(place.folder, "nodes.yml")
        nodes.write_text("".join(f"n{i}: {{rack: r{i // 2}}}\n" for i in range(4)))
        config = pathlib.Path(place.folder, "tocsin.yml")
        config.write_text(CONFIG.format(port=kafka.port, prefix=PREFIX, rules=place.rules, alertmanager=server.url, nodes=nodes))
        steps, dcgm, kernel, jobs = (Producer(kafka, f"{PREFIX}-{name}") for name in ("steps", "dcgm", "kernel", "jobs"))
        for producer in (steps, dcgm, kernel, jobs):
            self.addCleanup(producer.close)
        steps.write("warm value=1")
        dcgm.write("warm 1")
        kernel.write(json.dumps({"message": "warm"}))
        jobs.write(json.dumps({"message": "warm"}))
        time.sleep(2)

        def started():
            service = Instance(None, None, config=config)
            place.started.append(service)
            wait_for(lambda: sum("ingest: reading" in line for line in list(service.log)) == 4 or service.process.poll() is not None, 60,
                     "four sources")
            return service if service.process.poll() is None else None

        service = wait_for(started, 60, "an instance that reads")

        # The job `first` runs on n0 and n1; then, on n0, `second`. Both nodes share a rack, and brake; GPU 0 of n0 fails in both jobs.
        def run(job, seconds, failing):
            for second in range(seconds):
                steps.write(*(f"step,job_id={job},rank={rank},host=n{rank} value={second}i" for rank in range(2)))
                time.sleep(0.5)
                for node in range(4):
                    share = run.brake if node < 2 else 0
                    dcgm.write(f'DCGM_FI_DEV_CLOCKS_EVENT_REASONS{{Hostname="n{node}",gpu="0",pci_bus_id="00000000:1B:00.0"}} {share}')
                if second == failing:
                    kernel.write(json.dumps({"host": "n0", "message": "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', GPU has fallen off the bus."}))
                time.sleep(0.5)

        run.brake = 0x80
        run("first", 20, 10)
        kernel_of_first = wait_for(lambda: self.fired(place, "first", "gpu_error"), 60, "the job's own alert on its GPU")
        self.assertEqual(kernel_of_first[0]["member"]["node"], "n0")
        # Until its end the node is the first job's, and for whoever does not know of it the error would be of two jobs, of which nobody knows which.
        jobs.write(json.dumps({"jobid": "first", "state": "COMPLETED", "@start": "x", "@end": "2026-01-01T00:00:00Z"}))
        time.sleep(3)
        run("second", 12, 6)

        history = wait_for(lambda: self.fired(place, "cluster", "gpu_xids_in_jobs") or (run("second", 1, None)), 60, "the GPU's history")
        self.assertEqual(history[0]["member"]["node"], "n0")
        self.assertIn("1b:00.0", history[0]["member"]["gpu"])
        wait_for(lambda: self.fired(place, "cluster", "rack_power_brake") or (run("second", 5, None)), 180, "the rack's power brake")
        alert = wait_for(lambda: server.alerts(alertname="rack_power_brake"), 30, "the alert in Alertmanager")[0]
        self.assertEqual(alert["labels"], {"alertname": "rack_power_brake", "severity": "critical", "family": "B3", "job_id": "cluster", "rack": "r0"})
        self.assertIn("n0", alert["annotations"]["culprits"])
        self.assertIn("n1", alert["annotations"]["culprits"])
        self.assertTrue(server.alerts(alertname="gpu_xids_in_jobs", node="n0"))

        placed = topic(place.address, "placement")
        self.assertTrue(any("n0\tfirst" in line for line in placed), placed)
        self.assertTrue(any("n1\tsecond" in line for line in placed), placed)
        # Slurm alone says where the job `4711` is, by short names; an instance that starts later knows it, too. It ends, and its nodes are nobody's.
        slurm = {"jobid": 4711, "nodes": "n[2-3]", "@start": "2026-01-01T00:00:00"}
        jobs.write(json.dumps({**slurm, "state": None}))
        wait_for(lambda: any("\t4711" in line for line in topic(place.address, "placement")), 30, "the job's nodes in the topic")
        self.assertEqual(service.stop(), 0)
        service = wait_for(started, 60, "an instance that reads the topic")
        kernel.write(json.dumps({"host": "n2.cluster.example", "message": "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', GPU has fallen off the bus."}))
        of_slurm = wait_for(lambda: self.fired(place, "4711", "gpu_error"), 60, "the alert of the job that Slurm started")
        self.assertEqual(of_slurm[0]["member"]["node"], "n2.cluster.example")
        jobs.write(json.dumps({**slurm, "state": "COMPLETED", "@end": "2026-01-01T00:10:00"}))
        time.sleep(3)
        # What fits no job and no rule of the cluster.
        dcgm.write('DCGM_FI_DEV_GPU_TEMP{Hostname="n3",gpu="0"} 40')
        left = wait_for(lambda: [one for one in map(json.loads, topic(place.address, "unattributed")) if "GPU_TEMP" in one["text"]], 20, "what is nobody's")
        self.assertIn("no job was on node n3 in the last 5 min", left[0]["what"])
        self.assertEqual(service.stop(), 0)

        # A replay of the partition that has the cluster gives the same.
        journal = pathlib.Path(place.folder, "recorded")
        for done in (tocsin("record", "--kafka", place.address, "--job", "cluster", journal), tocsin("replay", journal, "--quiet", "--alerts", "-")):
            self.assertEqual(done.returncode, 0, done.stderr)
        again = of_job([line for line in done.stdout.splitlines() if line.startswith("{")], "cluster")
        live = of_job(topic(place.address, "alerts"), "cluster")
        self.assertEqual(again[:len(live)], live)

    @staticmethod
    def fired(place, job, rule):
        return [one for one in map(json.loads, of_job(topic(place.address, "alerts"), job)) if one.get("rule") == rule and one["state"] == "firing"]


if __name__ == "__main__":
    unittest.main()
