#include "adapters/evidence/dumped_job.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "adapters/evidence/listed.h"
#include "adapters/formats/json.h"

namespace tocsin::adapters::evidence {

using namespace std::chrono_literals;
using formats::Json;
using stream::Time;

namespace {

constexpr stream::Duration longest_before = 60s;  // of the time before the last call: dumps may remember days

using CallName = std::tuple<std::string, bool, std::uint64_t>;  // group, pairwise, number

struct Group {
  std::set<std::uint32_t> members;
  std::map<std::uint32_t, const DumpedGroup*> dumped;
};

// What all dumps together know of the groups and calls.
class Joined {
 public:
  explicit Joined(const std::vector<FlightDump>& dumps) : dumps_(dumps) {
    for (const FlightDump& dump : dumps) {
      for (const auto& [name, group] : dump.groups) {
        Group& joined = groups_[name];
        joined.members.insert(group.members.begin(), group.members.end());
        joined.members.insert(dump.rank);
        joined.dumped[dump.rank] = &group;
      }
      for (const DumpedCall& call : dump.calls) calls_[name_of(call)][dump.rank] = &call;
    }
  }

  [[nodiscard]] const std::map<std::string, Group>& groups() const { return groups_; }

  // With the oldest collective, or send or receive, in which it waits for others.
  void find_wait(const FlightDump& dump, DumpedRank& out, bool pairwise) const {
    for (const DumpedCall& call : dump.calls) {
      if (!call.open || call.pairwise != pairwise) continue;
      auto missing = missing_in(call);
      if (!pairwise && missing.empty() && !differs(call) && completed_by_any(call, dump.rank)) continue;
      // Whether the other side has come to a send or receive can be seen only where its dump remembers it.
      if (pairwise && entered_by_all(call)) continue;
      out.waits = true;
      out.missing = std::move(missing);
      out.since = call.created;
      const auto size = static_cast<std::uint32_t>(groups_.at(call.group).members.size());
      out.collectives.oldest = trace::OpenCollective{call.function, call.number, call.group, size, call.arguments};
      return;
    }
  }

  // The largest total; and what each rank lacks of the furthest member, in launched and in completed.
  void place(std::vector<DumpedRank>& ranks) const {
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> lacks;
    std::map<std::uint32_t, std::uint64_t> totals;
    for (const auto& [name, group] : groups_) {
      const bool pairwise = std::any_of(group.dumped.begin(), group.dumped.end(), [](const auto& one) {
        return one.second->pairwise || one.second->description.starts_with("PIPELINE");
      });
      if (pairwise) continue;  // not every member takes part in each call
      std::uint64_t front = 0;
      for (const auto& [rank, one] : group.dumped)
        front = std::max(front, one->launched), totals[rank] += one->launched;
      for (const auto& [rank, one] : group.dumped) {
        lacks[rank].first = std::max(lacks[rank].first, front - one->launched);
        lacks[rank].second = std::max(lacks[rank].second, front - std::min(front, one->completed));
      }
    }
    std::uint64_t largest = 0;
    for (const auto& [rank, total] : totals) largest = std::max(largest, total);
    for (DumpedRank& rank : ranks) {
      rank.collectives.launched = largest - std::min(largest, lacks[rank.rank].first);
      rank.collectives.done = largest - std::min(largest, lacks[rank.rank].second);
    }
  }

  [[nodiscard]] const DumpedCall* call(const CallName& name, std::uint32_t rank) const {
    const auto at = calls_.find(name);
    if (at == calls_.end()) return nullptr;
    const auto of_rank = at->second.find(rank);
    return of_rank == at->second.end() ? nullptr : of_rank->second;
  }

 private:
  static CallName name_of(const DumpedCall& call) { return {call.group, call.pairwise, call.number}; }

  // Members that have not entered it; of a rank without a dump nothing is known.
  [[nodiscard]] std::vector<std::uint32_t> missing_in(const DumpedCall& call) const {
    std::vector<std::uint32_t> missing;
    if (call.pairwise) return missing;
    for (const auto& [rank, group] : groups_.at(call.group).dumped)
      if (group->launched < call.number) missing.push_back(rank);
    return missing;
  }
  [[nodiscard]] bool differs(const DumpedCall& call) const {
    for (const auto& [rank, other] : calls_.at(name_of(call)))
      if (other->function != call.function) return true;
    return false;
  }
  [[nodiscard]] bool completed_by_any(const DumpedCall& call, std::uint32_t but) const {
    for (const auto& [rank, group] : groups_.at(call.group).dumped)
      if (rank != but && group->completed >= call.number) return true;
    return false;
  }
  [[nodiscard]] bool entered_by_all(const DumpedCall& call) const {
    return calls_.at(name_of(call)).size() >= std::max<std::size_t>(groups_.at(call.group).members.size(), 2);
  }

  const std::vector<FlightDump>& dumps_;
  std::map<std::string, Group> groups_;
  std::map<CallName, std::map<std::uint32_t, const DumpedCall*>> calls_;
};

std::vector<UnfinishedCall> unfinished_of(const Joined& joined, const std::vector<DumpedRank>& ranks) {
  std::map<CallName, UnfinishedCall> calls;
  for (const DumpedRank& rank : ranks) {
    if (!rank.waits) continue;
    const trace::OpenCollective& open = *rank.collectives.oldest;
    const bool pairwise = joined.call({open.group, false, open.sequence}, rank.rank) == nullptr;
    const CallName name{open.group, pairwise, open.sequence};
    UnfinishedCall& call = calls[name];
    call.waiting.push_back(rank.rank);
    call.missing = rank.missing;
    if (call.waiting.size() > 1) continue;
    const Group& group = joined.groups().at(open.group);
    call.group = open.group;
    call.description = group.dumped.empty() ? "" : group.dumped.begin()->second->description;
    call.function = open.function;
    call.arguments = open.arguments;
    call.number = open.sequence;
    if (const DumpedCall* dumped = joined.call(name, rank.rank)) call.place = dumped->place;
  }
  std::vector<UnfinishedCall> out;
  for (auto& [name, call] : calls) out.push_back(std::move(call));
  // Those that lack somebody first: the others wait behind them.
  std::stable_sort(out.begin(), out.end(), [](const UnfinishedCall& a, const UnfinishedCall& b) {
    return a.missing.empty() != b.missing.empty() ? b.missing.empty() : a.missing.size() < b.missing.size();
  });
  return out;
}

void add(std::string& out, Time at, const std::string& job, Json record) {
  Json line{{"t", at.time_since_epoch().count()}, {"job", job}};
  line.update(record);
  out += formats::dump(line) + '\n';
}

// A call that lacks a rank that waits for nobody is what the alert names; who waits behind others adds nothing to it.
bool is_direct(const DumpedRank& rank, const std::set<std::uint32_t>& free) {
  return free.empty() || std::any_of(rank.missing.begin(), rank.missing.end(),
                                     [&](std::uint32_t missing) { return free.contains(missing); });
}

}  // namespace

DumpedJob join_dumps(const std::vector<FlightDump>& dumps) {
  DumpedJob job;
  const Joined joined{dumps};
  std::set<std::uint32_t> missing;
  for (const FlightDump& dump : dumps) {
    DumpedRank& rank = job.ranks.emplace_back();
    rank.rank = dump.rank;
    for (const DumpedCall& call : dump.calls) rank.launches.push_back(call.created);
    joined.find_wait(dump, rank, false);
    missing.insert(rank.missing.begin(), rank.missing.end());
  }
  // Receives are posted long before: one that is open says little of a rank that others lack in a collective.
  for (std::size_t i = 0; i < dumps.size(); ++i)
    if (!job.ranks[i].waits && !missing.contains(job.ranks[i].rank)) joined.find_wait(dumps[i], job.ranks[i], true);
  joined.place(job.ranks);
  job.unfinished = unfinished_of(joined, job.ranks);
  for (const auto& [name, group] : joined.groups())
    if (!group.members.empty()) job.world_size = std::max(job.world_size, *group.members.rbegin() + 1);
  Time first = stream::never, last = Time{};
  for (const DumpedRank& rank : job.ranks)
    for (const Time time : rank.launches)
      if (time != Time{}) first = std::min(first, time), last = std::max(last, time);
  if (last == Time{}) first = last = Time{} + 24h;  // no call has a time
  job.end = last + 1s;
  job.begin = std::max(first - 1s, job.end - longest_before);
  for (DumpedRank& rank : job.ranks)
    if (rank.since == Time{}) rank.since = job.end;
  return job;
}

std::string text_of(const DumpedJob& job) {
  const auto ranks = [](const std::vector<std::uint32_t>& list) {
    return (list.size() == 1 ? "rank " : "ranks ") + listed(list);
  };
  std::string out;
  std::size_t behind = 0;  // where somebody is missing elsewhere
  for (const UnfinishedCall& call : job.unfinished) {
    if (call.missing.empty() && !job.unfinished.front().missing.empty()) {
      ++behind;
      continue;
    }
    out += call.function + ' ' + std::to_string(call.number) + " of group " + call.group;
    if (!call.description.empty()) out += " (" + call.description + ")";
    if (!call.arguments.empty()) out += ", " + call.arguments;
    if (!call.place.empty()) out += ", in " + call.place;
    out += ": " + ranks(call.waiting) + (call.waiting.size() == 1 ? " waits" : " wait");
    if (!call.missing.empty())
      out += ", " + ranks(call.missing) + (call.missing.size() == 1 ? " has" : " have") + " not entered";
    out += '\n';
  }
  if (behind != 0)
    out += std::to_string(behind) + (behind == 1 ? " more call" : " more calls") +
           " that all known members have entered\n";
  return out;
}

std::string lines_of(const DumpedJob& job, const std::string& name, stream::Duration held) {
  std::string out;
  add(out, job.begin, name, {{"event", "start"}, {"world_size", job.world_size}});
  std::set<std::uint32_t> free;
  std::uint64_t base = stream::Time::max().time_since_epoch().count();
  for (const DumpedRank& rank : job.ranks) {
    add(out, job.begin, name, {{"event", "member"}, {"rank", rank.rank}});
    base = std::min(base, *rank.collectives.done);
    if (!rank.waits) free.insert(rank.rank);
  }
  // Second by second, as the recorder samples; all ranks begin alike, and each launch that is remembered counts one.
  for (Time now = job.begin; now <= job.end + held; now += 1s)
    for (const DumpedRank& rank : job.ranks) {
      const auto gone =
          static_cast<std::uint64_t>(std::upper_bound(rank.launches.begin(), rank.launches.end(), now) -
                                     std::upper_bound(rank.launches.begin(), rank.launches.end(), job.begin));
      const bool ended = now >= job.end;
      const std::uint64_t launched =
          ended ? rank.collectives.launched : std::min(rank.collectives.launched, base + gone);
      const bool waits = rank.waits && now >= rank.since;
      Json values{{"collective_launched", launched},
                  {"collective_done", std::min(launched, *rank.collectives.done)},
                  {"collective_waiting", waits ? stream::seconds(now - rank.since) : 0.0}};
      if (waits && is_direct(rank, free)) {
        const trace::OpenCollective& open = *rank.collectives.oldest;
        values["collective_function"] = open.function;
        values["collective_number"] = open.sequence;
        values["collective_group"] = open.group;
        values["collective_group_size"] = open.group_size;
      }
      add(out, now, name, {{"rank", rank.rank}, {"source", "sampler"}, {"values", values}});
    }
  return out;
}

}  // namespace tocsin::adapters::evidence
