#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "adapters/journal/directory.h"
#include "stream/values/result.h"

namespace tocsin::adapters::journal {

// What was published, one JSON object a line in `alerts.jsonl` beside the journal. A transition is known by (id,
// number) for ever: what is there is not written, and need not be printed, again. With `most_bytes`, a file that has
// grown so large becomes `alerts-before.jsonl`, in place of the one before it, and only what these two hold is known. A
// torn last line is cut at open.
// Owned by whoever publishes; one a journal.
class AlertHistory {
 public:
  static stream::Result<AlertHistory> open(const std::filesystem::path& directory, std::uint64_t most_bytes = 0);

  // True: it is new, and on disk after the next sync; false: it was there. Each line begins with its id and number;
  // where `object` does not, they are put in front.
  stream::Result<bool> add(std::uint64_t id, std::uint32_t number, std::string_view object);
  // All that was added is on disk when it returns: only now may it be published. After an error it is tried again with
  // the next.
  stream::Result<void> sync();
  [[nodiscard]] bool holds(std::uint64_t id, std::uint32_t number) const {
    return known_.contains({id, number}) || before_.contains({id, number});
  }
  [[nodiscard]] std::size_t size() const noexcept { return known_.size() + before_.size(); }
  [[nodiscard]] std::uint64_t cut_bytes() const noexcept { return cut_; }  // of a torn last line, at open

 private:
  using Keys = std::set<std::pair<std::uint64_t, std::uint32_t>>;
  AlertHistory() = default;
  static stream::Result<std::uint64_t> read(const std::filesystem::path& path, std::string_view content, Keys& known);
  stream::Result<void> begin_another();

  std::filesystem::path path_;
  std::uint64_t most_bytes_ = 0;
  File file_;
  Keys known_, before_;  // of the file, and of the one before it
  std::uint64_t cut_ = 0;
  std::uint64_t size_ = 0;  // on disk
  std::string waiting_;     // lines for the next sync
};

}  // namespace tocsin::adapters::journal
