// The same records in other messages.
#include <algorithm>
#include <map>

#include "tests/stream_engine/generated_log.h"

namespace tocsin::tests {
namespace {

using schemas::EntryBuilder;
using stream::Time;

EntryBuilder::Member owned(const stream::MemberKey& key) {
  return {key.level, key.rank, std::string{key.node}, std::string{key.gpu}};
}

void copy_samples(const stream::SampleBlock& block, EntryBuilder& to) {
  std::vector<EntryBuilder::Value> values(block.signals.size());
  for (std::size_t t = 0; t < block.times.size(); ++t)
    for (std::size_t m = 0; m < block.members.size(); ++m) {
      for (std::size_t s = 0; s < values.size(); ++s) {
        const std::size_t i = (t * block.members.size() + m) * values.size() + s;
        const bool text = block.signals[s].unit == "text" && block.has(i);
        values[s] = {block.signals[s].name, block.has(i) ? block.value(i) : stream::absent, {}, text};
        if (text) values[s].text = block.texts[static_cast<std::size_t>(block.value(i))];
      }
      to.sample(block.times[t], owned(block.members[m]), values, block.source);
    }
}

void copy_records(const stream::Entry& from, EntryBuilder& to) {
  for (const auto& block : from.samples) copy_samples(block, to);
  for (const auto& line : from.lines) to.line(line.time, owned(line.member), line.text, line.error_stream, line.source);
  for (const auto& event : from.events) {
    std::vector<EntryBuilder::Field> fields;
    for (const auto& field : event.fields) {
      const auto* text = std::get_if<std::string_view>(&field.value);
      fields.push_back(
          {field.name, text ? 0 : std::get<double>(field.value), text ? *text : std::string_view{}, text != nullptr});
    }
    to.event(event.time, owned(event.member), event.name, fields, event.source);
  }
  for (const auto& coverage : from.coverage) {
    std::vector<EntryBuilder::Member> members;
    for (const auto& key : coverage.members) members.push_back(owned(key));
    to.coverage(coverage.source, members);
  }
}

bool starts_or_ends(const stream::Entry& entry) {
  return std::any_of(entry.events.begin(), entry.events.end(),
                     [](const auto& e) { return e.name == "start" || e.name == "end"; });
}

}  // namespace

GeneratedLog cut(const GeneratedLog& log) {
  GeneratedLog out;
  schemas::Decoder decoder;
  for (std::size_t i = 0; i < log.messages.size(); ++i) {
    const stream::Entry whole = decoded(decoder, log, i);
    const auto piece = [&](auto fill) {
      stream::Entry part;
      part.subject = whole.subject, part.attempt = whole.attempt, part.node = whole.node;
      fill(part);
      out.messages.push_back({schemas::encode(part), log.messages[i].arrival, std::string{whole.subject}});
    };
    if (whole.events.size() + whole.samples.size() + whole.lines.size() + whole.coverage.size() < 2 ||
        std::any_of(whole.events.begin(), whole.events.end(), [](const auto& e) { return e.name == "start"; })) {
      out.messages.push_back(log.messages[i]);
      continue;
    }
    for (const auto& event : whole.events) piece([&](stream::Entry& e) { e.events = {&event, 1}; });
    for (const auto& block : whole.samples) piece([&](stream::Entry& e) { e.samples = {&block, 1}; });
    for (const auto& line : whole.lines) piece([&](stream::Entry& e) { e.lines = {&line, 1}; });
    for (const auto& coverage : whole.coverage) piece([&](stream::Entry& e) { e.coverage = {&coverage, 1}; });
  }
  return out;
}

GeneratedLog join(const GeneratedLog& log) {
  GeneratedLog out;
  schemas::Decoder decoder;
  struct Open {
    EntryBuilder builder;
    Time arrival;
    std::uint64_t number = 0;
  };
  std::map<std::string, Open> open;  // by subject
  const auto close = [&](const std::string& subject) {
    Open& o = open[subject];
    if (o.builder.empty()) return;
    o.builder.about(subject);
    o.builder.produced_by(subject + "-batches", 1, ++o.number);
    out.messages.push_back({schemas::encode(o.builder.entry()), o.arrival, subject});
    o.builder.clear();
  };
  for (std::size_t i = 0; i < log.messages.size(); ++i) {
    const auto& message = log.messages[i];
    if (i > 0 && message.bytes == log.messages[i - 1].bytes) continue;  // was delivered twice
    const stream::Entry& entry = decoded(decoder, log, i);
    for (const auto& [subject, o] : open)
      if (o.arrival < message.arrival || entry.subject.empty() || (subject == message.subject && starts_or_ends(entry)))
        close(subject);
    if (entry.subject.empty() || starts_or_ends(entry)) {
      out.messages.push_back(message);
      continue;
    }
    Open& o = open[message.subject];
    o.arrival = message.arrival;
    copy_records(entry, o.builder);
  }
  for (const auto& [subject, o] : open) close(subject);
  return out;
}

}  // namespace tocsin::tests
