#include "adapters/runtime/hand_over.h"

#include <exception>
#include <utility>

namespace tocsin::adapters::runtime {

using stream::Bundle;
using stream::Errc;
using stream::Error;
using stream::Result;

HandOver::HandOver(stream::BundleSink& sink) : sink_(&sink), thread_([this] { run(); }) {}

HandOver::~HandOver() {
  {
    const std::lock_guard lock{mutex_};
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

HandOver::Stage HandOver::stage() const {
  const std::lock_guard lock{mutex_};
  return stage_;
}

void HandOver::set(Stage stage) {
  {
    const std::lock_guard lock{mutex_};
    stage_ = stage;
  }
  changed_.notify_all();
}

bool HandOver::idle() const { return stage() == Stage::idle; }
bool HandOver::waits() const { return stage() == Stage::waits; }
std::size_t HandOver::reports() const { return bundle_.reports.size(); }

void HandOver::give(Bundle bundle) {
  bundle_ = std::move(bundle);
  set(Stage::under_way);
}

void HandOver::again() { set(Stage::under_way); }

std::optional<HandOver::Outcome> HandOver::ended() {
  if (stage() != Stage::ended) return std::nullopt;
  if (outcome_.kept) bundle_ = {};
  set(outcome_.kept ? Stage::idle : Stage::waits);
  return outcome_;
}

Result<void> HandOver::keep(const Bundle& bundle) {
  {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return stage_ != Stage::under_way; });
  }
  // What may have been kept in spite of its error is never given twice.
  if (auto before = ended(); before && !before->kept && before->kept.error().code == Errc::refused) return before->kept;
  if (waits()) {
    if (auto kept = sink_->keep(bundle_); !kept) return kept;
    bundle_ = {};
    set(Stage::idle);
  }
  return sink_->keep(bundle);
}

void HandOver::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return stage_ == Stage::under_way || over_; });
    if (stage_ != Stage::under_way) return;
    lock.unlock();
    Outcome outcome;
    outcome.begun = std::chrono::steady_clock::now();
    try {
      outcome.kept = sink_->keep(bundle_);
    } catch (const std::exception& error) { outcome.kept = Error{Errc::refused, error.what()}; }
    outcome.ended = std::chrono::steady_clock::now();
    lock.lock();
    outcome_ = std::move(outcome);
    stage_ = Stage::ended;
    changed_.notify_all();
  }
}

}  // namespace tocsin::adapters::runtime
