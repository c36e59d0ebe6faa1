#include "adapters/packs/pack_store.h"

#include <malloc.h>

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

PackStore::PackStore(Report report, dsl::Budgets budgets)
    : report_(std::move(report)), budgets_(budgets), thread_([this] { work(); }) {}

PackStore::~PackStore() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// A record without a text names a pack that an earlier one carried, or that was added. Of texts that are not what their
// hash says, none is taken: the right one may still come.
PackStore::Known* PackStore::with_text(std::string_view hash, std::string_view text, bool right) {
  Known& known = named(hash);
  if (known.has_text) return &known;
  if (!right) {
    known.result = Error{Errc::refused, "the text that came with it is another pack's"};
    return nullptr;
  }
  known.has_text = true;
  known.text = texts_.store(text);
  known.result.reset();
  return &known;
}

void PackStore::compile_soon(const std::string& hash, Known& known) {
  if (known.result || std::exchange(known.queued, true)) return;
  queue_.push_back(hash);
  changed_.notify_all();
}

void PackStore::prepare(std::string_view hash, std::string_view text) {
  if (text.empty()) return;
  const bool right = dsl::pack_hash(text) == hash;
  const std::lock_guard lock{mutex_};
  if (Known* known = with_text(hash, text, right)) compile_soon(std::string{hash}, *known);
}

void PackStore::remember(std::string_view hash, std::string_view text) {
  const bool right = dsl::pack_hash(text) == hash;
  const std::lock_guard lock{mutex_};
  (void)with_text(hash, text, right);
}

Result<LoadedPack> PackStore::pack(std::string_view hash) {
  std::unique_lock lock{mutex_};
  Known& known = named(hash);  // a reference into the map stays good: what somebody waits for is not forgotten
  if (!known.has_text && !known.result) known.result = Error{Errc::not_found, "its text did not come with it"};
  ++known.waiting;
  if (!known.result && !std::exchange(known.queued, true)) compile_now(known, lock);
  changed_.wait(lock, [&] { return known.result.has_value(); });
  --known.waiting;
  if (!*known.result && !std::exchange(known.reported, true) && report_) report_(hash, known.result->error());
  return *known.result;
}

Result<std::string> PackStore::text(std::string_view hash) {
  const std::lock_guard lock{mutex_};
  const auto known = known_.find(hash);
  if (known == known_.end() || !known->second.has_text) return Error{Errc::not_found, "its text did not come with it"};
  const auto& result = known->second.result;
  return result && *result ? (*result)->pack->text : known->second.text.whole();
}

void PackStore::add(const LoadedPack& pack) {
  const std::lock_guard lock{mutex_};
  Known& known = named(pack.pack->hash);
  if (!known.result || !*known.result)
    known.result = pack;  // one that is there stays: shards compare packs by their address
  known.has_text = true;
  known.text = {};
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

std::size_t PackStore::compiled_now() const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::size_t>(std::count_if(
      known_.begin(), known_.end(), [](const auto& one) { return one.second.result && *one.second.result; }));
}

std::size_t PackStore::text_bytes() const {
  const std::lock_guard lock{mutex_};
  return texts_.bytes();
}

PackStore::Known& PackStore::named(std::string_view hash) {
  Known& known = known_[std::string{hash}];
  known.named = ++count_;
  return known;
}

bool PackStore::held(std::set<std::string, std::less<>> Held::*which, const std::string& hash) const {
  return std::any_of(holds_.begin(), holds_.end(),
                     [&](const auto& hold) { return (hold.second.*which).contains(hash); });
}

// What was last named before every shard answered for its log, and is neither used nor asked for. A pack that only the
// store has cannot gain a user meanwhile: that takes the lock.
void PackStore::forget_unneeded() {
  std::uint64_t answered = count_;
  for (const auto& [hold, held] : holds_) answered = std::min(answered, held.answered);
  for (auto& [hash, known] : known_) {
    if (known.named > answered || known.queued || known.waiting > 0 || !known.has_text || !known.result ||
        !*known.result)
      continue;
    if ((*known.result)->pack.use_count() > 1 || held(&Held::compiled, hash)) continue;
    known.text = texts_.store((*known.result)->pack->text);
    unneeded_.push_back(std::move(**known.result));
    known.result.reset();
    changed_.notify_all();
  }
  forget_texts(answered);
  texts_.forget_unused();
}

void PackStore::forget_texts(std::uint64_t answered) {
  if (known_.size() <= newest_kept) return;
  std::vector<std::uint64_t> ages;
  for (const auto& [hash, known] : known_) ages.push_back(known.named);
  std::nth_element(ages.begin(), ages.end() - newest_kept, ages.end());
  const std::uint64_t oldest_of_newest = *(ages.end() - newest_kept);
  std::erase_if(known_, [&](const auto& one) {
    const auto& [hash, known] = one;
    if (known.named >= oldest_of_newest || known.named > answered || known.queued || known.waiting > 0) return false;
    if (known.result && *known.result) return false;
    return !held(&Held::texts, hash);
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

void PackStore::Hold::needs(const std::vector<std::string>& texts, const std::vector<std::string>& compiled) {
  const std::lock_guard lock{store_->mutex_};
  store_->holds_[this] = {store_->count_, {texts.begin(), texts.end()}, {compiled.begin(), compiled.end()}};
  for (const std::string& hash : compiled)
    if (const auto known = store_->known_.find(hash); known != store_->known_.end() && known->second.has_text)
      store_->compile_soon(hash, known->second);
  store_->forget_unneeded();
}

void PackStore::work() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty() || !unneeded_.empty(); });
    if (stopping_) return;
    if (auto unneeded = std::exchange(unneeded_, {}); !unneeded.empty()) {
      lock.unlock();
      unneeded.clear();
      ::malloc_trim(0);  // each was made by another thread, whose arena keeps what is free
      lock.lock();
      continue;
    }
    const std::string hash = std::move(queue_.front());
    queue_.pop_front();
    compile_now(known_[hash], lock);
  }
}

// A reference to what is queued stays good: it is not forgotten.
void PackStore::compile_now(Known& known, std::unique_lock<std::mutex>& lock) {
  const std::string text = known.text.whole();
  lock.unlock();
  auto result = compile_text(text);
  lock.lock();
  ++compiled_;
  known.queued = false;
  if (!known.result) known.result = std::move(result);
  if (*known.result) known.text = {}, texts_.forget_unused();
  changed_.notify_all();
}

Result<LoadedPack> PackStore::compile_text(const std::string& text) const {
  try {
    const auto files = dsl::pack_files(text);
    if (!files) return files.error();
    PackOutcome outcome = compile(*files, budgets_, Origin::log);
    if (outcome.pack) return std::move(*outcome.pack);
    return Error{Errc::refused, dsl::list(outcome.errors())};
  } catch (const std::exception& error) {  // no memory for it
    return Error{Errc::refused, error.what()};
  }
}

}  // namespace tocsin::adapters::packs
