"""What `tocsin wrap` records of the CUDA calls of a rank."""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from probed import CALLER, Traced

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Wrapped(Traced):
    def recorded(self, lines, seconds):
        """The samples of the tracer while a rank is given these lines over and over."""
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, TOCSIN_RULES=str(ROOT / "rules"))
            command = [TOCSIN, "wrap", "--journal", f"{folder}/journal", "--", "env", "RANK=0", "WORLD_SIZE=1", CALLER]
            process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for line in lines:
                    process.stdin.write(line + "\n")
                    process.stdin.flush()
                    self.assertEqual(process.stdout.readline(), "ok\n")
            process.communicate()
            exported = subprocess.run([TOCSIN, "export", f"{folder}/journal"], capture_output=True, text=True, check=True).stdout
        values = [record["values"] for record in map(json.loads, exported.splitlines()) if "values" in record]
        return [one for one in values if "gpu_attached" in one]

    def test_a_rank_that_calls_nothing_holds_no_gpu(self):
        samples = self.recorded(["ready"], 8)
        self.assertTrue(samples)
        self.assertTrue(all(one == {"gpu_attached": 0} for one in samples), samples)

    def test_launches_are_left_out_once_they_are_too_many_to_be_counted(self):
        samples = self.recorded(["attach", "comm 0 2", "calls 20000", "wait\nready"], 15)
        self.assertIn("kernel_launches", next(one for one in samples if one["gpu_attached"] == 1))
        self.assertNotIn("kernel_launches", samples[-1])
        self.assertGreater(samples[-1]["cuda_waits"], 0)


if __name__ == "__main__":
    unittest.main()
