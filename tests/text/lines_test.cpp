// Lines of our own writing for every shipped pattern and parser. In lines/*.txt: `# name` begins a case of that
// definition, `>` is a line of a log, `=` what must come of it and the lines before it (all of it, in order; what a
// seal ends comes too), and `<` a line of which that definition must make nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/text/shipped.h"

using namespace tocsin;

namespace {

struct Case {
  std::string definition, file;
  int line = 0;
  std::vector<std::string> log, expected;
  bool nothing = false;
};

// \e, \r and \0 stand for bytes that an editor would not keep.
std::string unescaped(std::string text) {
  for (const auto& [written, byte] : {std::pair{"\\e", '\x1b'}, std::pair{"\\r", '\r'}, std::pair{"\\0", '\0'}})
    for (std::size_t at; (at = text.find(written)) != text.npos;) text.replace(at, 2, 1, byte);
  return text;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  std::set<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TOCSIN_SOURCE_DIR) / "tests/text/lines"))
    paths.insert(entry.path());
  for (const auto& path : paths) {
    std::ifstream in(path);
    std::string name, text;
    for (int line = 1; std::getline(in, text); ++line) {
      if (text.rfind("# ", 0) == 0) {
        name = text.substr(2);
      } else if (text.rfind("> ", 0) == 0) {
        if (all.empty() || all.back().definition != name || all.back().nothing || !all.back().expected.empty())
          all.push_back({name, path.filename().string(), line, {}, {}, false});
        all.back().log.push_back(unescaped(text.substr(2)));
      } else if (text.rfind("= ", 0) == 0) {
        all.back().expected.push_back(text.substr(2));
      } else if (text.rfind("< ", 0) == 0) {
        all.push_back({name, path.filename().string(), line, {unescaped(text.substr(2))}, {}, true});
      }
    }
  }
  return all;
}

std::vector<std::string> extract(const stream::Extraction& source, const std::vector<std::string>& log) {
  auto extractor = source.open()->make();
  test::Recorded out;
  for (const std::string& line : log) extractor->line({{}, {}, false, line}, {}, out);
  extractor->finish(out);
  return out.all;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("the shipped patterns and parsers compile") {
  const auto compiled = dsl::compile_text(test::shipped_files());
  for (const auto& problem : compiled.problems) MESSAGE(problem.file << ":" << problem.line << ": " << problem.message);
  REQUIRE(compiled.extraction);
}

TEST_CASE("every pattern and parser makes of its lines what the whole pack makes of them, and nothing of others") {
  const auto read = dsl::read_text_definitions(test::shipped_files());
  const auto whole = dsl::text::compile(read.definitions);
  REQUIRE(whole.extraction);
  std::map<std::string, std::shared_ptr<const stream::Extraction>> alone;
  for (const auto& definition : read.definitions)
    alone[definition.name] = dsl::text::compile(std::span(&definition, 1)).extraction;
  std::set<std::string> remembers;  // they make nothing by themselves
  for (const auto& definition : read.definitions)
    if (!definition.remembers.empty()) remembers.insert(definition.name);
  std::map<std::string, int> matched, silent;
  for (const Case& each : cases()) {
    CAPTURE(each.file);
    CAPTURE(each.line);
    CAPTURE(each.definition);
    const auto source = alone.find(each.definition);
    REQUIRE_MESSAGE(source != alone.end(), "no definition has this name: " << each.definition);
    REQUIRE(source->second);
    const auto own = extract(*source->second, each.log);
    if (each.nothing) {
      CHECK(joined(own) == "");
      ++silent[each.definition];
    } else {
      if (!remembers.contains(each.definition)) CHECK_MESSAGE(!own.empty(), "the definition alone makes nothing of it");
      CHECK(joined(extract(*whole.extraction, each.log)) == joined(each.expected));
      ++matched[each.definition];
    }
  }
  for (const auto& definition : read.definitions) {
    CHECK_MESSAGE(matched[definition.name] > 0,
                  definition.file << ": no line of tests/text/lines matches " << definition.name);
    CHECK_MESSAGE(silent[definition.name] > 0,
                  definition.file << ": no line of tests/text/lines must not match " << definition.name);
  }
}
