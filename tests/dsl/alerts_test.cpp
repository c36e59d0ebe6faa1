// The alert of each shipped rule as a person reads it, from the cases beside the rules: one for each set of causes that
// a case proves, with and without the process. After a change of a text: read the new ones, run with
// TOCSIN_WRITE_GOLDEN=1, and read the difference.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "adapters/formats/alert_form.h"
#include "dsl/cases/case_runner.h"
#include "dsl/load/text_definitions.h"
#include "tests/dsl/sample_pack.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;
namespace fs = std::filesystem;

namespace {

const fs::path golden = fs::path{TOCSIN_SOURCE_DIR} / "tests/dsl/golden/alerts";

std::string text_of(const stream::AlertTransition& alert) {
  std::string text;
  for (const auto& [title, part] : adapters::formats::alert_form(alert, "run").parts()) {
    std::string line{title};
    line.resize(11, ' ');
    text += line + part + "\n";
  }
  return text;
}

std::string read(const fs::path& path) {
  std::ifstream file{path};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// By rule: the first alert of each set of causes, under the name of its case.
std::map<std::string, std::string> alerts_of(const Loaded& loaded, const PackFiles& files) {
  const stream::LoadedPack pack{loaded.pack, compile_text(files).extraction};
  std::map<std::string, std::string> texts;
  std::set<std::string> seen;
  for (const Case& one : loaded.cases) {
    for (const auto& alert : run_case(one, pack).alerts) {
      if (alert.state != stream::AlertState::firing) continue;
      std::string key = alert.rule;
      for (const auto& [cause, text] : alert.implies) key += " " + cause;
      if (!alert.who.empty() && alert.who[0].pid) key += " pid";
      if (seen.insert(key).second) texts[alert.rule] += "# " + one.name + "\n" + text_of(alert) + "\n";
    }
  }
  return texts;
}

// The shipped rules with what their cases raise; all cases are judged once for all tests.
struct Shipped {
  std::shared_ptr<const stream::Pack> pack;
  std::map<std::string, std::string> texts;
};

const Shipped& shipped() {
  static const Shipped judged = [] {
    const auto files = read_pack(TOCSIN_SOURCE_DIR "/rules");
    REQUIRE(files);
    const Loaded loaded = load(*files);
    REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
    return Shipped{loaded.pack, alerts_of(loaded, *files)};
  }();
  return judged;
}

}  // namespace

TEST_CASE("the alert of each shipped rule reads as its golden file") {
  const auto& [pack, texts] = shipped();
  const bool write = std::getenv("TOCSIN_WRITE_GOLDEN") != nullptr;
  if (write) fs::remove_all(golden), fs::create_directories(golden);
  for (const stream::Rule& rule : pack->rules) {
    if (rule.severity == stream::Severity::none) continue;
    CAPTURE(rule.name);
    CHECK_MESSAGE(texts.contains(rule.name), "no case makes it fire");
    CHECK_MESSAGE(!rule.actions.empty(), "it does not say what to do");
    if (!texts.contains(rule.name)) continue;
    if (write) std::ofstream{golden / (rule.name + ".txt")} << texts.at(rule.name);
    CHECK(texts.at(rule.name) == read(golden / (rule.name + ".txt")));
  }
}

TEST_CASE(
    "each alert of a shipped rule names what, who, since when with date and zone, what was seen, and what to do") {
  for (const auto& [rule, text] : shipped().texts) {
    CAPTURE(rule);
    std::stringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
      CHECK(line.find("{") == std::string::npos);
      if (line.starts_with("since ")) CHECK(line.find(" UTC") != std::string::npos);
    }
    for (const char* title : {"\nwhat ", "\nwho ", "\nsince ", "\nseen ", "\ndo ", "\nmore "})
      CHECK_MESSAGE(text.find(title) != std::string::npos, title);
  }
}

TEST_CASE("no alert of a shipped rule says that something is unknown or infinite") {
  const std::string family = "hang of unknown cause";
  for (const auto& entry : fs::directory_iterator{golden}) {
    CAPTURE(entry.path().filename().string());
    std::stringstream lines{read(entry.path())};
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("not known") || line.starts_with("more") || line.starts_with("#")) continue;
      if (const auto at = line.find(family); at != std::string::npos) line.erase(at, family.size());
      for (const char* word : {"unknown", "infinite", "no member"})
        CHECK_MESSAGE(line.find(word) == std::string::npos, line);
    }
  }
}
