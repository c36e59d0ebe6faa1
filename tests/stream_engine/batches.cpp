// The same records in other messages.
#include <algorithm>
#include <map>
#include <utility>

#include "stream/job/duplicates.h"
#include "tests/stream_engine/generated_log.h"

namespace tocsin::tests {
namespace {

using schemas::EntryBuilder;
using stream::Time;

EntryBuilder::Member owned(const stream::MemberKey& key) {
  return {key.level, key.rank, std::string{key.node}, std::string{key.gpu}};
}

// Each record of the entry in its order: what adds it to a builder.
template <class Each>
void each_record(const stream::Entry& from, Each&& each) {
  const auto records = [&](const auto& record) {
    using Record = std::remove_cvref_t<decltype(record)>;
    if constexpr (std::is_same_v<Record, stream::SampleBlock>) {
      const std::size_t width = record.signals.size(), members = record.members.size();
      for (std::size_t cell = 0; cell < record.times.size() * members; ++cell)
        each([&](EntryBuilder& to) {
          std::vector<EntryBuilder::Value> values(width);
          for (std::size_t s = 0; s < width; ++s) {
            const std::size_t i = cell * width + s;
            const auto& signal = record.signals[s];
            const bool text = signal.unit == "text" && record.has(i);
            values[s] = {signal.name, record.has(i) ? record.value(i) : stream::absent, {}, text};
            if (text) values[s].text = record.texts[static_cast<std::size_t>(record.value(i))];
            else if (signal.unit != "text") values[s].unit = signal.unit;
          }
          to.sample(record.times[cell / members], owned(record.members[cell % members]), values, record.source);
        });
    } else if constexpr (std::is_same_v<Record, stream::LineRecord>) {
      each([&](EntryBuilder& to) {
        to.line(record.time, owned(record.member), record.text, record.error_stream, record.source);
      });
    } else if constexpr (std::is_same_v<Record, stream::EventRecord>) {
      each([&](EntryBuilder& to) {
        std::vector<EntryBuilder::Field> fields;
        for (const auto& field : record.fields) {
          const auto* text = std::get_if<std::string_view>(&field.value);
          fields.push_back({field.name, text ? 0 : std::get<double>(field.value), text ? *text : std::string_view{},
                            text != nullptr});
        }
        to.event(record.time, owned(record.member), record.name, fields, record.source);
      });
    } else {
      each([&](EntryBuilder& to) {
        std::vector<EntryBuilder::Member> members;
        for (const auto& key : record.members) members.push_back(owned(key));
        to.coverage(record.source, members);
      });
    }
  };
  in_order(from, records);
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
    in_order(whole, [&](const auto& record) {
      using Record = std::remove_cvref_t<decltype(record)>;
      piece([&](stream::Entry& e) {
        if constexpr (std::is_same_v<Record, stream::SampleBlock>) e.samples = {&record, 1};
        else if constexpr (std::is_same_v<Record, stream::LineRecord>) e.lines = {&record, 1};
        else if constexpr (std::is_same_v<Record, stream::EventRecord>) e.events = {&record, 1};
        else e.coverage = {&record, 1};
      });
    });
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
    each_record(entry, [&](auto add) { add(o.builder); });
  }
  for (const auto& [subject, o] : open) close(subject);
  return out;
}

GeneratedLog rebatch(const GeneratedLog& log, std::size_t most) {
  GeneratedLog out;
  schemas::Decoder decoder;
  struct Open {
    EntryBuilder builder;
    std::string attempt, node, origin;
    Time arrival, appended;
    std::size_t records = 0;
  };
  std::map<std::string, Open> open;  // by subject
  std::map<std::string, stream::Duplicates> duplicates;
  std::map<std::pair<std::string, std::string>, std::uint64_t> offsets;
  const auto close = [&](const std::string& subject) {
    Open& o = open[subject];
    if (std::exchange(o.records, 0) == 0) return;
    o.builder.about(subject, o.attempt, o.node);
    stream::Entry entry = o.builder.entry();
    if (!o.origin.empty())
      entry.origin_source = o.origin, entry.origin_offset = ++offsets[{subject, o.origin}], entry.arrival = o.arrival;
    out.messages.push_back({schemas::encode(entry), o.appended, subject});
    o.builder.clear();
  };
  for (std::size_t i = 0; i < log.messages.size(); ++i) {
    const auto& message = log.messages[i];
    const stream::Entry& entry = decoded(decoder, log, i);
    for (const auto& [subject, o] : open)
      if (entry.subject.empty() || o.appended < message.arrival) close(subject);
    if (entry.subject.empty()) {
      out.messages.push_back(message);
      continue;
    }
    const std::string subject{entry.subject};
    if (duplicates[subject].repeated(entry)) continue;
    Open& o = open[subject];
    if (o.attempt != entry.attempt || o.node != entry.node || o.origin != entry.origin_source ||
        o.arrival != entry.arrival || starts_or_ends(entry))
      close(subject);
    o.attempt = entry.attempt, o.node = entry.node, o.origin = entry.origin_source;
    o.arrival = entry.arrival, o.appended = message.arrival;
    each_record(entry, [&](auto add) {
      if (o.records == most) close(subject);
      add(o.builder), ++o.records;
    });
    if (starts_or_ends(entry)) close(subject);
  }
  for (const auto& [subject, o] : open) close(subject);
  return out;
}

}  // namespace tocsin::tests
