#include "dsl/text/reading.h"

#include <algorithm>

#include "dsl/text/cleaning.h"
#include "dsl/text/lines.h"
#include "dsl/text/number.h"

namespace tocsin::dsl::text {
namespace {

bool word(char c) { return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool hex(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// The length of 0x7f3a, or of eight digits and letters from a to f with a digit among them.
std::size_t hex_length(std::string_view text) {
  const bool prefixed = text.starts_with("0x");
  std::size_t size = prefixed ? 2 : 0;
  bool has_digit = prefixed;
  for (; size < text.size() && hex(text[size]); ++size) has_digit |= digit(text[size]);
  const bool ends = size == text.size() || !word(text[size]);
  return ends && has_digit && size >= (prefixed ? 3 : 8) ? size : 0;
}

std::string shape_of(std::string_view text) {
  std::string shape;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins = i == 0 || !word(text[i - 1]);
    std::size_t size = begins ? hex_length(text.substr(i)) : 0;
    if (size == 0 && digit(text[i])) size = begins ? std::max<std::size_t>(number_length(text.substr(i)), 1) : 1;
    if (size == 0) shape += text[i++];
    else if (shape.empty() || shape.back() != 'N' || begins) shape += 'N', i += size;
    else i += size;  // a further digit within a word
  }
  return shape;
}

}  // namespace

struct LogReading::State final : stream::Extracted {
  explicit State(const stream::Extraction& of) : extraction(of.open()), extractor(extraction->make()) {}

  // Makes of one definition stand together, and an event beside another is one of its own.
  Reading& of_making(const stream::MemberKey& member, std::string_view event) {
    const Rule& rule = *lines().making();
    if (readings.empty() || readings.back().name != rule.name || readings.back().event != event) {
      Reading& made = readings.emplace_back();
      made.kind = rule.kind;
      made.name = rule.name;
      made.event = event;
      if (member.level == stream::Level::rank) made.rank = member.rank;
    }
    return readings.back();
  }
  void sample(stream::Time, const stream::MemberKey& member, std::string_view signal, double value,
              std::string_view) override {
    of_making(member, "").values.emplace_back(signal, value);
  }
  void sample(stream::Time, const stream::MemberKey& member, std::string_view signal, std::string_view text,
              std::string_view) override {
    of_making(member, "").values.emplace_back(signal, std::string{text});
  }
  void event(const stream::EventRecord& event) override {
    Reading& made = of_making(event.member, event.name);
    for (const auto& field : event.fields)
      if (const auto* number = std::get_if<double>(&field.value)) made.values.emplace_back(field.name, *number);
      else made.values.emplace_back(field.name, std::string{std::get<std::string_view>(field.value)});
  }
  [[nodiscard]] const Lines& lines() const { return static_cast<const Lines&>(*extractor); }

  std::shared_ptr<stream::Extraction> extraction;
  std::unique_ptr<stream::Extractor> extractor;
  std::vector<Reading> readings;
};

LogReading::LogReading(const stream::Extraction& extraction) : state_(std::make_unique<State>(extraction)) {}
LogReading::~LogReading() = default;

ReadLine LogReading::read(std::string_view line) {
  std::string narrow, buffer;
  const std::string_view clean = without_colours(without_utf16(line, narrow), buffer);
  const Prefix prefix = read_prefix(clean);
  ReadLine out{prefix.rank, std::string{prefix.time}, shape_of(clean.substr(prefix.size)), {}};
  state_->readings.clear();
  state_->extractor->line({{}, {}, false, line, {}}, {}, *state_);
  out.readings = std::move(state_->readings);
  const Rule* rule = state_->lines().part_of();
  if (rule && (out.readings.empty() || out.readings.back().name != rule->name))
    out.readings.push_back({rule->kind, rule->name, {}, {}, {}, true});
  return out;
}

std::vector<Reading> LogReading::finish() {
  state_->readings.clear();
  state_->extractor->finish(*state_);
  return std::move(state_->readings);
}

}  // namespace tocsin::dsl::text
