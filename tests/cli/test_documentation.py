"""The rules that the documentation shows: a block of Lua whose first line names a file is that file of a site's directory."""

import pathlib
import re
import tempfile
import unittest

from journal import ROOT, tocsin

BLOCK = re.compile(r"^```lua\n-- (\S+\.lua)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COOKBOOK = ROOT / "docs/cookbook.md"


class Documentation(unittest.TestCase):
    def setUp(self):
        self.site = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for page in (COOKBOOK, ROOT / "docs/rules.md"):
            for name, text in BLOCK.findall(page.read_text()):
                path = self.site / name
                path.parent.mkdir(exist_ok=True)
                with path.open("a") as file:
                    file.write(text)

    def test_the_rules_of_the_documentation_load_beside_the_shipped_ones_without_a_warning(self):
        done = tocsin("check", "shipped", self.site)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotRegex(done.stdout, rf"(?m)^{re.escape(str(self.site))}\S*: ")

    def test_the_rules_of_the_documentation_pass_their_cases(self):
        done = tocsin("test", "shipped", self.site, "--verbose")
        self.assertEqual(done.returncode, 0, done.stdout)
        cases = sum(path.read_text().count('\ncase "') for path in self.site.glob("*.lua"))
        self.assertIn(f"{cases} passed, 0 failed", done.stdout)

    def test_each_rule_of_the_cookbook_has_a_case_that_fires_and_one_that_must_not(self):
        for name, text in BLOCK.findall(COOKBOOK.read_text()):
            for rule in re.findall(r'^rule "(\w+)"(?!.*\n +severity = "none")', text, re.MULTILINE):
                cases = text.split('\ncase "')[1:]
                firing = [case for case in cases if f'fires = {{ {{ "{rule}"' in case]
                self.assertTrue(0 < len(firing) < len(cases), f"{name}: {rule}")

    def test_the_parsers_of_the_documentation_read_the_lines_that_they_show(self):
        parsers = {name: about for path in self.site.rglob("*.lua")
                   for name, about in re.findall(r'(?:parser|pattern) "(\w+)" \{\n  about += "(.*)",', path.read_text())}
        self.assertGreaterEqual(len(parsers), 3)
        for name, about in parsers.items():
            with self.subTest(name):
                done = tocsin("lines", "-", "shipped", self.site, input=about + "\n")
                self.assertRegex(done.stdout, rf"(parser|pattern) +{name} ")


if __name__ == "__main__":
    unittest.main()
