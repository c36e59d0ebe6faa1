#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/values/archive.h"
#include "stream/values/record.h"
#include "stream/values/time.h"

namespace tocsin::stream {

// Up to which append time each log has been read, from watermarks: by topic and partition.
using Watermarks = std::map<std::string, Time, std::less<>>;

// The logs that a job's records were re-keyed from, and how far each has been read. The job's clock is the least of
// them. The clock does not wait for an origin that is more than two minutes behind; what that origin carries is
// unobserved until it has caught up. Owned by its Subject.
class Origins {
 public:
  static constexpr Duration patience = std::chrono::minutes{2};

  // `controlled`: the log's clock at its last control record. It outlives this.
  explicit Origins(const Time* controlled = &long_ago) : controlled_(controlled) {}
  void go_by(const Time* controlled) noexcept { controlled_ = controlled; }

  // Adds an origin at its first record, which was appended there at `arrival`.
  std::size_t index(std::string_view name, Time arrival);
  [[nodiscard]] bool empty() const noexcept { return origins_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return origins_.size(); }
  [[nodiscard]] const std::string& name(std::size_t origin) const { return origins_[origin].name; }
  // After a control record, at the log's clock `now`, which moved the watermark of one of them at the most, or of
  // another log. True: the clock may have moved, or which origins it waits for; else all is as before.
  bool follow(Time now, const Watermarks& watermarks, std::string_view moved);
  // While no watermark of an origin moves, follow() changes nothing until the log's clock is past this.
  [[nodiscard]] Time next_change() const noexcept { return next_change_; }
  // Never moves back.
  [[nodiscard]] Time clock() const noexcept { return waits_ ? clock_ : std::max(clock_, *controlled_); }
  // False: each has ended or is left behind. The clock is the log's, as of its last control record.
  [[nodiscard]] bool waits() const noexcept { return waits_; }
  // Whether an origin has not been read up to `time`.
  [[nodiscard]] bool unread(std::size_t origin, Time time) const noexcept { return origins_[origin].read < time; }
  // The clock does not wait for it.
  [[nodiscard]] bool left(std::size_t origin) const noexcept { return origins_[origin].left; }

  void save(Writer& out) const;
  void load(Reader& in);

 private:
  static void fields(auto& self, auto& archive);
  struct Origin {
    std::string name;
    Time read{};  // up to here
    bool left = false;
    static void fields(auto& self, auto& archive) {
      archive(1, self.name), archive(2, self.read), archive(3, self.left);
    }
  };
  void index_all();

  std::vector<Origin> origins_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::set<std::pair<Time, std::size_t>> waited_for_;  // by how far they are read: those that are not left
  std::vector<std::size_t> fresh_;                     // their watermarks have not been looked at yet
  const Time* controlled_;
  Time clock_ = long_ago;  // when it last waited for one
  Time next_change_ = long_ago;
  bool waits_ = true;
};

}  // namespace tocsin::stream
