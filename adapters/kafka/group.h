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
  std::string instance;  // a name of its own in the group, which it keeps over restarts
  std::chrono::milliseconds session{45'000};
  static constexpr std::chrono::milliseconds longest_heartbeat{3000};
  // By then a member knows that another instance has its name.
  static constexpr std::chrono::milliseconds name_known = longest_heartbeat + std::chrono::seconds{1};
  [[nodiscard]] std::chrono::milliseconds heartbeat() const { return std::min(longest_heartbeat, session / 3); }
  // For how long a partition surely stays with an instance whose commit the broker takes: the session counts from the
  // last heartbeat, which may have been an interval ago, and half of one is for what comes late.
  [[nodiscard]] std::chrono::milliseconds owned_for() const { return session - heartbeat() * 3 / 2; }
};

// Membership in the group that shares the partitions of the telemetry topic. It fetches nothing: the partitions are
// read elsewhere. Owned by the service; `poll` and `leave` belong to its main thread, which the listener's functions
// run on; the rest may be called by any thread.
class Group {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void assigned(const std::vector<int>& partitions) = 0;
    // Returns once nobody works on them any more. `lost`: they may be another's already, and nothing of them can be
    // kept.
    virtual void revoked(const std::vector<int>& partitions, bool lost) = 0;
  };
  static stream::Result<std::unique_ptr<Group>> join(const Address& address, const GroupOptions& options,
                                                     Listener& listener);
  ~Group();

  // Waits for changes; an error where membership ended for good. Where the brokers fence this instance, its partitions
  // are lost, and it joins again once it is known that no other one has its name.
  stream::Result<void> poll(std::chrono::milliseconds wait);
  // Fenced, and not known yet whether another instance has this name.
  [[nodiscard]] bool contested() const noexcept;
  // An error where the brokers have ended the membership, with the reason: as far as they know, another instance has
  // this name.
  [[nodiscard]] stream::Result<void> still_member() const;
  // Its partitions were lost, and it has not been a member with a share since, be that an empty one.
  [[nodiscard]] bool lost() const noexcept;
  // Gives the partitions back, and their listener is called.
  void leave();
  // The position that was committed last, once no transaction of an earlier owner is open any more; nullopt: none.
  stream::Result<std::optional<stream::Position>> committed(int partition) const;
  [[nodiscard]] const std::string& topic() const noexcept;

  struct MetadataDeleter {
    void operator()(rd_kafka_consumer_group_metadata_s* metadata) const noexcept;
  };
  using Metadata = std::unique_ptr<rd_kafka_consumer_group_metadata_s, MetadataDeleter>;
  [[nodiscard]] Metadata metadata() const;  // proves membership to the broker, as it is now

 private:
  struct State;
  explicit Group(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::kafka
