#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dsl/text/definitions.h"
#include "stream/extractor.h"

namespace tocsin::dsl::text {

// What a definition makes of a line.
struct Reading {
  Definition::Kind kind{};
  std::string name;
  std::string event;  // empty: its samples
  std::optional<std::uint32_t> rank;
  std::vector<std::pair<std::string, std::variant<double, std::string>>> values;
  bool unfinished = false;  // the line is a part of a record that makes what it makes at its end
};

struct ReadLine {
  std::optional<std::uint32_t> rank;  // from the prefix
  std::string time;                   // as written in the prefix
  std::string shape;                  // without the prefix, and N for each number
  std::vector<Reading> readings;      // none: nothing reads the line
};

// Reads the lines of a log one by one, as an attempt does, and tells what each becomes: for people who write parsers.
class LogReading {
 public:
  explicit LogReading(const stream::Extraction& extraction);  // of compile()
  ~LogReading();
  ReadLine read(std::string_view line);
  std::vector<Reading> finish();  // what records make that are not at their end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::dsl::text
