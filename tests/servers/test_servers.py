"""What tests that run at once share: the servers' programs, fetched once."""

import concurrent.futures
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.servers import kafka  # noqa: E402

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
            with mock.patch.dict(os.environ, environment), mock.patch.object(kafka, "CACHE", folder):
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    found = {made.result() for made in [pool.submit(kafka.jars) for _ in range(4)]}
            self.assertEqual(len(found), 1)
            self.assertEqual((folder / "count").read_text(), "once\n")


if __name__ == "__main__":
    unittest.main()
