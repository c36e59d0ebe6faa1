#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "schemas/codec.h"
#include "schemas/envelope_head.h"
#include "schemas/interned.h"
#include "schemas/layout.h"
#include "schemas/limits.h"
#include "schemas/message_template.h"
#include "schemas/verified_reader.h"
#include "telemetry_generated.h"

namespace tocsin::schemas {

static_assert(sizeof(stream::Time) == sizeof(std::int64_t), "times are read where they lie");

inline stream::Time sane(std::int64_t time) {
  return stream::at_nanoseconds(std::clamp(time, earliest_time, latest_time));
}

// A span of one of the decoder's arrays, which can move while it grows.
struct Range {
  std::size_t begin = 0, count = 0;
  template <class T>
  [[nodiscard]] std::span<const T> of(const std::vector<T>& array) const {
    return std::span{array}.subspan(begin, count);
  }
};

inline constexpr flatbuffers::Verifier::Options verifier_options{.max_depth = 4, .max_tables = 4'096};
inline constexpr std::size_t most_layouts = 4'096, most_memberships = 16'384, few_members = 4,
                             most_kept_members = 4u << 20;

// The inside of a Decoder: the message, and what was read of it.
struct Decoder::State {
  std::vector<std::uint64_t> buffer;  // of the message, aligned
  std::size_t size = 0;
  stream::Entry entry;
  std::int64_t origin_arrival = 0;

  std::vector<stream::SampleBlock> samples;
  std::vector<stream::LineRecord> lines;
  std::vector<stream::EventRecord> events;
  std::vector<stream::CoverageRecord> coverage;
  std::vector<stream::ControlRecord> controls;
  std::vector<std::string_view> texts;
  std::vector<stream::EventRecord::Field> fields;
  std::vector<stream::MemberKey> members, line_members;
  std::deque<std::vector<stream::Time>> moved_times;
  struct BlockRanges {
    Range members, texts;
  };
  std::vector<BlockRanges> sample_ranges;  // one per record, as the next two; the spans are set at the end
  std::vector<Range> event_fields, covered_members;

  MessageTemplates templates;
  const MessageTemplates::MessageTemplate* constant = nullptr;  // the template whose head the entry has
  std::vector<SampleParts> found;                               // of this message
  struct Names {
    Interned<Layout> layouts;
    Interned<std::vector<stream::MemberKey>> memberships;
    std::size_t kept_members = 0;
  };
  std::shared_ptr<Names> names = std::make_shared<Names>();
  std::shared_ptr<const void> shown_names = names;  // as the entry gives them
  std::vector<std::uint64_t> came;                  // hashes of lists of members that came, each at its places; 0: none
  std::size_t unclaimed = 0;   // bytes of the message that no block has claimed yet: none is used twice
  std::size_t expandable = 0;  // members that can still be named without values

  [[nodiscard]] std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(buffer.data()); }

  void copy(std::span<const std::byte> message) {
    size = message.size();
    if (buffer.size() * 8 < size) {
      buffer.resize(size / 8 + 1);
      templates.forget();
    }
    std::memcpy(buffer.data(), message.data(), size);
    samples.clear(), sample_ranges.clear(), members.clear(), texts.clear();
    if (!moved_times.empty()) moved_times.clear();
    if (names->layouts.size() > most_layouts || names->memberships.size() > most_memberships ||
        names->kept_members > most_kept_members)
      shown_names = names = std::make_shared<Names>();
  }
  void begin(std::span<const std::byte> message) {
    copy(message);
    constant = nullptr;
    found.clear(), lines.clear(), events.clear(), coverage.clear(), controls.clear();
    fields.clear(), event_fields.clear(), covered_members.clear();
    entry = {};
    origin_arrival = 0;
    unclaimed = size;
    expandable = most_members;
  }

  // A list of members that comes again will probably come more often. Each has two places, as lists that come in turn
  // would take a single one from each other for ever.
  bool comes_again(std::uint64_t hash) {
    constexpr std::size_t places = 16'384;
    if (came.empty()) came.resize(places, 0);
    std::uint64_t &one = came[hash % places], &other = came[(hash >> 32) % places];
    if (one == hash || other == hash) return true;
    one = other = hash;
    return false;
  }
  bool claim(std::size_t wanted) {
    if (wanted > unclaimed) return false;
    unclaimed -= wanted;
    return true;
  }

  // Times in place in the message, or a copy within bounds. Never changed in place: what was verified stays as it was.
  std::span<const stream::Time> sane_times(std::span<const std::int64_t> times) {
    bool all_sane = true;
    for (const auto time : times) all_sane &= time >= earliest_time && time <= latest_time;
    if (all_sane) return {reinterpret_cast<const stream::Time*>(times.data()), times.size()};
    auto& copy = moved_times.emplace_back();
    for (const auto time : times) copy.push_back(sane(time));
    return copy;
  }

  // Each of these reads one block; false: it is torn or malformed, and changed nothing. All but the first are verified.
  bool find_samples(const flatbuffers::Table& from, SampleParts& parts);  // verified
  bool read_samples(const SampleParts& parts);
  bool read(const fb::LineBlock& from);
  bool read(const fb::Event& from);
  bool read(const fb::Coverage& from);
  bool read(const fb::Control& from);

  template <class Table>
  void read_all(const flatbuffers::Vector<flatbuffers::Offset<Table>>* tables) {
    for (flatbuffers::uoffset_t i = 0, count = static_cast<flatbuffers::uoffset_t>(size_of(tables)); i < count; ++i) {
      const Table* table = tables->Get(i);
      if constexpr (std::is_same_v<Table, fb::SampleBlock>) {
        SampleParts parts;
        if (!find_samples(*reinterpret_cast<const flatbuffers::Table*>(table), parts)) {
          ++entry.rejected_blocks;
          continue;
        }
        found.push_back(parts);
        if (!read_samples(parts)) ++entry.rejected_blocks;
      } else {
        flatbuffers::Verifier verifier{bytes(), size, verifier_options};
        if (!table->Verify(verifier) || !read(*table)) ++entry.rejected_blocks;
      }
    }
  }

  void settle_samples();
  void settle();
  void read_order(std::span<const std::uint8_t> order);

  // A message with a known template: reads its numbers and texts.
  void read_constant(std::span<const std::byte> message, const MessageTemplates::MessageTemplate& message_template);
  void remember(const flatbuffers::Table& root, const EnvelopeHead& head);
};

}  // namespace tocsin::schemas
