#include "adapters/evidence/groups.h"

#include <algorithm>

#include "adapters/evidence/listed.h"

namespace tocsin::adapters::evidence {

namespace {

std::string names_of(const StackGroup& group, std::size_t all) {
  const std::size_t count = group.ranks.size() + group.pids.size();
  if (group.pids.empty() && count > 1 && 2 * count > all)
    return count == all ? "all " + std::to_string(all) + " ranks"
                        : std::to_string(count) + " of " + std::to_string(all) + " ranks";
  std::string out;
  if (!group.ranks.empty()) out = (group.ranks.size() == 1 ? "rank " : "ranks ") + listed(group.ranks);
  if (!group.pids.empty())
    out += (out.empty() ? "" : ", ") + std::string{group.pids.size() == 1 ? "process " : "processes "} +
           listed(group.pids);
  return out;
}

}  // namespace

std::vector<StackGroup> groups_of(std::span<const ProcessStack> stacks) {
  std::vector<StackGroup> groups;
  for (const ProcessStack& stack : stacks) {
    Place place = place_of(stack);
    const std::string error = place.text.empty() ? stack.error : "";
    auto at = std::find_if(groups.begin(), groups.end(), [&](const StackGroup& group) {
      return group.place.brief == place.brief && group.place.doing == place.doing &&
             (!error.empty()) == (!group.error.empty());
    });
    if (at == groups.end()) {
      groups.push_back({{}, {}, std::move(place), error});
      at = groups.end() - 1;
    } else if (at->place.text != place.text) {
      at->place.text = at->place.brief;
    }
    if (stack.rank) at->ranks.push_back(*stack.rank);
    else at->pids.push_back(stack.pid);
  }
  for (StackGroup& group : groups) {
    std::sort(group.ranks.begin(), group.ranks.end());
    std::sort(group.pids.begin(), group.pids.end());
  }
  const auto size = [](const StackGroup& group) { return group.ranks.size() + group.pids.size(); };
  std::stable_sort(groups.begin(), groups.end(), [&](const StackGroup& a, const StackGroup& b) {
    return size(a) != size(b) ? size(a) > size(b) : a.ranks < b.ranks;
  });
  return groups;
}

std::string text_of(std::span<const StackGroup> groups) {
  std::size_t all = 0;
  for (const StackGroup& group : groups) all += group.ranks.size() + group.pids.size();
  std::string out;
  for (const StackGroup& group : groups) {
    const std::string what = !group.place.text.empty() ? group.place.text
                             : group.error.empty()     ? "the stack could not be taken"
                                                       : group.error;
    out += (out.empty() ? "" : "; ") + names_of(group, all) + ": " + what;
    if (group.place.doing == "stopped") out += " (stopped)";
  }
  return out;
}

formats::Json stacks_json(std::span<const ProcessStack> stacks) {
  formats::Json out{{"groups", text_of(groups_of(stacks))}, {"processes", formats::Json::array()}};
  for (const ProcessStack& stack : stacks) {
    const Place place = place_of(stack);
    formats::Json one = to_json(stack);
    formats::put(one, "doing", place.doing);
    formats::put(one, "place", place.text);
    out["processes"].push_back(std::move(one));
  }
  return out;
}

}  // namespace tocsin::adapters::evidence
