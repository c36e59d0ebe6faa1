#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "adapters/packs/shared_texts.h"
#include "dsl/load/loader.h"
#include "stream/ports.h"

namespace tocsin::adapters::packs {

// The packs that logs name, by their hash, compiled on a thread of the store's own; one that nobody announced by the
// thread that asks for it. Kept are the texts of the ten newest, of those that somebody uses, and of those that a Hold
// names; compiled are those that somebody uses or that come into force next. One that is only a text is compiled again
// when a Hold names it as one of these, or when it is asked for. A store without holds keeps all. Shared by the shards
// of a process: each of its functions may be called by any thread.
class PackStore final : public stream::PackSource {
 public:
  // `report` is called once for each pack that cannot be had, by a thread that asked for it, and never twice at the
  // same time. It must not call the store.
  using Report = std::function<void(std::string_view hash, const stream::Error& why)>;
  explicit PackStore(Report report = {}, dsl::Budgets budgets = {});
  ~PackStore() override;  // what is not compiled yet is dropped; nobody may be waiting for it

  void prepare(std::string_view hash, std::string_view text) override;
  [[nodiscard]] stream::Result<stream::LoadedPack> pack(std::string_view hash) override;
  void remember(std::string_view hash, std::string_view text) override;
  [[nodiscard]] stream::Result<std::string> text(std::string_view hash) override;
  // A pack that was compiled elsewhere.
  void add(const stream::LoadedPack& pack);
  [[nodiscard]] std::uint64_t compiled() const;    // how many texts were compiled so far
  [[nodiscard]] std::size_t kept() const;          // packs, those that cannot be had included
  [[nodiscard]] std::size_t compiled_now() const;  // of them
  [[nodiscard]] std::size_t text_bytes() const;    // of texts of which no compiled pack is kept

  // What a shard may still ask for: what its log names, and whatever was prepared since the shard last answered for its
  // log. Owned by whoever runs the shard; touched by its thread alone. The store outlives it.
  class Hold {
   public:
    explicit Hold(PackStore& store);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    // `texts`: what may be asked for; `compiled`: what judges, or comes into force next.
    void needs(const std::vector<std::string>& texts, const std::vector<std::string>& compiled = {});

   private:
    PackStore* store_;
  };

 private:
  struct Known {
    std::uint64_t named = 0;  // when it was last prepared, added or asked for: the store's count
    bool has_text = false;    // else the result is why there is none
    SharedText text;          // as long as there is no compiled pack, which has it
    bool queued = false;      // it waits for its turn, or is being compiled
    std::optional<stream::Result<stream::LoadedPack>> result;  // empty: it is not compiled
    bool reported = false;
    unsigned waiting = 0;  // who asked for the result and does not have it yet
  };
  struct Held {
    std::uint64_t answered = 0;  // the store's count then
    std::set<std::string, std::less<>> texts, compiled;
  };
  Known& named(std::string_view hash);
  Known* with_text(std::string_view hash, std::string_view text, bool right);  // null: the text is another's
  void compile_soon(const std::string& hash, Known& known);
  [[nodiscard]] bool held(std::set<std::string, std::less<>> Held::*which, const std::string& hash) const;
  void forget_unneeded();
  void forget_texts(std::uint64_t answered);
  void work();
  void compile_now(Known& known, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] stream::Result<stream::LoadedPack> compile_text(const std::string& text) const;

  const Report report_;
  const dsl::Budgets budgets_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::map<std::string, Known, std::less<>> known_;
  std::deque<std::string> queue_;  // hashes
  std::map<const Hold*, Held> holds_;
  SharedTexts texts_;
  std::vector<stream::LoadedPack> unneeded_;  // to be destroyed, which takes milliseconds
  std::uint64_t compiled_ = 0, count_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tocsin::adapters::packs
