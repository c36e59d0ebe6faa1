"""The checks of the project find what they look for: each planted fault in a small project of our own is named, and no more."""

import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import arrows  # noqa: E402
import listed_changes  # noqa: E402
import manners  # noqa: E402
import rule_sizes  # noqa: E402
import semantics  # noqa: E402
import words  # noqa: E402

SOUND = {
    "stream/values/row.h": '#pragma once\n#include <vector>\n#include <xxhash.h>\n#include "stream/values/time.h"\n',
    "stream/values/time.h": "#pragma once\n#include <chrono>\n// std::mutex would be wrong here\n",
    "stream/CMakeLists.txt": "tocsin_library(tocsin_stream SOURCES values/row.cpp PUBLIC PkgConfig::XXHASH)\n",
    "schemas/decode.cpp": '#include <flatbuffers/flatbuffers.h>\n#include "telemetry_generated.h"\n#include "stream/values/row.h"\n',
    "schemas/CMakeLists.txt": "tocsin_library(tocsin_schemas SOURCES decode.cpp PUBLIC tocsin_stream)\n",
    "dsl/lua/host.cpp": '#include <lua.hpp>\n#include "dsl/text/scan.h"\n#include "stream/values/row.h"\n',
    "dsl/lua/CMakeLists.txt": "tocsin_library(tocsin_dsl_lua SOURCES host.cpp PUBLIC tocsin_dsl_text)\n",
    "dsl/text/scan.h": '#pragma once\n#include "stream/values/row.h"\n',
    "dsl/text/scan.cpp": '#include <hs.h>\n#include <re2/re2.h>\n#include "dsl/text/scan.h"\n',
    "dsl/text/CMakeLists.txt": "tocsin_library(tocsin_dsl_text SOURCES scan.cpp PUBLIC tocsin_stream PRIVATE PkgConfig::RE2)\n",
    "adapters/journal/read.h": '#pragma once\n#include <mutex>\n#include <unistd.h>\n#include "schemas/codec.h"\n',
    "adapters/cli/main.cpp": '#include "adapters/cli/check.h"\n#include "adapters/journal/read.h"\n#include "dsl/load/loader.h"\n',
    "adapters/CMakeLists.txt": "tocsin_library(tocsin_journal SOURCES read.cpp PUBLIC tocsin_schemas tocsin_dsl_lua)\n",
    "docs/one.md": "See [the rows](../stream/values/row.h), `stream/values/time.h` and `dsl/text/*.cpp`; `a/b` is a ratio.\n\n```\nstream/made_up.h\n```\n",
}


class Project(unittest.TestCase):
    """A small project in which nothing is wrong."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        for path, text in SOUND.items():
            self.put(path, text)

    def put(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def plant(self, path, line):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def only(self, check):
        (problem,) = check(self.root)
        return problem


class Includes(Project):
    def test_a_sound_project_has_no_problems(self):
        for check in (arrows.check_includes, arrows.check_links, arrows.check_executors, manners.check_names, manners.check_documents,
                      words.check_words):
            self.assertEqual(list(check(self.root)), [], check.__name__)

    def assert_refused(self, path, line, *words):
        self.put(path, SOUND.get(path, ""))
        self.plant(path, line)
        problem = self.only(arrows.check_includes)
        number = (self.root / path).read_text(encoding="utf-8").count("\n")
        self.assertTrue(problem.startswith(f"{path}:{number}: "), problem)
        for word in words:
            self.assertIn(word, problem)
        self.put(path, SOUND.get(path, ""))

    def test_every_arrow_that_points_back_is_named(self):
        for path, target in (("stream/values/row.h", "schemas/codec.h"), ("stream/values/row.h", "dsl/load/loader.h"), ("stream/values/row.h", "dsl/text/scan.h"),
                             ("stream/values/row.h", "adapters/journal/read.h"), ("schemas/decode.cpp", "dsl/load/loader.h"),
                             ("schemas/decode.cpp", "dsl/text/scan.h"), ("schemas/decode.cpp", "adapters/journal/read.h"),
                             ("dsl/text/scan.h", "dsl/load/loader.h"), ("dsl/text/scan.h", "schemas/codec.h"),
                             ("dsl/lua/host.cpp", "schemas/codec.h"), ("dsl/lua/host.cpp", "adapters/journal/read.h"),
                             ("dsl/lua/host.cpp", "dsl/load/loader.h"), ("dsl/load/loader.h", "dsl/cases/case_runner.h"), ("dsl/one.h", "stream/values/row.h")):
            self.assert_refused(path, f'#include "{target}"', "includes " + target, "may include")

    def test_an_arrow_out_of_a_folder_of_stream_is_named(self):
        for path, target in (("stream/values/row.h", "stream/graph/graph.h"), ("stream/windows/panes.h", "stream/rules/judge.h"),
                             ("stream/rules/judge.h", "stream/ports.h"), ("stream/ports.h", "stream/job/shard.h")):
            self.assert_refused(path, f'#include "{target}"', f"includes {target}", "may include")
        self.put("stream/made_up/one.h", '#include "stream/values/row.h"\n')
        self.assertIn("has no place", self.only(arrows.check_includes))

    def test_the_program_is_included_by_nothing(self):
        self.assert_refused("adapters/journal/read.h", '#include "adapters/cli/check.h"', "included by nothing")
        self.assert_refused("stream/values/row.h", '#include "adapters/cli/check.h"', "included by nothing")
        self.assert_refused("bench/all.cpp", '#include "adapters/cli/check.h"', "included by nothing")

    def test_a_library_outside_its_component_is_named(self):
        for path, target, library in (("dsl/text/scan.cpp", "lua.hpp", "Lua"), ("adapters/journal/read.h", "lauxlib.h", "Lua"),
                                      ("dsl/lua/host.cpp", "hs.h", "Vectorscan"), ("dsl/lua/host.cpp", "re2/re2.h", "RE2"),
                                      ("adapters/journal/read.h", "re2/re2.h", "RE2"),
                                      ("adapters/journal/read.h", "flatbuffers/flatbuffers.h", "FlatBuffers"),
                                      ("adapters/journal/read.h", "librdkafka/rdkafka.h", "librdkafka"),
                                      ("dsl/lua/host.cpp", "boost/beast/http.hpp", "HTTP")):
            self.assert_refused(path, f"#include <{target}>", library)
        self.assert_refused("adapters/journal/read.h", '#include "telemetry_generated.h"', "FlatBuffers")

    def test_stream_knows_the_standard_library_without_files_and_xxhash_only(self):
        for target in ("fmt/format.h", "unistd.h", "fstream", "filesystem", "iostream", "nlohmann/json.hpp"):
            self.assert_refused("stream/values/row.h", f"#include <{target}>", "only the standard library")

    def test_nothing_in_stream_and_dsl_is_shared_between_threads(self):
        for path in ("stream/values/row.h", "dsl/lua/host.cpp", "dsl/text/scan.h"):
            for target in ("mutex", "atomic", "thread", "shared_mutex"):
                self.assert_refused(path, f"#include <{target}>", "no mutex")
        self.plant("stream/values/row.h", "static std::atomic<int> count;  // shared")
        self.plant("dsl/lua/host.cpp", "std::scoped_lock guard{door};")
        self.assertEqual([problem.split(" in ")[0] for problem in arrows.check_executors(self.root)],
                         ["stream/values/row.h:5: std::atomic", "dsl/lua/host.cpp:4: std::scoped_lock"])

    def test_memory_of_a_thread_is_named_wherever_it_is(self):
        for path in ("stream/values/row.h", "schemas/decode.cpp", "dsl/lua/host.cpp", "adapters/journal/read.h"):
            self.plant(path, "static thread_local int scratch;  // kept")
            self.assertIn(": thread_local in ", self.only(arrows.check_executors))
            self.put(path, SOUND.get(path, ""))
        self.plant("stream/values/row.h", "// no thread_local here")
        self.assertEqual(list(arrows.check_executors(self.root)), [])

    def test_an_include_that_hides_its_path_is_named(self):
        self.assert_refused("adapters/journal/read.h", '#include "../../dsl/load/loader.h"', "from the root")
        self.assert_refused("stream/values/row.h", '#include "time.h"', "from the root")
        self.assert_refused("stream/values/row.h", "#include <stream/values/time.h>", "is ours")
        self.assert_refused("stream/values/row.h", '  #  include "dsl/load/loader.h"', "may include")
        self.assert_refused("stream/values/loops.inc", '#include "dsl/load/loader.h"', "may include")


class Links(Project):
    def test_a_link_against_the_arrows_is_named(self):
        self.put("stream/CMakeLists.txt", "tocsin_library(tocsin_stream SOURCES values/row.cpp PRIVATE tocsin_schemas)\n")
        self.assertIn("stream links tocsin_schemas", self.only(arrows.check_links))

    def test_a_link_added_after_the_library_is_named(self):
        self.plant("dsl/text/CMakeLists.txt", "target_link_libraries(tocsin_dsl_text PRIVATE tocsin_dsl_lua)")
        self.assertIn("dsl/text links tocsin_dsl_lua", self.only(arrows.check_links))

    def test_globbed_sources_are_named(self):
        self.plant("stream/CMakeLists.txt", "file(GLOB all *.cpp)")
        self.assertIn("never globbed", self.only(arrows.check_links))


class Manners(Project):
    def test_a_path_that_does_not_exist_is_named(self):
        self.plant("docs/one.md", "As `stream/windows/rows.h` says.")
        self.assertEqual(self.only(manners.check_documents), "docs/one.md:6: stream/windows/rows.h does not exist")

    def test_a_link_that_leads_nowhere_is_named(self):
        self.plant("docs/one.md", "See [two](two.md).")
        self.assertIn("two.md leads nowhere", self.only(manners.check_documents))

    def test_a_vague_name_is_named(self):
        self.plant("stream/values/row.h", "class RowManager {};")
        self.assertIn("RowManager", self.only(manners.check_names))

    def test_an_old_word_is_named_in_a_comment_an_identifier_and_a_page(self):
        self.plant("stream/values/row.h", "bool said_yes = false;")
        self.assertIn("stream/values/row.h:5: 'said'", self.only(words.check_words))
        self.put("stream/values/row.h", "#pragma once\n// What the member Told us.\n")
        self.assertIn("stream/values/row.h:2: 'Told'", self.only(words.check_words))
        self.put("stream/values/row.h", "#pragma once\nint said;  // and told\n")
        self.assertEqual(len(list(words.check_words(self.root))), 2)
        self.put("stream/values/row.h", "#pragma once\n// foretold, sand, spelling\n")
        self.put("docs/two.md", "Spelled out, it is kept up.\n")
        self.assertEqual(len(list(words.check_words(self.root))), 2)

    def test_a_quoted_log_may_hold_any_word(self):
        self.put("rules/patterns/one.lua", 'pattern "a" {\n  line = [[the server told us]],\n  about = "as it is told",\n}\n')
        self.assertIn("rules/patterns/one.lua:3: 'told'", self.only(words.check_words))

    def test_a_text_for_users_that_is_not_plain_english_is_named_with_what_to_write(self):
        texts = [("Of a cluster: which partition", "begin with the subject"), ("no. What is read", "begin with the subject"),
                ("'x' is no address", "is not a"), ("as if there were none", "what is missing"), ("mend the file", "'fix'"),
                ("no member that has it", "field's term"), ("which are asked for", "who needs it"), ("the state that it is in", "drop the clause")]
        for place, form in (("adapters/a.cpp", 'const char* a = "{}";'), ("adapters/b.js", 'a = "{}";'), ("rules/c.lua", 'summary = "{}",'),
                            ("docs/two.md", "{}"), ("tests/dsl/golden/alerts/d.txt", "{}")):
            for text, instead in texts:
                with self.subTest(place=place, text=text):
                    self.put(place, "\n" + form.format(text) + "\n")
                    problem = self.only(words.check_words)
                    self.assertTrue(problem.startswith(f"{place}:2: "), problem)
                    self.assertIn(instead, problem)
            (self.root / place).unlink()

    def test_what_no_user_reads_may_have_any_form(self):
        self.put("adapters/a.cpp", '// Of x: is no y\nconst char* a = "there is no job", *b = R"(mend)";\nchar c = \'"\', *d = "is no " "longer";\n')
        self.put("rules/c.lua", "-- mend\nline = [[mend]]\n")
        self.put("docs/two.md", "| Name | What it is |\n|---|---|\n| a | b |\n\n```\nmend\n```\n\nWhat is wrong?\n")
        self.assertEqual(list(words.check_words(self.root)), [])
        self.put("adapters/a.cpp", 'const char* a = "is "\n  "no address";\n')
        self.assertIn("adapters/a.cpp:1: 'is no'", self.only(words.check_words))

    def test_a_glossary_that_is_too_long_or_that_no_page_uses_is_named(self):
        self.put("docs/two.md", "A tick is short, and its masks too.\n")
        self.put("docs/glossary.md", "| **tick** | a |\n| **pane**, **mask** | b |\n")
        self.assertIn("'pane' is on no other page", self.only(words.check_words))
        self.put("docs/glossary.md", "| **tick** | a |\n" * 36)
        self.assertIn("36 entries, at most 35", self.only(words.check_words))

    def test_a_listed_change_that_cannot_be_made_is_named(self):
        self.put("tests/mutants/row.txt", "# rows\n\nstream/values/row.h\n- #include <vector>\n+ #include <deque>\n")
        self.assertEqual(list(listed_changes.check_changes(self.root)), [])
        self.plant("stream/values/row.h", "#include <vector>")
        self.assertIn("tests/mutants/row.txt:3: the old text stands 2 times in stream/values/row.h", self.only(listed_changes.check_changes))
        self.put("tests/mutants/row.txt", "stream/gone.h\n- a\n+ b\n")
        self.assertIn("tests/mutants/row.txt:1: the old text stands 0 times in stream/gone.h", self.only(listed_changes.check_changes))
        self.put("tests/mutants/row.txt", "stream/values/row.h\n- a\n")
        self.assertIn("tests/mutants/row.txt:1: a change is a file", self.only(listed_changes.check_changes))

    def test_a_file_beyond_400_lines_of_120_columns_is_named(self):
        self.put("stream/full.cpp", "\n" * 400)
        self.put("stream/large.cpp", "\n" * 401)
        self.put("tests/wide.cpp", "//" + "x" * 119 + "\n" + "\n" * 399)
        self.assertEqual(
            list(manners.check_sizes(self.root)),
            [
                "stream/large.cpp: 401 lines of 120 columns, at most 400: split it by idea",
                "tests/wide.cpp: 401 lines of 120 columns, at most 400: split it by idea",
            ],
        )

    def test_a_file_of_rules_is_split_at_the_same_size(self):
        self.put("rules/full_cases.lua", "\n" * 400)
        self.put("rules/large.lua", "\n" * 401)
        self.put("rules/progress/wide.lua", "--" + "x" * 239 + "\n" + "\n" * 398)
        self.assertEqual(
            list(manners.check_sizes(self.root)),
            [
                "rules/large.lua: 401 lines of 120 columns, at most 400: split it by idea",
                "rules/progress/wide.lua: 401 lines of 120 columns, at most 400: split it by idea",
            ],
        )

    def test_a_rule_that_is_too_large_to_be_read_once_is_named(self):
        def rule(**parts):
            fields = "".join(f"  {key} = {{ {', '.join(f'{key[0]}{n} = 1' for n in range(count))} }},\n" for key, count in parts.items())
            return f'rule "r" {{\n{fields}}}\n'

        self.put("rules/one.lua", rule(needs=12, params=10, state=4) + "\nrule \"long\" {\n" + "\n" * 58 + "}\n")
        self.assertEqual(list(rule_sizes.check_rules(self.root)), [])
        for parts, found in (
            ({"needs": 13}, "r has 13 needs, at most 12: make it several, with findings"),
            ({"params": 11}, "r has 11 params, at most 10"),
            ({"state": 5}, "r has 5 state, at most 4"),
        ):
            self.put("rules/one.lua", "-- one\n" + rule(**parts))
            self.assertIn("rules/one.lua:2: rule " + found, self.only(rule_sizes.check_rules))
        self.put("rules/one.lua", 'rule "r" {\n  needs = { a = 1 },  -- b = 2, "c = 3"\n' + "\n" * 59 + "}\n")
        self.assertIn("rules/one.lua:1: rule r has 62 lines, at most 60", self.only(rule_sizes.check_rules))
        self.put("rules/one.lua", "")
        self.put("rules/patterns/wide.lua", "-- a\n-- " + "x" * 118 + "\n")
        self.assertIn("rules/patterns/wide.lua:2: 121 columns, at most 120", self.only(rule_sizes.check_rules))

    def test_a_header_that_leans_on_its_includer_is_named(self):
        for path in (path for path in self.root.rglob("*.h")):
            path.write_text("#pragma once\n", encoding="utf-8")
        self.put("stream/values/leaning.h", "#pragma once\nstd::vector<int> rows();\n")
        self.put("build/compile_commands.json",
                 f'[{{"directory": "{self.root}", "file": "{self.root}/stream/values/row.cpp",'
                 f' "command": "c++ -std=c++20 -I{self.root} -o row.o -c {self.root}/stream/values/row.cpp"}}]')
        self.put("stream/values/compiled.h", "#pragma once\nstd::vector<int> rows();\n")
        self.put("stream/values/compiled.cpp", '#include "stream/values/compiled.h"\n')     # whose own build finds it
        self.put("stream/values/late.h", "#pragma once\nstd::vector<int> rows();\n")
        self.put("stream/values/late.cpp", '#include <vector>\n#include "stream/values/late.h"\n')
        self.put("stream/values/twice.h", "// #pragma once\n")
        self.assertEqual([problem.split(":")[0] for problem in manners.check_headers(self.root, self.root / "build")],
                         ["stream/values/twice.h may be included once only", "stream/values/late.h does not compile alone",
                          "stream/values/leaning.h does not compile alone"])

    def test_the_program_says_what_is_wrong_and_ends_with_1(self):
        self.plant("stream/values/row.h", '#include "dsl/load/loader.h"')
        outcome = subprocess.run([sys.executable, str(Path(__file__).with_name("check")), "includes", str(self.root)],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("stream/values/row.h:5: stream includes dsl/load/loader.h", outcome.stdout)


class Semantics(Project):
    def page(self, *statements):
        self.put("docs/semantics.md", "# Semantics\n\nEach sentence has a number.\n\n## Rows\n\n" + "\n".join(statements) + "\n")

    def setUp(self):
        super().setUp()
        self.put("tests/rows/rows_test.cpp", 'TEST_CASE("a row is final") {}\nTEST_CASE_FIXTURE(Rows,\n    "a \'late\' sample "\n    "proves life") {}\n')
        self.put("tests/rows/test_rows.py", "class Rows:\n    def test_rows_close(self):\n        pass\n")
        self.put("tests/columns/same_test.cpp", 'TEST_CASE("a column") {}\n')
        self.put("tests/rows/same_test.cpp", 'TEST_CASE("a row") {}\n')
        self.sound = '- **R1** A row is final, and a late\n  sample proves life. (rows_test: "a row is",\n  "a \'late\'"; test_rows: "test_rows"; rows/same_test: "a row")'

    def test_a_statement_with_a_number_and_tests_is_sound(self):
        self.page(self.sound, '- **R2** Rows close. (test_rows: "test_rows_close")')
        self.assertEqual(list(semantics.check_semantics(self.root)), [])

    def test_a_statement_without_a_number_one_of_its_own_or_a_test_is_named(self):
        held = '(rows_test: "a row")'
        for planted, problem in ((f"- Rows close. {held}", ":7: 'Rows close. (rows_test: \"a row' has no number"), (f"Rows close. {held}", "has no number"),
                                 (f"- **R1** Rows close. {held}", ":8: R1 is there twice"), ("- **R2** Rows close.", ":8: R2 names no test"),
                                 (f"- **R2** Rows close {held}, and open.", "R2 names no test"),
                                 ('- **R2** Rows close. (rows_test: "a window")', "R2: 0 tests of rows_test begin with 'a window'"),
                                 ('- **R2** Rows close. (rows_test: "a row", "b")', "R2: 0 tests of rows_test begin with 'b'"),
                                 ('- **R2** Rows close. (rows_test: "a")', "R2: 2 tests of rows_test begin with 'a'"),
                                 ('- **R2** Rows close. (no_test: "a row")', "R2: 0 files are called no_test"),
                                 ('- **R2** Rows close. (same_test: "a row")', "R2: 2 files are called same_test")):
            with self.subTest(planted):
                self.page(*([] if "no number" in problem else [f"- **R1** A row is final. {held}"]), planted)
                self.assertIn(problem, self.only(semantics.check_semantics))

    def test_a_statement_that_is_marked_as_without_a_test_is_counted(self):
        self.page("- **R1** Rows close. (no test yet)")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(list(semantics.check_semantics(self.root)), [])
        self.assertEqual(printed.getvalue(), "semantics: 1 without a test: R1\n")


if __name__ == "__main__":
    unittest.main()
