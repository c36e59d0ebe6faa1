#include "adapters/service/sender_rights.h"

#include "stream/rules/pack.h"

namespace tocsin::adapters::service {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

constexpr auto until_known = std::chrono::minutes{1};  // a start is judged within seconds
constexpr std::size_t most_stated = 20'000;            // jobs that start within that time

std::string listed(const std::vector<std::string>& patterns) {
  std::string all;
  for (const std::string& pattern : patterns) all += (all.empty() ? "" : ", ") + pattern;
  return all;
}

bool fits(const std::vector<std::string>& patterns, const std::string& text) {
  return patterns.empty() || stream::allows(patterns, &text);
}

}  // namespace

SenderRights::SenderRights(const std::vector<http::Sender>& senders, Find find) : find_(std::move(find)) {
  for (const http::Sender& sender : senders)
    senders_.emplace(sender.name, Limits{sender.jobs, sender.users, http::RateLimit{sender.bytes_per_second}});
}

bool SenderRights::limited(const std::string& sender) const {
  const std::lock_guard lock{mutex_};
  const auto found = senders_.find(sender);
  return found != senders_.end() && !(found->second.jobs.empty() && found->second.users.empty());
}

Result<void> SenderRights::admit(const std::string& sender, Now now) {
  const std::lock_guard lock{mutex_};
  const auto found = senders_.find(sender);
  if (found == senders_.end() || found->second.bytes.has_room(now)) return {};
  return Error{Errc::io, "the sender " + sender + " sends more than its size_per_second: push again later"};
}

Result<void> SenderRights::take(const std::string& sender, std::span<const Part> parts, std::size_t bytes, Now now) {
  const std::lock_guard lock{mutex_};
  forget(now);
  if (const auto limits = senders_.find(sender); limits != senders_.end()) {
    limits->second.bytes.took(static_cast<double>(bytes));
    for (const Part& part : parts)
      if (auto right = check(sender, limits->second, part); !right) return right;
  }
  for (const Part& part : parts)
    if (!part.users.empty() && stated_.size() < most_stated)
      stated_.insert_or_assign(std::string{part.job}, part.users.back());
  return {};
}

Result<void> SenderRights::check(const std::string& sender, const Limits& limits, const Part& part) const {
  if (limits.jobs.empty() && limits.users.empty()) return {};
  const auto refused = [&](const std::string& what) {
    return Error{Errc::refused, "the sender " + sender + " may not send records of " + what};
  };
  const std::string job{part.job};
  if (job == stream::cluster_subject) return refused("nodes");
  if (!fits(limits.jobs, job)) return refused("job " + job + ", but of " + listed(limits.jobs) + ": see http.senders");
  if (limits.users.empty()) return {};
  for (const auto& [name, other] : senders_)
    if (limits.jobs.empty() && !other.jobs.empty() && fits(other.jobs, job))
      return refused("job " + job + ", whose name is another sender's");
  // A job that has ended may begin anew as another user's.
  std::vector<std::string> users = part.users;
  if (const auto job_known = known(job); job_known && (users.empty() || !job_known->ended))
    users.push_back(job_known->user);
  if (users.empty())
    return refused("job " + job + " before its start, with the label user, which is one of " + listed(limits.users));
  for (const std::string& user : users)
    if (!fits(limits.users, user))
      return refused("job " + job + (user.empty() ? ", which has no label user" : " of user " + user) + ", but of " +
                     listed(limits.users) + ": see http.senders");
  return {};
}

std::optional<SenderRights::KnownJob> SenderRights::known(const std::string& job) const {
  for (const auto* stated : {&stated_, &stated_before_})
    if (const auto found = stated->find(job); found != stated->end()) return KnownJob{found->second};
  return find_ ? find_(job) : std::nullopt;
}

void SenderRights::forget(Now now) {
  if (now < next_minute_) return;
  stated_before_ = now >= next_minute_ + until_known ? decltype(stated_){} : std::move(stated_);
  stated_.clear();
  next_minute_ = now + until_known;
}

}  // namespace tocsin::adapters::service
