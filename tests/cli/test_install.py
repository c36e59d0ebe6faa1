"""The program as it is installed: what it says of itself, and that it needs nothing of the source tree."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
BUILD = os.environ.get("TOCSIN_BUILD", "build/release")
CMAKE = os.environ.get("TOCSIN_CMAKE", "cmake")
VERSION = os.environ.get("TOCSIN_VERSION", r"\d+\.\d+\.\d+")


def run(*arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "TOCSIN_RULES"} | variables
    return subprocess.run(list(map(str, arguments)), capture_output=True, text=True, env=environment, timeout=300)


class Version(unittest.TestCase):
    def test_version_names_the_commit_and_the_formats(self):
        done = run(TOCSIN, "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"^tocsin {VERSION} \(commit ([0-9a-f]{{12,}}|unknown)\)\n"
                                      r"formats: envelope \d+, snapshot \d+, journal \d\n$")


class Installation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = pathlib.Path(folder.name)
        done = run(CMAKE, "--install", BUILD, "--prefix", self.prefix)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_program_rules_and_documentation_are_where_they_belong(self):
        for path in ("bin/tocsin", "share/tocsin/rules/verdict.lua", "share/tocsin/rules/patterns", "share/tocsin/python/tocsin.py", "share/tocsin/python/tocsin_stacks.py", "share/doc/tocsin/LICENSE",
                     "share/doc/tocsin/README.md", "share/doc/tocsin/docs/wrap.md"):
            self.assertTrue((self.prefix / path).exists(), path)

    def test_an_installed_program_judges_by_the_rules_installed_with_it(self):
        program = self.prefix / "bin/tocsin"
        checked = run(program, "check")
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        (self.prefix / "share/tocsin/rules/broken.lua").write_text('rule "broken" {')
        checked = run(program, "check")
        self.assertEqual(checked.returncode, 1, checked.stdout + checked.stderr)
        self.assertIn("broken.lua", checked.stdout + checked.stderr)

    def kept_by_check(self):
        """What an installed program keeps because it did not come with it, from an empty cache."""
        with tempfile.TemporaryDirectory() as cache:
            checked = run(self.prefix / "bin/tocsin", "check", TOCSIN_CACHE=cache)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            return sorted(path.name for path in pathlib.Path(cache).iterdir())

    def test_the_first_start_of_an_installed_program_compiles_nothing(self):
        self.assertEqual(self.kept_by_check(), [])
        subprocess.run(["strip", self.prefix / "bin/tocsin"], check=True)
        self.assertEqual(self.kept_by_check(), [])

    def test_what_is_installed_compiled_and_is_damaged_is_compiled_again(self):
        for path in (self.prefix / "share/tocsin/compiled").iterdir():
            with self.subTest(path.name):
                whole = path.read_bytes()
                path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
                self.assertEqual(self.kept_by_check(), [path.name])
                path.write_bytes(whole)

    def test_a_wrapped_python_program_finds_the_module_that_is_installed(self):
        done = run(self.prefix / "bin/tocsin", "wrap", "--journal", self.prefix / "journal", "--",
                   sys.executable, "-B", "-c", "import tocsin; print(tocsin.__file__)")
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.prefix}/share/tocsin/python/tocsin.py\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
