#include "adapters/packs/pack_store.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "adapters/packs/compile.h"

namespace tocsin::adapters::packs {

using stream::Errc;
using stream::Error;
using stream::LoadedPack;
using stream::Result;

namespace {
constexpr std::size_t newest_kept = 10;
}  // namespace

PackStore::PackStore(Report report, dsl::Budgets budgets) : report_(std::move(report)), budgets_(budgets), thread_([this] { work(); }) {}

PackStore::~PackStore() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// A record without a text names a pack that an earlier one carried, or that was added. Of texts that are not what their hash says,
// none is taken: the right one may still come.
void PackStore::prepare(std::string_view hash, std::string_view text) {
  if (text.empty()) return;
  const bool right = dsl::pack_hash(text) == hash;
  const std::lock_guard lock{mutex_};
  Known& known = named(hash);
  if (known.has_text) return;
  if (!right) {
    known.result = Error{Errc::refused, "the text that came with it is another pack's"};
    return;
  }
  known.has_text = true;
  known.result.reset();
  queue_.push_back({std::string{hash}, std::string{text}});
  changed_.notify_all();
}

Result<LoadedPack> PackStore::pack(std::string_view hash) {
  std::unique_lock lock{mutex_};
  Known& known = named(hash);  // a reference into the map stays good: what somebody waits for is not forgotten
  if (!known.has_text && !known.result) known.result = Error{Errc::not_found, "its text did not come with it"};
  ++known.waiting;
  changed_.wait(lock, [&] { return known.result.has_value(); });
  --known.waiting;
  if (!*known.result && !std::exchange(known.reported, true) && report_) report_(hash, known.result->error());
  return *known.result;
}

void PackStore::add(const LoadedPack& pack) {
  const std::lock_guard lock{mutex_};
  Known& known = named(pack.pack->hash);
  if (!known.result || !*known.result) known.result = pack;  // one that is there stays: shards compare packs by their address
  known.has_text = true;
  changed_.notify_all();
}

std::uint64_t PackStore::compiled() const {
  const std::lock_guard lock{mutex_};
  return compiled_;
}

std::size_t PackStore::kept() const {
  const std::lock_guard lock{mutex_};
  return known_.size();
}

PackStore::Known& PackStore::named(std::string_view hash) {
  Known& known = known_[std::string{hash}];
  known.named = ++count_;
  return known;
}

// What nobody uses or names, and was last named before every shard answered for its log. A pack that only the store has cannot gain a
// user meanwhile: that takes the lock.
void PackStore::forget_unneeded() {
  if (known_.size() <= newest_kept) return;
  std::uint64_t answered = count_;
  for (const auto& [hold, held] : holds_) answered = std::min(answered, held.answered);
  std::vector<std::uint64_t> ages;
  for (const auto& [hash, known] : known_) ages.push_back(known.named);
  std::nth_element(ages.begin(), ages.end() - newest_kept, ages.end());
  const std::uint64_t oldest_of_newest = *(ages.end() - newest_kept);
  std::erase_if(known_, [&](const auto& one) {
    const auto& [hash, known] = one;
    if (known.named >= oldest_of_newest || known.named > answered || !known.result || known.waiting > 0) return false;
    if (*known.result && (*known.result)->pack.use_count() > 1) return false;
    return std::none_of(holds_.begin(), holds_.end(), [&](const auto& hold) { return hold.second.hashes.contains(hash); });
  });
}

PackStore::Hold::Hold(PackStore& store) : store_(&store) {
  const std::lock_guard lock{store.mutex_};
  store.holds_[this].answered = store.count_;
}

PackStore::Hold::~Hold() {
  const std::lock_guard lock{store_->mutex_};
  store_->holds_.erase(this);
}

void PackStore::Hold::needs(const std::vector<std::string>& hashes) {
  const std::lock_guard lock{store_->mutex_};
  store_->holds_[this] = {store_->count_, {hashes.begin(), hashes.end()}};
  store_->forget_unneeded();
}

void PackStore::work() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const Job job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    auto result = compile_text(job.text);
    lock.lock();
    ++compiled_;
    if (Known& known = known_[job.hash]; !known.result) known.result = std::move(result);
    changed_.notify_all();
  }
}

Result<LoadedPack> PackStore::compile_text(const std::string& text) const {
  try {
    const auto files = dsl::pack_files(text);
    if (!files) return files.error();
    PackOutcome outcome = compile(*files, budgets_);
    if (outcome.pack) return std::move(*outcome.pack);
    return Error{Errc::refused, dsl::list(outcome.errors())};
  } catch (const std::exception& error) {  // no memory for it
    return Error{Errc::refused, error.what()};
  }
}

}  // namespace tocsin::adapters::packs
