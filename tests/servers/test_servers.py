"""What tests that run at once share: the servers' programs, fetched once."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.servers import jars, kafka, process  # noqa: E402

# Fails where another one runs at the same time, as Maven does that copies into one folder.
FETCHING = """#!/bin/sh
mkdir "$FETCHING" || exit 1
echo once >> "$FETCHED"
sleep 0.2
rmdir "$FETCHING"
"""


class Fetching(unittest.TestCase):
    def test_tests_that_need_the_jars_at_once_fetch_them_once(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "mvn").write_text(FETCHING)
            (folder / "mvn").chmod(0o755)
            environment = {"PATH": f"{folder}:{os.environ['PATH']}", "FETCHING": f"{folder}/runs", "FETCHED": f"{folder}/count"}
            with mock.patch.dict(os.environ, environment), mock.patch.object(jars, "CACHE", folder):
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    found = {made.result() for made in [pool.submit(jars.jars, kafka.POM, "kafka") for _ in range(4)]}
            self.assertEqual(len(found), 1)
            self.assertEqual((folder / "count").read_text(), "once\n")


class Ports(unittest.TestCase):
    def test_a_port_is_neither_one_that_the_kernel_gives_out_nor_one_of_another_test(self):
        mine = process.free_port()
        first_given = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        self.assertTrue(1024 <= mine < max(first_given, 17408))
        look = f"import random; random.randrange = lambda *_: next(ports); ports = iter([{mine}, {mine + 1}, {mine + 2}]); " \
               "from tests.servers.process import free_port; print(free_port())"
        other = subprocess.run([sys.executable, "-B", "-c", look], cwd=pathlib.Path(__file__).resolve().parents[2], capture_output=True, text=True, check=True)
        self.assertIn(int(other.stdout), (mine + 1, mine + 2))


if __name__ == "__main__":
    unittest.main()
