#include "adapters/packs/shadows.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "adapters/packs/compile.h"
#include "dsl/load/text_definitions.h"
#include "dsl/text/reading.h"
#include "dsl/text/slips.h"

namespace tocsin::adapters::packs {
namespace {

using dsl::text::Definition;
using dsl::text::Reading;

// The parser that reads a line, and the names of the values that it makes.
struct Read {
  const Definition* by = nullptr;  // null: no parser reads it
  std::set<std::string> makes;
};

struct Shadows {
  const dsl::PackFiles& files;
  std::vector<Definition> definitions = dsl::read_text_definitions(files).definitions;
  dsl::PackDirectories directories{files};
  std::vector<dsl::Problem> problems{};

  Read read(const stream::Extraction& extraction, const std::string& line) const {
    dsl::text::LogReading reading{extraction};
    std::vector<Reading> all = reading.read(line).readings;
    for (Reading& rest : reading.finish()) all.push_back(std::move(rest));
    Read found;
    for (const Reading& one : all) {
      if (one.kind != Definition::Kind::parser || one.unfinished) continue;
      found.by = &*std::ranges::find_if(
          definitions, [&](const Definition& of) { return of.kind == one.kind && of.name == one.name; });
      for (const auto& [name, value] : one.values) found.makes.insert(name);
    }
    return found;
  }
  // The values that the first makes and the second does not, as a list; may be empty.
  static std::string lost(const std::set<std::string>& made, const std::set<std::string>& instead) {
    std::string names;
    for (const std::string& name : made)
      if (!instead.contains(name)) names += (names.empty() ? "" : ", ") + name;
    return names;
  }
  static std::string named(const Definition& of) {
    return "parser '" + of.name + "' (" + of.file + ":" + std::to_string(of.line) + ")";
  }
  void warn(const Definition& of, const std::string& message) {
    problems.push_back({of.file, of.line, dsl::Problems{files}.source_line(of.file, of.line), "",
                        "parser '" + of.name + "': " + message, true});
  }

  // The patterns and parsers of the directories before this one.
  stream::LoadedPack before(std::size_t directory) const {
    dsl::PackFiles earlier;
    std::ranges::copy_if(files, std::inserter(earlier, earlier.end()), [&](const auto& file) {
      return dsl::is_text_file(file.first) && directories.of(file.first) < directory;
    });
    return {nullptr, compile_texts(earlier).extraction};
  }

  void check(const Definition& of, const stream::Extraction& all) {
    if (of.kind != Definition::Kind::parser || of.about.empty() || !dsl::text::occurs_in(of, of.about)) return;
    const std::string line = "`" + of.about + "`";
    const Read now = read(all, of.about);
    if (now.by && now.by->name != of.name)
      return warn(of, line + " is read by " + named(*now.by) + ", which comes first: " +
                          (of.generic == now.by->generic ? "write this one before it, or narrow one of their lines"
                                                         : "take out generic"));
    const auto others = before(directories.of(of.file));
    if (!now.by || !others.extraction) return;
    const Read other = read(*others.extraction, of.about);
    if (const std::string names = lost(other.makes, now.makes); !names.empty())
      warn(of, "it takes " + line + " from " + named(*other.by) + ", which made " + names +
                   " of it too: add them to samples or states");
  }
};

}  // namespace

std::vector<dsl::Problem> shadows(const dsl::PackFiles& files, const stream::LoadedPack& pack) {
  Shadows found{files};
  for (const Definition& one : found.definitions)
    if (found.directories.of(one.file) > 0) found.check(one, *pack.extraction);
  return std::move(found.problems);
}

}  // namespace tocsin::adapters::packs
