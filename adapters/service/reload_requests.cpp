#include "adapters/service/reload_requests.h"

#include <utility>

namespace tocsin::adapters::service {

namespace {
const stream::Result<Reloaded> refusal = stream::Error{stream::Errc::io, "this instance is stopping: ask another one"};
}  // namespace

void ReloadRequests::ask(Answer answer) {
  {
    const std::lock_guard lock{mutex_};
    if (!closed_) {
      waiting_.push_back(std::move(answer));
      asked_.notify_all();
      return;
    }
  }
  if (answer) answer(refusal);
}

std::vector<ReloadRequests::Answer> ReloadRequests::take(std::chrono::milliseconds wait) {
  std::unique_lock lock{mutex_};
  asked_.wait_for(lock, wait, [this] { return closed_ || !waiting_.empty(); });
  return std::exchange(waiting_, {});
}

void ReloadRequests::close() {
  std::vector<Answer> left;
  {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    left.swap(waiting_);
    asked_.notify_all();
  }
  for (const Answer& answer : left)
    if (answer) answer(refusal);
}

}  // namespace tocsin::adapters::service
