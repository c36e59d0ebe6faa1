#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/notify/notice.h"
#include "adapters/notify/receiver.h"

namespace tocsin::adapters::notify {

// What a receiver is notified at once.
struct Message {
  struct Item {
    Alert alert;
    bool first = true;  // its beginning has not been notified; false: it still fires, or what was notified has resolved
  };
  std::size_t receiver = 0;  // its place in the list
  std::uint64_t id = 0;      // a hash of what it says: a message that is made twice has the same
  stream::Time at{};
  std::vector<Item> items;                 // the most severe first
  std::size_t more = 0;                    // alerts that found no room in it
  std::size_t left_out = 0;                // alerts that fired and resolved while the limit held messages back
  std::optional<Ended> ended;              // the end of a job
  std::optional<stream::Time> held_until;  // the limit is reached: the next message comes then
  bool test = false;
};

// Decides who is notified of what, and when: conditions, groups, repeats, limits, and what has been notified already.
// Reads no clock and does no I/O. Owned by the Notifier's thread.
class Router {
 public:
  using Permitted = std::function<bool(Owner)>;
  static constexpr std::size_t most_items = 20;  // of a message
  static constexpr std::size_t most_alerts = 20'000;
  // An alert that fires after a restore, and of which nothing is known here, has been notified by another instance,
  // unless it is as new as this.
  static constexpr std::chrono::minutes new_for{10};

  explicit Router(std::vector<Receiver> receivers);

  // A transition. `restored`: it was reported before, by an earlier run or another instance.
  void alert(Owner owner, const Alert& alert, stream::Time now, bool restored = false);
  void ended(Owner owner, Ended ended, stream::Time now);
  // The owner's alerts are notified by another instance from now on.
  void withdraw(Owner owner);
  // What waits for its group to be complete need not wait any longer. `last`: nor for the limit, for there is no later.
  void hurry(stream::Time now, bool last);

  // What is due. An owner that is not permitted now keeps its alerts for later.
  [[nodiscard]] std::vector<Message> due(stream::Time now, const Permitted& permitted);
  [[nodiscard]] stream::Time next_due() const;

  [[nodiscard]] const std::vector<Receiver>& receivers() const noexcept { return receivers_; }
  [[nodiscard]] std::size_t waiting(std::size_t receiver) const;             // alerts that are to be notified
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }  // alerts beyond most_alerts

  // What has been notified, so that a restart repeats nothing. `alone`: no other instance tells of the same alerts, and
  // nobody reports again what fires.
  [[nodiscard]] std::string state() const;
  void restore(const std::string& state, stream::Time now, bool alone);  // one that cannot be read: nothing is known

 private:
  struct Known {
    Alert alert;
    Owner owner = 0;
    bool away = false;  // another instance tells of it, or it has not been reported since the restart
  };
  struct Notified {
    std::uint32_t number = 0;  // of the transition that was notified; 0: none
    stream::Time at{};
    bool pending = false;
  };
  struct Line {  // of a receiver
    stream::Severity least{};
    std::map<std::uint64_t, Notified> notified;  // by alert
    stream::Time group_due = stream::never;
    std::deque<stream::Time> sent;  // within the last hour, of what the limit counts
    std::size_t left_out = 0;
    std::deque<std::pair<Owner, Ended>> ended;
  };
  [[nodiscard]] bool wants(const Receiver& receiver, const Line& line, const Alert& alert) const;
  [[nodiscard]] stream::Time held_until(std::size_t receiver, stream::Time now) const;  // long_ago: not held
  [[nodiscard]] stream::Time repeat_due(std::size_t receiver, const Notified& notified, const Known& known) const;
  void collect(std::size_t receiver, stream::Time now, const Permitted& permitted, std::vector<Message>& out);
  void send(Message message, stream::Time now, std::vector<Message>& out);
  void forget_finished();

  std::vector<Receiver> receivers_;
  std::vector<Line> lines_;
  std::map<std::uint64_t, Known> alerts_;
  std::deque<std::uint64_t> ended_;  // jobs whose end was notified, the last ones
  std::deque<std::pair<std::uint64_t, std::uint32_t>>
      finished_;  // alerts of which nothing more is notified: id, number
  std::uint64_t dropped_ = 0;
};

}  // namespace tocsin::adapters::notify
