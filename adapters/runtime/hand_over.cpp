#include "adapters/runtime/hand_over.h"

#include <exception>
#include <utility>

namespace tocsin::adapters::runtime {

using stream::Bundle;
using stream::Errc;
using stream::Error;
using stream::Result;

HandOver::HandOver(stream::BundleSink& sink, bool beside) : sink_(&sink) {
  if (beside) thread_ = std::thread{[this] { run(); }};
}

HandOver::~HandOver() {
  {
    const std::lock_guard lock{mutex_};
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
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
  begin();
}

void HandOver::again() { begin(); }

void HandOver::begin() {
  if (thread_.joinable()) return set(Stage::under_way);
  ask_sink();
  set(Stage::ended);
}

void HandOver::ask_sink() {
  outcome_.begun = std::chrono::steady_clock::now();
  try {
    outcome_.kept = sink_->keep(bundle_);
    if (outcome_.kept) bundle_ = {};  // here: to free what a large job's sections hold takes milliseconds
  } catch (const std::exception& error) { outcome_.kept = Error{Errc::refused, error.what()}; }
  outcome_.ended = std::chrono::steady_clock::now();
}

std::optional<HandOver::Outcome> HandOver::ended() {
  if (stage() != Stage::ended) return std::nullopt;
  set(outcome_.kept ? Stage::idle : Stage::waits);
  return outcome_;
}

Result<void> HandOver::keep(const Bundle& bundle) {
  {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return stage_ != Stage::under_way; });
  }
  (void)ended();
  if (waits()) {
    // What may have been kept in spite of its error is never given twice.
    if (outcome_.kept.error().code == Errc::refused) return outcome_.kept;
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
    ask_sink();
    lock.lock();
    stage_ = Stage::ended;
    changed_.notify_all();
  }
}

}  // namespace tocsin::adapters::runtime
