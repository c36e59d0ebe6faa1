#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "dsl/loader.h"
#include "stream/ports.h"

namespace tocsin::adapters::packs {

// The packs that logs name, each compiled once, on a thread of the store's own, and kept by its hash.
// Shared by the shards of a process: each of its functions may be called by any thread.
class PackStore final : public stream::PackSource {
 public:
  // `report` is called once for each pack that cannot be had, by a thread that asked for it, and never twice at the same time. It must
  // not call the store.
  using Report = std::function<void(std::string_view hash, const stream::Error& why)>;
  explicit PackStore(Report report = {}, dsl::Budgets budgets = {});
  ~PackStore() override;  // what is not compiled yet is dropped; nobody may be waiting for it

  void prepare(std::string_view hash, std::string_view text) override;
  [[nodiscard]] stream::Result<stream::LoadedPack> pack(std::string_view hash) override;
  // A pack that was compiled elsewhere.
  void add(const stream::LoadedPack& pack);
  [[nodiscard]] std::uint64_t compiled() const;  // how many texts were compiled so far

 private:
  struct Known {
    bool has_text = false;                                     // which is compiled, or will be; else the result is why there is none
    std::optional<stream::Result<stream::LoadedPack>> result;  // empty: it waits for its turn, or is being compiled
    bool reported = false;
  };
  struct Job {
    std::string hash, text;
  };
  void work();
  [[nodiscard]] stream::Result<stream::LoadedPack> compile_text(const std::string& text) const;

  const Report report_;
  const dsl::Budgets budgets_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::map<std::string, Known, std::less<>> known_;
  std::deque<Job> queue_;
  std::uint64_t compiled_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tocsin::adapters::packs
