#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stream/values/archive.h"
#include "stream/values/record.h"
#include "stream/values/time.h"

namespace tocsin::stream {

class Origins;

// An attempt that several programs report, each for the ranks that it started (one `wrap` on each node, or one for each
// task of srun). Each writes under a name of its own. Its start event says which part it is, of how many, and of which
// step of the job: steps of one job that run side by side are not joined. Owned by its Attempt; empty where one program
// reports the attempt alone.
class Parts {
 public:
  struct Start {
    std::string part, step;
    std::uint32_t parts = 0;
  };
  // nullopt: the start event is that of a whole attempt.
  [[nodiscard]] static std::optional<Start> start_in(const EventRecord& event);

  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }
  // Whether a part with this start, which arrived then, belongs to the attempt: it is of the same step, has not begun
  // yet, parts are missing, and none ended half a minute ago: what begins then is another run.
  [[nodiscard]] bool lacks(const Start& start, Time arrival) const;
  void add(const Start& start, std::string_view writes_as, std::optional<std::size_t> origin);
  [[nodiscard]] bool has_name(std::string_view name) const { return parts_.contains(name); }
  [[nodiscard]] const auto& names() const noexcept { return parts_; }  // by the name that it writes under

  // The end of one part.
  void end(std::string_view name, Time time, Time arrival, std::string reason);
  struct End {
    Time time;
    std::string reason;  // of a failure, if one part failed; else of a cancellation, if one was cancelled
  };
  // The end of the attempt, once every part has ended.
  [[nodiscard]] std::optional<End> ended() const;
  // When it ends although parts are missing: two minutes after the last end, where no log of a part that has not ended
  // is read any more. Never: while one is.
  [[nodiscard]] Time given_up(const Origins& origins) const;
  // The reason of an end without the parts that are missing: they may have failed, so "completed" is not certain.
  [[nodiscard]] std::string reason_without_missing() const {
    std::string reason = worst_reason();
    return reason == "completed" ? std::string{} : reason;
  }

  static void fields(auto& self, auto& archive) {
    archive(1, self.step_), archive(2, self.expected_), archive(3, self.parts_), archive(4, self.last_end_);
  }

 private:
  struct Part {
    std::string part;
    std::optional<std::uint64_t> origin;  // the log that it comes from, among the job's
    std::optional<Time> ended;
    std::string reason;
    static void fields(auto& self, auto& archive) {
      archive(1, self.part), archive(2, self.origin), archive(3, self.ended), archive(4, self.reason);
    }
  };
  [[nodiscard]] std::string worst_reason() const;

  std::string step_;
  std::uint32_t expected_ = 0;
  std::map<std::string, Part, std::less<>> parts_;
  Time last_end_ = long_ago;  // its arrival
};

}  // namespace tocsin::stream
