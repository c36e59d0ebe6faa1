#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/archive.h"
#include "stream/values/record.h"
#include "stream/values/time.h"

namespace tocsin::stream {

// One reload, as the log's pack records name it.
struct PackChange {
  struct Key {
    Time from = long_ago;  // when it takes effect, by each subject's own clock
    Position at{};         // of its record
    auto operator<=>(const Key&) const = default;
  };
  Key key;
  std::string hash;
  static void fields(auto& self, auto& archive) {
    archive(1, self.key.from), archive(2, self.key.at), archive(3, self.hash);
  }
};

// The packs of a log, in the order in which they take effect: by `from`, then by position. A pack whose `from` has
// passed when its record is read takes effect there. Naming the pack that is in force cancels those that wait.
class PackTimeline {
 public:
  explicit PackTimeline(std::string first_hash = {}) : changes_{{{}, std::move(first_hash)}} {}

  // A pack record, read at the log's clock. Returns whether it changes anything.
  bool read(std::string_view hash, Time from, Position at, Time clock);
  // The one in force at `clock`.
  [[nodiscard]] const PackChange& in_force(Time clock) const;
  // The first after this one, or null.
  [[nodiscard]] const PackChange* after(const PackChange::Key& key) const {
    return changes_.back().key <= key ? nullptr : next_after(key);
  }
  [[nodiscard]] const std::vector<PackChange>& all() const noexcept { return changes_; }
  // No subject goes by a pack before the one of this key any more.
  void forget_before(PackChange::Key key);

  void save(Writer& out) const;
  void load(Reader& in);

 private:
  [[nodiscard]] const PackChange* next_after(const PackChange::Key& key) const;

  std::vector<PackChange> changes_;  // never empty
};

}  // namespace tocsin::stream
