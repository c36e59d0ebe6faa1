#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/kafka/address.h"
#include "stream/values/record.h"
#include "stream/values/result.h"

struct rd_kafka_consumer_group_metadata_s;

namespace tocsin::adapters::kafka {

struct GroupOptions {
  std::string group = "tocsin";
  std::string instance;  // the static member's name in the group, the same after a restart
  std::chrono::milliseconds session{45'000};
  static constexpr std::chrono::milliseconds longest_heartbeat{3000};
  // After this time a member knows if another instance has its name.
  static constexpr std::chrono::milliseconds name_known = longest_heartbeat + std::chrono::seconds{1};
  [[nodiscard]] std::chrono::milliseconds heartbeat() const { return std::min(longest_heartbeat, session / 3); }
  // How long a partition stays with an instance after the broker accepted its commit: the session time-out, less one
  // heartbeat interval (the session counts from the last heartbeat) and half an interval as a margin.
  [[nodiscard]] std::chrono::milliseconds owned_for() const { return session - heartbeat() * 3 / 2; }
};

// Membership in the consumer group that shares the partitions of the telemetry topic. It fetches no records.
// Owned by the service. Its main thread calls poll() and leave(), which call the listener; any thread may call the
// rest.
class Group {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void assigned(const std::vector<int>& partitions) = 0;
    // Returns when no thread works on them. `lost`: another instance may own them already, so nothing can be committed.
    virtual void revoked(const std::vector<int>& partitions, bool lost) = 0;
  };
  static stream::Result<std::unique_ptr<Group>> join(const Address& address, const GroupOptions& options,
                                                     Listener& listener);
  ~Group();

  // Waits for a rebalance. An error means that the membership has ended. If the brokers fence this instance, it loses
  // its partitions and joins again when it knows that no other instance has its name.
  stream::Result<void> poll(std::chrono::milliseconds wait);
  // Fenced, and still finding out if another instance has this name.
  [[nodiscard]] bool contested() const noexcept;
  // An error if the brokers have ended the membership: they know another instance of this name.
  [[nodiscard]] stream::Result<void> still_member() const;
  // It has lost its partitions, and the brokers have assigned none since (an empty assignment counts as one).
  [[nodiscard]] bool lost() const noexcept;
  // Gives the partitions back, after the listener has revoked them.
  void leave();
  // The position that was committed last; nullopt if none was. Waits for open transactions of earlier owners.
  stream::Result<std::optional<stream::Position>> committed(int partition) const;
  [[nodiscard]] const std::string& topic() const noexcept;

  struct MetadataDeleter {
    void operator()(rd_kafka_consumer_group_metadata_s* metadata) const noexcept;
  };
  using Metadata = std::unique_ptr<rd_kafka_consumer_group_metadata_s, MetadataDeleter>;
  [[nodiscard]] Metadata metadata() const;  // proves the current membership to the transaction coordinator

 private:
  struct State;
  explicit Group(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::kafka
