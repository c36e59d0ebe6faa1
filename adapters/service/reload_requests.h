#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "stream/values/result.h"

namespace tocsin::adapters::service {

struct Reloaded {
  std::string hash;
  bool changed = false;  // the logs named another pack before
};

// Who asked for a reload and waits for its result: one reload answers all who asked before it began.
// Owned by the command; any thread may ask. The answer is called by the reloader's thread, or by whoever closes.
class ReloadRequests {
 public:
  using Answer = std::function<void(const stream::Result<Reloaded>&)>;
  void ask(Answer answer = {});
  // Waits until somebody has asked, or for so long; takes all that there are.
  [[nodiscard]] std::vector<Answer> take(std::chrono::milliseconds wait);
  // From now on everybody is refused.
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable asked_;
  std::vector<Answer> waiting_;
  bool closed_ = false;
};

}  // namespace tocsin::adapters::service
