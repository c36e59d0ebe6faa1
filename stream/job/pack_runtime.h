#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/ports.h"
#include "stream/rules/script_runtime.h"

namespace tocsin::stream {

// The nodes of a pack's graph that decide what a history retains: windows, their reductions, and windows of scripted
// rules.
struct RetainedNodes {
  std::vector<NodeId> reductions, windows, open;
};

// What judging by a pack changes besides the attempts: the graph and host of its scripted rules, and what its
// extractors work in. One for each shard and pack. Shared by the attempts that the pack judges, and gone with the last
// of them.
class PackRuntime {
 public:
  explicit PackRuntime(LoadedPack pack)
      : pack_(std::move(pack)),
        scripts_(pack_.pack),
        extraction_(pack_.extraction ? pack_.extraction->open() : nullptr) {}

  [[nodiscard]] const PackPtr& pack() const noexcept { return pack_.pack; }
  [[nodiscard]] ScriptRuntime& scripts() noexcept { return scripts_; }
  // Of a job, or of the cluster; all jobs have the same, which are found once.
  [[nodiscard]] const RetainedNodes& retained(std::string_view subject);
  // Null where the pack extracts nothing. The runtime outlives it.
  [[nodiscard]] std::unique_ptr<Extractor> make_extractor() { return extraction_ ? extraction_->make() : nullptr; }

 private:
  LoadedPack pack_;
  ScriptRuntime scripts_;
  std::unique_ptr<Extraction> extraction_;
  std::optional<RetainedNodes> of_job_, of_cluster_;
};

// The runtimes that the attempts of one shard use.
// Owned by the Shard.
class PackRuntimes {
 public:
  [[nodiscard]] std::shared_ptr<PackRuntime> of(const LoadedPack& pack) {
    const Key key{pack.pack.get(), pack.extraction.get()};
    if (const auto found = in_use_.find(key); found != in_use_.end())
      if (auto runtime = found->second.lock()) return runtime;
    std::erase_if(in_use_, [](const auto& entry) { return entry.second.expired(); });
    auto runtime = std::make_shared<PackRuntime>(pack);
    in_use_[key] = runtime;
    return runtime;
  }

 private:
  // A runtime holds its pack, so that as long as it lives no other pack can have its address.
  using Key = std::pair<const Pack*, const ExtractorSource*>;
  std::map<Key, std::weak_ptr<PackRuntime>> in_use_;
};

}  // namespace tocsin::stream
