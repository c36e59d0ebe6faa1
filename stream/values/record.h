#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "stream/values/signal.h"
#include "stream/values/time.h"

namespace tocsin::stream {

// The reserved subject whose members are all nodes and GPUs. Its one attempt never ends by itself; where a record of it
// names an attempt, that is the job that ran on the record's node.
inline constexpr std::string_view cluster_subject = "cluster";

// The member that a record is about, as its producer names it. Only the fields of `level` and of coarser levels are
// set.
struct MemberKey {
  Level level = Level::job;
  std::uint32_t rank = 0;  // of level rank
  std::string_view node;   // of level node and gpu; optional for a rank
  std::string_view gpu;    // of level gpu: PCI address, index or UUID; optional for a rank

  friend bool operator==(const MemberKey&, const MemberKey&) = default;
};

// A block of samples: values as [time][member][signal]. One rank, the eight GPUs of a node and a slice of 1,024 ranks
// have one form. Values are numbers; of a text state, an index into `texts`. A clear bit in `present` is an absence
// (empty: all are present).
struct SampleBlock {
  struct Signal {
    std::string_view name;
    std::string_view unit;
    SignalKind kind;
  };
  std::string_view layout;  // the signals as one byte string, which is compared for each message and parsed only if new
  std::span<const Signal> signals;
  std::span<const MemberKey> members;
  std::span<const Time> times;
  std::span<const float> narrow;  // exactly one of narrow and wide has times × members × signals values
  std::span<const double> wide;
  std::span<const std::uint8_t> present;  // bit i of the value order, least significant first
  std::span<const std::string_view> texts;
  std::string_view source;      // the source that these records cover; empty: the signal's own
  std::string_view membership;  // the members as one byte string, as `layout`; empty: compare `members`
  bool remembered = false;      // `members` and `membership` stay while the entry's `names` are held

  [[nodiscard]] std::size_t size() const noexcept { return times.size() * members.size() * signals.size(); }
  [[nodiscard]] bool has(std::size_t i) const noexcept { return present.empty() || (present[i / 8] >> (i % 8) & 1); }
  [[nodiscard]] double value(std::size_t i) const noexcept {
    return narrow.empty() ? wide[i] : static_cast<double>(narrow[i]);
  }
};

struct LineRecord {
  Time time{};
  MemberKey member;           // rank, node, or the job where no rank is known
  bool error_stream = false;  // stderr
  std::string_view text;      // bytes as read, without the newline: can hold NUL and invalid UTF-8
  std::string_view source{};  // the source that the line covers; empty: "log", that of the ranks
};

// Such an event defines the job; all others are measured on it.
[[nodiscard]] inline bool shapes_the_job(std::string_view event) noexcept {
  return event == "start" || event == "member" || event == "exit" || event == "end";
}

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

// A collector of `source` covers these members; an empty list: the whole job.
struct CoverageRecord {
  std::string_view source;
  std::span<const MemberKey> members;
};

// Beats further apart are a gap: nobody could write.
inline constexpr Duration widest_beat = std::chrono::seconds{5};

// What a watermark says of a source that has ended: it has been read to the end of time, and nothing waits for it.
inline constexpr Time source_ended = at_nanoseconds(std::int64_t{1} << 62);

struct ControlRecord {
  enum class Kind : std::uint8_t { beat, watermark, pack, seal };
  Kind kind = Kind::beat;
  std::string_view source;  // of a watermark
  Time read_up_to{};        // of a watermark: the source's append time
  Time gap_from{};  // of a watermark: nobody could write at the source from then to read_up_to; Time{}: somebody could
  std::string_view pack_hash;  // of a pack
  Time pack_from{};
  std::string_view pack_text;  // its files, content-addressed; can be empty if the log has them already
};

enum class Position : std::uint64_t {};  // of an entry in its log: an offset, or a journal's byte count

enum class RecordKind : std::uint8_t { samples, line, event, coverage };

// One log entry, decoded. Spans and views point into the decoder's own buffer and last one call, except for what lies
// in `names`.
struct Entry {
  Position position{};
  Position next{};  // where reading continues after it
  Time appended{};  // the time of the append to this log, which its clock follows
  Time arrival{};   // the same; of a re-keyed record its append time at the source, which only its own subject uses

  std::string_view producer;  // empty: none
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;      // duplicates are recognized by (producer, epoch, sequence); 0: not numbered
  std::string_view origin_source;  // of a re-keyed record: topic/partition; empty: written directly
  std::uint64_t origin_offset = 0;

  std::string_view subject;  // the job; empty for a control record
  std::string_view attempt;  // empty: the attempt that is current at its arrival
  std::string_view node;     // the node that wrote it; empty: unknown

  std::span<const SampleBlock> samples;
  std::span<const LineRecord> lines;
  std::span<const EventRecord> events;
  std::span<const CoverageRecord> coverage;
  std::span<const ControlRecord> controls;
  // In which order its blocks and records were made: the kind of each in turn. Empty: events that shape the job,
  // samples, lines, other events, coverage. The job's end is last, wherever it stands.
  std::span<const RecordKind> order;
  std::uint32_t rejected_blocks = 0;  // torn or malformed; the rest of the entry is valid
  // What the layouts and signals of its blocks lie in, and members that are remembered. Who keeps them for longer holds
  // it; null: they last one call, too.
  const std::shared_ptr<const void>* names = nullptr;
};

// Each block of samples, line, event and coverage record in the entry's order.
template <class See>
void in_order(const Entry& entry, See&& see) {
  if (entry.order.empty()) {
    const auto events = [&](auto which) {
      for (const EventRecord& event : entry.events)
        if (which(event.name)) see(event);
    };
    events([](std::string_view name) { return shapes_the_job(name) && name != "end"; });
    for (const SampleBlock& block : entry.samples) see(block);
    for (const LineRecord& line : entry.lines) see(line);
    events([](std::string_view name) { return !shapes_the_job(name); });
    for (const CoverageRecord& coverage : entry.coverage) see(coverage);
    events([](std::string_view name) { return name == "end"; });
  }
  std::size_t samples = 0, lines = 0, events = 0, coverage = 0;
  for (const RecordKind kind : entry.order) switch (kind) {
      case RecordKind::samples: see(entry.samples[samples++]); break;
      case RecordKind::line: see(entry.lines[lines++]); break;
      case RecordKind::event: see(entry.events[events++]); break;
      case RecordKind::coverage: see(entry.coverage[coverage++]); break;
    }
}

}  // namespace tocsin::stream
