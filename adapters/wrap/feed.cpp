#include "adapters/wrap/feed.h"

#include <algorithm>

namespace tocsin::adapters::wrap {

Feed::Feed() : pipe_(make_pipe()) {
  if (!pipe_.write) return;
  make_nonblocking(pipe_.read.get());
  make_nonblocking(pipe_.write.get());
  ::fcntl(pipe_.write.get(), F_SETPIPE_SZ, static_cast<int>(pipe_bytes));  // refused over the user's limit: 64 KiB then
}

void Feed::offer(std::string_view bytes) {
  if (!pipe_.write) {
    dropped_ += bytes.size();
    return;
  }
  if (pending()) flush();
  if (!pending() && !gap_) {
    const ssize_t written = ::write(pipe_.write.get(), bytes.data(), bytes.size());
    if (written > 0) {
      taken_ += static_cast<std::uint64_t>(written);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  if (bytes.empty()) return;
  const std::size_t capacity = queue_bytes - std::min(queue_bytes, queue_.size() - sent_);
  // After a gap start again only with some capacity: not with a byte here and there.
  if (gap_ && capacity < queue_bytes / 4) {
    dropped_ += bytes.size();
    return;
  }
  if (gap_) queue_.push_back('\n');
  const std::size_t taken = std::min(capacity, bytes.size());
  queue_.append(bytes.substr(0, taken));
  gap_ = taken < bytes.size();
  dropped_ += bytes.size() - taken;
  flush();
}

void Feed::flush() {
  while (pending()) {
    const ssize_t written = ::write(pipe_.write.get(), queue_.data() + sent_, queue_.size() - sent_);
    if (written <= 0) break;
    sent_ += static_cast<std::size_t>(written);
    taken_ += static_cast<std::uint64_t>(written);
  }
  if (!pending()) {
    queue_.clear();
    sent_ = 0;
    if (queue_.capacity() > (256u << 10)) queue_.shrink_to_fit();
  } else if (sent_ > (1u << 20)) {
    queue_.erase(0, sent_);
    sent_ = 0;
  }
}

void Feed::close_writer() { pipe_.write.close(); }

}  // namespace tocsin::adapters::wrap
