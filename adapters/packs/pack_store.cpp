#include "adapters/packs/pack_store.h"

#include <exception>
#include <utility>

#include "adapters/packs/compile.h"

namespace tocsin::adapters::packs {

using stream::Errc;
using stream::Error;
using stream::LoadedPack;
using stream::Result;

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
  Known& known = known_[std::string{hash}];
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
  Known& known = known_[std::string{hash}];  // a reference into the map stays good
  if (!known.has_text && !known.result) known.result = Error{Errc::not_found, "its text did not come with it"};
  changed_.wait(lock, [&] { return known.result.has_value(); });
  if (!*known.result && !std::exchange(known.reported, true) && report_) report_(hash, known.result->error());
  return *known.result;
}

void PackStore::add(const LoadedPack& pack) {
  const std::lock_guard lock{mutex_};
  Known& known = known_[pack.pack->hash];
  known.has_text = true;
  known.result = pack;
  changed_.notify_all();
}

std::uint64_t PackStore::compiled() const {
  const std::lock_guard lock{mutex_};
  return compiled_;
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
    known_[job.hash].result = std::move(result);
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
