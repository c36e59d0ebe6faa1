#include "tests/stream_engine/small_job.h"

#include <stdexcept>

#include "dsl/text/extraction.h"
#include "dsl/text_definitions.h"

namespace tocsin::tests {

stream::LoadedPack SmallJob::load(const std::string& signals, const std::string& rules, const std::string& patterns) {
  const std::map<std::string, std::string> files{{"signals.lua", signals}, {"rules.lua", rules}, {"patterns/lines.lua", patterns}};
  const dsl::Loaded loaded = dsl::load(files);
  if (!loaded.pack) throw std::runtime_error(loaded.problems.empty() ? "no pack" : dsl::describe(loaded.problems.front()));
  if (patterns.empty()) return {loaded.pack, nullptr};
  const auto compiled = dsl::compile_text(files);
  if (!compiled.source) throw std::runtime_error(compiled.problems.empty() ? "no patterns" : compiled.problems.front().message);
  return {loaded.pack, compiled.source};
}

}  // namespace tocsin::tests
