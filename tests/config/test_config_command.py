"""tocsin config: check, show, reference."""

import os
import pathlib
import subprocess
import tempfile
import unittest

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def config(*arguments):
    return subprocess.run([TOCSIN, "config", *map(str, arguments)], capture_output=True, text=True, timeout=60)


class Config(unittest.TestCase):
    def test_the_example_is_in_order(self):
        done = config("check", ROOT / "deploy" / "tocsin.yml")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_each_mistake_is_one_line_and_the_status_is_1(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bad.yml"
            path.write_text("kafka:\n  broker: [a:1]\nhttp:\n  listen: 9464\n  token_file: /nowhere\n")
            for command in ("check", "show"):
                done = config(command, path)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                lines = done.stderr.splitlines()
                self.assertEqual(len(lines), 3)
                self.assertEqual(lines[0], f"{path}:2:3: there is no option kafka.broker (brokers?)")
            path.unlink()
            self.assertEqual(config("check", path).stderr, f"cannot read {path}: No such file or directory\n")

    def test_what_is_shown_is_a_configuration_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "shown.yml"
            path.write_text(config("show", ROOT / "deploy" / "tocsin.yml").stdout)
            self.assertEqual(config("check", path).returncode, 0, config("check", path).stderr)
            self.assertEqual(config("show", path).stdout, path.read_text())

    def test_the_defaults_are_shown_with_their_meanings(self):
        shown = config("show", "--defaults").stdout
        self.assertIn("  # How often an alert that fires is posted again.", shown)
        self.assertIn("  resend: 1m\n", shown)
        self.assertEqual(config("show").returncode, 2)

    def test_the_page_on_the_configuration_is_the_reference(self):
        page = (ROOT / "docs" / "configuration.md").read_text()
        self.assertTrue(page.endswith(config("reference").stdout))


if __name__ == "__main__":
    unittest.main()
