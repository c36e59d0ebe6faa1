#pragma once

#include <functional>
#include <span>
#include <string>

#include "adapters/kafka/client.h"
#include "adapters/kafka/group.h"

// What the members of any group share. Included by the sources of this folder alone.
namespace tocsin::adapters::kafka {

// What each member sets, under this client's name: it commits itself, and reads what is committed.
[[nodiscard]] Settings member_settings(const GroupOptions& options, const std::string& client);

// Asks the group for partitions of these topics, which its rebalance callback gets while the consumer is polled.
[[nodiscard]] stream::Result<void> subscribe(rd_kafka_t& client, const GroupOptions& options,
                                             std::span<const std::string> topics);

// Whether the brokers have ended the membership of this client as that of an older instance of its name.
[[nodiscard]] bool fenced(rd_kafka_t& client);
// An error where the membership is over, with its reason.
[[nodiscard]] stream::Result<void> membership(rd_kafka_t& client, const GroupOptions& options);

// Closes the consumer, which is asked for its partitions meanwhile, calls `closed`, and ends it. `assigned_once`:
// whether the group ever gave it an assignment, perhaps an empty one; the consumer's callbacks set it. Waits five
// seconds for what the broker owes it, and no longer (nor than at_most()): a consumer that cannot be ended then is left
// to the end of the process.
void leave_group(Client& client, const bool& assigned_once, const std::function<void()>& closed = {});

}  // namespace tocsin::adapters::kafka
