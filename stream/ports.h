#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stream/extractor.h"
#include "stream/rules/alert.h"
#include "stream/rules/pack.h"
#include "stream/values/record.h"
#include "stream/values/result.h"
#include "stream/values/section.h"

namespace tocsin::stream {

// A compiled pack and its extraction of log lines. Constant: several shards may share one.
struct LoadedPack {
  PackPtr pack;
  std::shared_ptr<const Extraction> extraction;
};

// Compiles the packs that the pack records of a log name. A shard announces a pack when it reads the record and asks
// for it when the pack takes effect, because compiling takes longer than a shard may wait between two records. Shared
// by several shards.
class PackSource {
 public:
  virtual ~PackSource() = default;
  // Announces a pack: it may be compiled on another thread from now on. Never waits.
  virtual void prepare(std::string_view hash, std::string_view text) = 0;
  // Waits until the pack is compiled. After an error the shard keeps the pack in use and counts the refusal.
  [[nodiscard]] virtual Result<LoadedPack> pack(std::string_view hash) = 0;
  // Announces a pack that a restore may need: it is compiled only if a shard asks for it.
  virtual void remember(std::string_view hash, std::string_view text) { prepare(hash, text); }
  // The text of a pack. Compiles nothing.
  [[nodiscard]] virtual Result<std::string> text(std::string_view hash) {
    const auto had = pack(hash);
    return had ? Result<std::string>{had->pack->text} : had.error();
  }
};

// The state of a shard, by section: "" is the shard's own, every other name is a subject. In a bundle, an empty section
// means that the shard has forgotten the subject.
using Sections = std::map<std::string, Section>;
using Report = std::variant<AlertTransition, Verdict>;
struct PackText {
  std::string hash, text;  // the text is empty in a bundle if the sink has it
};

// Reports and state that a sink stores atomically: the whole bundle or nothing.
struct Bundle {
  std::vector<Report> reports;  // in the order in which they were made
  Sections sections;            // changed since they were stored last, and due
  std::vector<PackText> packs;  // all packs that a restore from these sections needs
  Position position{};          // the first entry that the sections do not include; meaningless without sections
};

// Stores bundles: on a disk, or in a transaction of the broker. The sink publishes the reports of a stored bundle, and
// never receives it again. After an error it receives the bundle again.
class BundleSink {
 public:
  virtual ~BundleSink() = default;
  virtual Result<void> keep(const Bundle& bundle) = 0;
  // True if the stored state has the text of this pack: a bundle then has the hash alone.
  [[nodiscard]] virtual bool has_pack(std::string_view) const { return false; }
};

// The newest version of each section, and the position of the last bundle that had sections.
struct Stored {
  Sections sections;
  std::vector<PackText> packs;
  Position position{};
};
class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;
  // nullopt if nothing was ever stored. State that cannot be read is an error, never an empty state.
  virtual Result<std::optional<Stored>> newest() = 0;
};

// Reads the entries of a log in order.
class LogReader {
 public:
  virtual ~LogReader() = default;
  // The next entry, valid until the next call; nullptr at the end of the log, which may grow: call again to follow it.
  virtual Result<const Entry*> next() = 0;
  virtual Result<void> seek(Position position) = 0;
  virtual Result<Position> oldest() = 0;  // of the entries that retention has left
};

}  // namespace tocsin::stream
