#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adapters/alertmanager/alert_json.h"
#include "adapters/alertmanager/poster.h"

namespace tocsin::adapters::alertmanager {

// A transition on its way to the store.
struct Reported {
  Owner owner = 0;
  std::uint64_t id = 0;
  std::uint32_t number = 0;
  bool firing = false;
  stream::Time since{}, at{};
  RenderedAlert rendered;

  [[nodiscard]] std::size_t bytes() const noexcept;
};

// The alerts that fire, and those that resolved not long ago; what each instance is to be sent of them, and when.
// Alertmanager knows an alert by its labels. Alerts of ours that have the same labels (of two attempts that overlap)
// are one there: it fires as long as one of them does. Touched by one thread.
class AlertStore {
 public:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;
  using Permitted = std::function<bool(Owner)>;
  struct Timing {
    std::chrono::milliseconds resend, resolved_for;
  };
  struct Batch {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> alerts;  // place in the order of first report, version
    std::string body;
  };

  AlertStore(std::size_t instances, Timing timing) : timing_(timing), queues_(instances), waiting_(instances) {}

  void apply(Reported reported, TimePoint now);
  void withdraw(Owner owner);
  void expire(TimePoint now);  // forgets what resolved long ago

  // When something is due for an instance; TimePoint::max(): never.
  [[nodiscard]] TimePoint next_due(std::size_t instance) const;
  // The body of a request with what is due, at most so many. What its owner may not post is set aside until permit().
  [[nodiscard]] Batch next(std::size_t instance, std::size_t most, TimePoint now, stream::Time wall,
                           const Permitted& permitted);
  void permit(Owner owner, TimePoint now);
  [[nodiscard]] std::vector<Owner> set_aside() const;  // whose alerts are
  void acknowledged(std::size_t instance, const Batch& batch, TimePoint now);

  // Alerts whose last transition an instance has not acknowledged, without those that are set aside.
  [[nodiscard]] std::size_t waiting(std::size_t instance) const { return waiting_[instance]; }
  [[nodiscard]] std::size_t firing() const noexcept { return firing_; }
  [[nodiscard]] std::size_t kept() const noexcept { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Alert {
    std::uint64_t id = 0;
    std::uint32_t number = 0;
    bool firing = false;
    stream::Time since{}, at{};
    std::string annotations, generator_url;
    TimePoint resolved{};
  };
  // Alerts with the same labels.
  struct Entry {
    std::uint64_t order = 0, version = 0;
    Owner owner = 0;
    std::string labels;
    std::vector<Alert> alerts;   // in the order in which they were reported
    std::vector<TimePoint> due;  // by instance; max: set aside
    std::vector<bool> waits;     // by instance: not acknowledged yet

    [[nodiscard]] bool firing() const noexcept;
    [[nodiscard]] std::size_t bytes() const noexcept;
  };
  using Queue = std::set<std::pair<TimePoint, std::uint64_t>>;

  void set_due(Entry& entry, std::size_t instance, TimePoint due, bool waits);
  void erase(std::uint64_t order);
  [[nodiscard]] std::string body_of(const Entry& entry, stream::Time wall) const;

  Timing timing_;
  std::vector<Queue> queues_;               // by instance: due, order
  std::vector<std::size_t> waiting_;        // by instance
  std::map<std::uint64_t, Entry> entries_;  // by order
  std::unordered_map<std::string, std::uint64_t> by_labels_;
  std::unordered_map<std::uint64_t, std::uint64_t> by_id_;
  std::map<Owner, std::set<std::uint64_t>> set_aside_;
  std::uint64_t next_order_ = 0;
  std::size_t firing_ = 0, bytes_ = 0;
};

}  // namespace tocsin::adapters::alertmanager
