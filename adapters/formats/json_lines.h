#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/codec.h"
#include "stream/values/result.h"

// JSON lines, the form for people and files: docs/json-lines.md.
namespace tocsin::adapters::formats {

inline constexpr std::size_t longest_json_line = 16u << 20;

// One parsed line. Views last until the reader's next line.
struct JsonRecord {
  enum class What { samples, line, event, coverage, control };
  What what = What::samples;
  std::optional<stream::Time> time;  // only coverage and control records may have none
  std::string_view job, source;
  std::string attempt;
  schemas::EntryBuilder::Member member;
  std::vector<schemas::EntryBuilder::Value> values;
  std::string_view text;  // of a line
  bool error_stream = false;
  std::string_view event;
  std::vector<schemas::EntryBuilder::Field> fields;
  std::vector<schemas::EntryBuilder::Member> members;  // of a coverage record
  stream::ControlRecord control;

  [[nodiscard]] bool is_event(std::string_view name) const { return what == What::event && event == name; }
  void add_to(schemas::EntryBuilder& builder, stream::Time when) const;
  // About how many bytes it takes in an entry: its texts, and as much for what stands around each of them as is ever
  // used.
  [[nodiscard]] std::size_t room() const;
};

// Owned by the reader of one file of lines; one per thread.
class JsonReader {
 public:
  // `otherwise`: the time of records that have none; without it they are errors.
  explicit JsonReader(std::optional<stream::Time> otherwise);
  JsonReader() : JsonReader(std::nullopt) {}
  ~JsonReader();
  JsonReader(JsonReader&&) noexcept;

  // The error has the problem of the line and what to write instead; the caller adds file and line.
  [[nodiscard]] stream::Result<const JsonRecord*> read(std::string_view line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The lines, each ended, that read back as the records of this entry. What JSON lines have no key for (producer, epoch,
// sequence, units and kinds of signals) is left out; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string to_json(const stream::Entry& entry);

}  // namespace tocsin::adapters::formats
