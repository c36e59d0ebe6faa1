#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "stream/job/pack_timeline.h"
#include "stream/ports.h"
#include "stream/rules/script_runtime.h"
#include "stream/windows/retention.h"
#include "stream/windows/scratch.h"

namespace tocsin::stream {

// What judging by a pack changes besides the attempts: the graph and host of its scripted rules. One for each shard and
// pack. Shared by the attempts that the pack judges, and gone with the last of them.
class PackRuntime {
 public:
  explicit PackRuntime(PackPtr pack) : pack_(std::move(pack)), scripts_(pack_) {}

  [[nodiscard]] const PackPtr& pack() const noexcept { return pack_; }
  [[nodiscard]] ScriptRuntime& scripts() noexcept { return scripts_; }
  // Of a job, or of the cluster, all that its windows need or the rows alone; all jobs have the same, which are found
  // once.
  [[nodiscard]] const std::shared_ptr<const Retention>& retained(std::string_view subject, bool rows_only);
  // The working memory of their reductions.
  [[nodiscard]] const std::shared_ptr<ReductionScratch>& scratch() const noexcept { return scratch_; }

 private:
  PackPtr pack_;
  ScriptRuntime scripts_;
  std::shared_ptr<ReductionScratch> scratch_ = std::make_shared<ReductionScratch>();
  struct Retained {
    std::shared_ptr<const Retention> all, rows;
  };
  Retained of_job_, of_cluster_;
};

// The runtimes and extractions that the attempts of one shard use. Owned by the Shard.
class PackRuntimes {
 public:
  [[nodiscard]] std::shared_ptr<PackRuntime> of(const LoadedPack& pack) {
    // A runtime holds its pack, so that as long as it lives no other pack can have its address.
    return in_use(runtimes_, pack.pack.get(), [&] { return std::make_shared<PackRuntime>(pack.pack); });
  }
  // Null where the pack extracts nothing.
  [[nodiscard]] std::shared_ptr<Extraction> extraction(const LoadedPack& pack) {
    if (!pack.extraction) return nullptr;
    return in_use(extractions_, pack.extraction->hash(), [&] { return pack.extraction->open(); });
  }

 private:
  template <class Key, class T>
  static std::shared_ptr<T> in_use(std::map<Key, std::weak_ptr<T>>& all, const Key& key, const auto& make) {
    if (const auto found = all.find(key); found != all.end())
      if (auto one = found->second.lock()) return one;
    std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<T> one = make();
    all[key] = one;
    return one;
  }

  std::map<const Pack*, std::weak_ptr<PackRuntime>> runtimes_;
  std::map<std::uint64_t, std::weak_ptr<Extraction>> extractions_;  // by hash
};

// What the changes of a log's timeline stand for in one shard.
class PacksInUse {
 public:
  virtual ~PacksInUse() = default;
  // The runtime of a change's pack; where the pack cannot be had, of the one before it (counted).
  virtual std::shared_ptr<PackRuntime> runtime(const PackChange& change) = 0;
  // The extraction of that pack; null: it extracts nothing. Packs whose patterns and parsers are the same have one.
  virtual std::shared_ptr<Extraction> extraction(const PackChange& change) = 0;
};

}  // namespace tocsin::stream
