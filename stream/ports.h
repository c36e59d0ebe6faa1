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

namespace tocsin::stream {

// A pack with the extraction that belongs to it, as a shard runs it. Constant: several shards may have the same.
struct LoadedPack {
  PackPtr pack;
  std::shared_ptr<const ExtractorSource> extraction;
};

// Gives the packs that a log's pack records name. Compiling one takes longer than a shard may wait between two records,
// so a pack is announced when its record is read, and asked for when it is due. Shared by several shards.
class PackSource {
 public:
  virtual ~PackSource() = default;
  // A pack record was read: its text may be compiled from now on, elsewhere. Never waits.
  virtual void prepare(std::string_view hash, std::string_view text) = 0;
  // The pack is due: waits until it is compiled. The error says why it cannot be had; the pack in use then stays
  // (counted).
  [[nodiscard]] virtual Result<LoadedPack> pack(std::string_view hash) = 0;
  // The text of a pack that was read before: it may be asked for, and is compiled only then.
  virtual void remember(std::string_view hash, std::string_view text) { prepare(hash, text); }
  // The text of a pack, as long as it can be had; nothing is compiled for it.
  [[nodiscard]] virtual Result<std::string> text(std::string_view hash) {
    const auto had = pack(hash);
    return had ? Result<std::string>{had->pack->text} : had.error();
  }
};

// The state of a shard by section: its own (""), then one a subject. In a bundle an empty one says that the subject is
// gone.
using Sections = std::map<std::string, std::vector<std::byte>>;
using Report = std::variant<AlertTransition, Verdict>;
struct PackText {
  std::string hash, text;  // in a bundle no text stands for one that the sink has
};

// What a shard hands over at once: it is kept whole or not at all.
struct Bundle {
  std::vector<Report> reports;  // in the order in which they were made
  Sections sections;            // that changed and were due
  std::vector<PackText> packs;  // that the state with these sections needs
  Position position{};  // that the sections belong to: the first entry that they do not hold. Without sections it says
                        // nothing
};

// Where bundles go: a disk, or a transaction of the broker. Once kept, a bundle is published and never handed over
// again; after an error it is, with what came since.
class BundleSink {
 public:
  virtual ~BundleSink() = default;
  virtual Result<void> keep(const Bundle& bundle) = 0;
  // Whether the state that it keeps holds the text of this pack: a bundle then only names it.
  [[nodiscard]] virtual bool has_pack(std::string_view) const { return false; }
};

// The newest of each section that was kept, and the position that was handed over with the last of them.
struct Stored {
  Sections sections;
  std::vector<PackText> packs;
  Position position{};
};
class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;
  // nullopt: nothing was ever kept. What cannot be read is an error, never an empty state.
  virtual Result<std::optional<Stored>> newest() = 0;
};

// A log as entries, from its oldest on.
class LogReader {
 public:
  virtual ~LogReader() = default;
  // The next entry, valid until the next call; nullptr: at the end of what is written (ask again to follow).
  virtual Result<const Entry*> next() = 0;
  virtual Result<void> seek(Position position) = 0;
  virtual Result<Position> oldest() = 0;  // where what is left begins
};

}  // namespace tocsin::stream
