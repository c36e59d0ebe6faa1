#include "adapters/service/sender_rights.h"

#include "stream/rules/pack.h"

namespace tocsin::adapters::service {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

constexpr auto keeps = std::chrono::hours{1};
constexpr auto between_looks = std::chrono::minutes{1};
constexpr std::size_t most_owned = 20'000;  // jobs and sources of a sender

Error refused(std::string what) { return {Errc::refused, std::move(what)}; }

std::string listed(const std::vector<std::string>& patterns) {
  std::string all;
  for (const std::string& pattern : patterns) all += (all.empty() ? "" : ", ") + pattern;
  return all;
}

}  // namespace

SenderRights::SenderRights(const std::vector<http::Sender>& senders) {
  for (const http::Sender& sender : senders)
    if (!sender.jobs.empty() || !sender.users.empty()) limits_[sender.name] = {sender.jobs, sender.users};
}

Result<void> SenderRights::take(const std::string& sender, std::span<const Part> parts, Now now) {
  const std::lock_guard lock{mutex_};
  const auto limits = limits_.find(sender);
  if (limits == limits_.end()) return {};
  if (now >= next_look_) forget(now);
  for (const Part& part : parts)
    if (auto right = check(sender, limits->second, part); !right) return right;
  if (limits->second.owns + 2 * parts.size() > most_owned)
    return refused("the sender " + sender + " has sent records of too many jobs within the last hour");
  for (const Part& part : parts) {
    if (!part.job.empty()) own(sender, limits->second, {false, std::string{part.job}}, now);
    if (!part.source.empty()) own(sender, limits->second, {true, std::string{part.source}}, now);
  }
  return {};
}

Result<void> SenderRights::check(const std::string& sender, const Limits& limits, const Part& part) const {
  const std::string job{part.job};
  if (job == stream::cluster_subject) return refused("the sender " + sender + " may not send records of nodes");
  if (!job.empty()) {
    if (!limits.jobs.empty() && !stream::allows(limits.jobs, &job))
      return refused("the sender " + sender + " may not send records of job " + job + ", but of " +
                     listed(limits.jobs) + ": see http.senders");
    if (auto free = is_free(sender, {false, job}); !free) return free;
  }
  if (!limits.users.empty())
    for (const std::string& user : part.users)
      if (!stream::allows(limits.users, &user))
        return refused("the sender " + sender + " may not send jobs of user " + user + ", but of " +
                       listed(limits.users) + ": see http.senders");
  return part.source.empty() ? Result<void>{} : is_free(sender, {true, std::string{part.source}});
}

Result<void> SenderRights::is_free(const std::string& sender, const Key& key) const {
  const auto owner = owners_.find(key);
  if (owner == owners_.end() || owner->second.sender == sender) return {};
  return refused((key.first ? "the source " : "job ") + key.second + " belongs to another sender");
}

void SenderRights::own(const std::string& sender, Limits& limits, Key key, Now now) {
  const auto [owner, fresh] = owners_.try_emplace(std::move(key), Owner{sender, now});
  owner->second.last = now;
  if (fresh) ++limits.owns;
}

void SenderRights::forget(Now now) {
  next_look_ = now + between_looks;
  std::erase_if(owners_, [&](const auto& one) {
    const bool old = now - one.second.last > keeps;
    if (old) --limits_[one.second.sender].owns;
    return old;
  });
}

}  // namespace tocsin::adapters::service
