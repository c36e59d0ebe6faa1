#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stream/values/signal.h"
#include "stream/values/time.h"

namespace tocsin::stream {

// Whom a record is about, as its producer names it. Only the fields of `level` and coarser ones are set.
struct MemberKey {
  Level level = Level::job;
  std::uint32_t rank = 0;  // of level rank
  std::string_view node;   // of level node and gpu; may be known of a rank
  std::string_view gpu;    // of level gpu: PCI address, index or UUID; may be known of a rank

  friend bool operator==(const MemberKey&, const MemberKey&) = default;
};

// A block of samples: values as [time][member][signal]. One rank, a node's eight GPUs and a slice of 1,024 ranks have one form.
// Values are numbers; of a state of text, an index into `texts`. A clear bit in `present` is an absence (empty: all are there).
struct SampleBlock {
  struct Signal {
    std::string_view name;
    std::string_view unit;
    SignalKind kind;
  };
  std::string_view layout;  // the signals as one byte string: compared, not parsed, per message
  std::span<const Signal> signals;
  std::span<const MemberKey> members;
  std::span<const Time> times;
  std::span<const float> narrow;  // exactly one of narrow and wide has times × members × signals values
  std::span<const double> wide;
  std::span<const std::uint8_t> present;  // bit i of the value order, least significant first
  std::span<const std::string_view> texts;
  std::string_view source;      // what these records are covered for; empty: the signal's own
  std::string_view membership;  // the members as one byte string, as `layout`; empty: compare `members`

  [[nodiscard]] std::size_t size() const noexcept { return times.size() * members.size() * signals.size(); }
  [[nodiscard]] bool has(std::size_t i) const noexcept { return present.empty() || (present[i / 8] >> (i % 8) & 1); }
  [[nodiscard]] double value(std::size_t i) const noexcept { return narrow.empty() ? wide[i] : static_cast<double>(narrow[i]); }
};

struct LineRecord {
  Time time{};
  MemberKey member;           // rank, node, or the job where no rank is known
  bool error_stream = false;  // stderr
  std::string_view text;      // bytes as they came, without the newline: may hold NUL and invalid UTF-8
  std::string_view source{};  // what the line is covered for; empty: "log", the ranks' own
};

struct EventRecord {
  struct Field {
    std::string_view name;
    std::variant<double, std::string_view> value;
  };
  Time time{};
  MemberKey member;
  std::string_view name;
  std::string_view source;
  std::span<const Field> fields;
};

// A collector of `source` listens to these members; none: to the whole job.
struct CoverageRecord {
  std::string_view source;
  std::span<const MemberKey> members;
};

struct ControlRecord {
  enum class Kind : std::uint8_t { beat, watermark, pack, seal };
  Kind kind = Kind::beat;
  std::string_view source;     // of a watermark
  Time read_up_to{};           // of a watermark: the source's append time
  std::string_view pack_hash;  // of a pack
  Time pack_from{};
  std::string_view pack_text;  // its files, content-addressed; may be empty where the log has them already
};

enum class Position : std::uint64_t {};  // of an entry in its log: an offset, or a journal's byte count

// One log entry, decoded. Spans and views point into `Decoded`'s own buffer and last one call.
struct Entry {
  Position position{};
  Position next{};  // where reading goes on after it
  Time appended{};  // to this log: what its clock goes by
  Time arrival{};   // the same; for a record that was re-keyed its append time at the source, which only its own subject sees

  std::string_view producer;  // empty: none
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;      // duplicates are known by (producer, epoch, sequence); 0: not numbered
  std::string_view origin_source;  // of a re-keyed record: topic/partition; empty: written directly
  std::uint64_t origin_offset = 0;

  std::string_view subject;  // the job; empty for a control record
  std::string_view attempt;  // empty: the one current at its arrival
  std::string_view node;     // where it was made; empty: unknown

  std::span<const SampleBlock> samples;
  std::span<const LineRecord> lines;
  std::span<const EventRecord> events;
  std::span<const CoverageRecord> coverage;
  std::span<const ControlRecord> controls;
  std::uint32_t rejected_blocks = 0;  // torn or malformed; the rest of the entry stands
};

}  // namespace tocsin::stream
