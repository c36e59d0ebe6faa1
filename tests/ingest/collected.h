#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "adapters/ingest/translator.h"

// What a mapping makes of a message, as texts that a test can compare.
namespace tocsin::tests {

using Lines = std::vector<std::string>;
inline constexpr auto arrival = stream::at_nanoseconds(1'790'000'000'000'000'000);

struct Collected final : adapters::ingest::Output {
  Lines records, problems;
  std::uint64_t unwanted_values = 0;

  // PLACE JOB[/ATTEMPT] MEMBER: WHAT, with the seconds from the arrival where the time is another: "1 j r0 n1: a=1 b=x
  // @-2".
  void record(const adapters::ingest::Record& record) override {
    using What = adapters::ingest::Record::What;
    std::string line =
        fmt::format("{} {}{}{}", record.place, record.job, record.attempt.empty() ? "" : "/", record.attempt);
    if (record.member.level == stream::Level::rank) line += fmt::format(" r{}", record.member.rank);
    for (const std::string& name : {record.member.node, record.member.gpu})
      if (!name.empty()) line += ' ' + name;
    line += ':';
    if (record.what == What::line) line += fmt::format(" {}{}", record.error_stream ? "stderr " : "", record.text);
    if (record.what == What::event) line += fmt::format(" {}", record.event);
    for (const auto& value : record.values)
      line += value.is_text ? fmt::format(" {}='{}'", value.signal, value.text)
                            : fmt::format(" {}={}{}", value.signal, value.number, value.unit);
    for (const auto& field : record.fields)
      line += field.is_text ? fmt::format(" {}='{}'", field.name, field.text)
                            : fmt::format(" {}={}", field.name, field.number);
    if (!record.source.empty()) line += fmt::format(" of {}", record.source);
    if (record.time != arrival) line += fmt::format(" @{}", stream::seconds(record.time - arrival));
    records.push_back(line);
  }
  void left_out(const adapters::ingest::LeftOut& part) override {
    problems.push_back(fmt::format("{} {}: {}", part.place, adapters::ingest::name(part.reason), part.what));
  }
  void unwanted(std::uint64_t values) override { unwanted_values += values; }
};

inline Collected collect(const adapters::ingest::Source& source, std::string_view message,
                         const adapters::ingest::NodeMap& nodes = {}) {
  Collected collected;
  auto translator = adapters::ingest::Translator::make(source, &nodes);
  REQUIRE_MESSAGE(translator, translator.error().message);
  translator->read(message, arrival, collected);
  return collected;
}
inline adapters::ingest::Source source(std::string format) {
  adapters::ingest::Source made;
  made.format = std::move(format);
  return made;
}

}  // namespace tocsin::tests
