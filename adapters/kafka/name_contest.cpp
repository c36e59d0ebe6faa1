#include "adapters/kafka/name_contest.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "adapters/kafka/client.h"

namespace tocsin::adapters::kafka {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {
constexpr auto between_looks = 1s,
               margin = 2s;      // of a session: the brokers look for those that are over only now and then
constexpr int patience = 3'000;  // ms

struct FreeGroups {
  void operator()(const rd_kafka_group_list* groups) const { rd_kafka_group_list_destroy(groups); }
};
}  // namespace

NameContest::NameContest(const Address& address, const GroupOptions& options)
    : address_(address),
      group_(options.group),
      instance_(options.instance),
      next_(Clock::now() + options.session + margin) {}

NameContest::Outcome NameContest::look() {
  if (Clock::now() < next_) return Outcome::undecided;
  next_ = Clock::now() + between_looks;
  const auto client = make_client(address_, RD_KAFKA_PRODUCER, {});
  if (!client) return Outcome::undecided;
  const rd_kafka_group_list* found = nullptr;
  const auto code = rd_kafka_list_groups(client->get(), group_.c_str(), &found, patience);
  const std::unique_ptr<const rd_kafka_group_list, FreeGroups> groups{found};
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return Outcome::undecided;
  for (const rd_kafka_group_info& group : std::span{groups->groups, static_cast<std::size_t>(groups->group_cnt)}) {
    if (group.err != RD_KAFKA_RESP_ERR_NO_ERROR) return Outcome::undecided;
    // The brokers make a member's id of its name and a number.
    const std::span members{group.members, static_cast<std::size_t>(group.member_cnt)};
    const auto has_name = [&](const rd_kafka_group_member_info& member) {
      return std::string_view{member.member_id}.starts_with(instance_ + "-");
    };
    if (std::any_of(members.begin(), members.end(), has_name)) return Outcome::of_another;
  }
  return Outcome::own;
}

}  // namespace tocsin::adapters::kafka
