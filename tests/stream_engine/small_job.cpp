#include "tests/stream_engine/small_job.h"

#include <algorithm>
#include <stdexcept>

#include "dsl/load/text_definitions.h"
#include "dsl/text/extraction.h"

namespace tocsin::tests {

stream::LoadedPack SmallJob::load(const std::string& signals, const std::string& rules, const std::string& patterns) {
  const std::map<std::string, std::string> files{
      {"signals.lua", signals}, {"rules.lua", rules}, {"patterns/lines.lua", patterns}};
  const dsl::Loaded loaded = dsl::load(files);
  if (!loaded.pack)
    throw std::runtime_error(loaded.problems.empty() ? "no pack" : dsl::describe(loaded.problems.front()));
  if (patterns.empty()) return {loaded.pack, nullptr};
  const auto compiled = dsl::compile_text(files);
  if (!compiled.extraction)
    throw std::runtime_error(compiled.problems.empty() ? "no patterns" : compiled.problems.front().message);
  return {loaded.pack, compiled.extraction};
}

void SmallJob::restore(const SmallJob& other, const stream::Shard::Sections& sections, stream::Position handed_over) {
  log = other.log;
  const auto from = shard.load(sections, handed_over);
  if (!from) throw std::runtime_error(from.error().message);
  for (auto number = std::max<std::size_t>(1, static_cast<std::size_t>(*from)); number <= log.size(); ++number)
    read(number);
}

}  // namespace tocsin::tests
