"""What NVML shows of a GPU that fell off the bus, and of one that is hot, becomes alerts about these GPUs."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
FAKE_NVML = os.environ["FAKE_NVML"]
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Gpus(unittest.TestCase):
    def test_an_error_of_the_driver_and_heat_name_their_gpus(self):
        with tempfile.TemporaryDirectory() as folder:
            journal = pathlib.Path(folder, "journal")
            environment = dict(os.environ, TOCSIN_RULES=str(ROOT / "rules"), LD_LIBRARY_PATH=FAKE_NVML, FAKE_NVML_XID="3")
            environment.pop("CUDA_VISIBLE_DEVICES", None)
            subprocess.run([TOCSIN, "wrap", "--journal", journal, "--", "sleep", "100"], check=True, env=environment, stderr=subprocess.DEVNULL)
            records = [json.loads(line) for line in (journal / "alerts.jsonl").read_text().splitlines()]
        fired = {record["rule"]: record for record in records if record.get("state") == "firing"}
        self.assertIn("gpu_error", fired)
        self.assertIn("1c:00.0", json.dumps(fired["gpu_error"]["member"]))
        self.assertEqual([implied["cause"] for implied in fired["gpu_error"]["implies"]], ["bus"])
        self.assertIn("throttle", fired)
        self.assertIn("1d:00.0", json.dumps(fired["throttle"]["member"]))
        self.assertIn("heat", [implied["cause"] for implied in fired["throttle"]["implies"]])
        self.assertEqual(len([record for record in records if record.get("state") == "firing"]), 2)


if __name__ == "__main__":
    unittest.main()
