#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "dsl/load/text_definitions.h"
#include "dsl/text/extraction.h"
#include "dsl/text/lines.h"
#include "stream/extractor.h"

// A file of patterns in a test, and lines for it.
namespace tocsin::test {

inline std::map<std::string, std::string> pattern_file(std::string text) {
  return {{"patterns/test.lua", std::move(text)}};
}

inline std::shared_ptr<const stream::Extraction> compiled(std::string text) {
  auto result = dsl::compile_text(pattern_file(std::move(text)));
  for (const auto& problem : result.problems) MESSAGE(problem.message);
  REQUIRE(result.extraction);
  return result.extraction;
}

// Of an extractor that compile_text() made.
inline const dsl::text::TextCounters& counters_of(const stream::Extractor& extractor) {
  return static_cast<const dsl::text::Lines&>(extractor).counters();
}

inline std::string problem(std::string text) {
  const auto result = dsl::compile_text(pattern_file(std::move(text)));
  CHECK(!result.extraction);
  REQUIRE(!result.problems.empty());
  return result.problems[0].file + ":" + std::to_string(result.problems[0].line) + ": " + result.problems[0].message;
}

inline bool says(const std::string& message, std::string_view part) { return message.find(part) != message.npos; }

inline stream::LineRecord line(std::string_view text, stream::MemberKey member = {}, bool error = false) {
  return {{}, member, error, text};
}

inline stream::MemberKey rank(std::uint32_t number) { return {stream::Level::rank, number, {}, {}}; }

}  // namespace tocsin::test
