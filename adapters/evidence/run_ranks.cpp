#include "adapters/evidence/run_ranks.h"

#include <chrono>
#include <map>

#include "adapters/evidence/kernel_view.h"
#include "adapters/journal/follow.h"

namespace tocsin::adapters::evidence {

using stream::Errc;
using stream::Error;

namespace {

constexpr auto recent = std::chrono::seconds{10};  // the recorder samples each second

struct Seen {
  pid_t pid = 0;
  stream::Time time{};
};

void see(const stream::SampleBlock& block, std::map<std::uint32_t, Seen>& seen) {
  for (std::size_t signal = 0; signal < block.signals.size(); ++signal) {
    if (block.signals[signal].name != "process_pid") continue;
    for (std::size_t time = 0; time < block.times.size(); ++time)
      for (std::size_t member = 0; member < block.members.size(); ++member) {
        const std::size_t at = (time * block.members.size() + member) * block.signals.size() + signal;
        const stream::MemberKey& key = block.members[member];
        if (key.level == stream::Level::rank && block.has(at))
          seen[key.rank] = {static_cast<pid_t>(block.value(at)), block.times[time]};
      }
  }
}

}  // namespace

stream::Result<std::vector<StackTarget>> ranks_of(const std::filesystem::path& run) {
  const auto segments = journal::segments(run);
  if (!segments) return segments.error();
  auto reader = journal::Reader::open(run);
  if (!reader) return reader.error();
  journal::Follower log{std::move(*reader)};
  // The newest segment may have just begun: the one before is read, too.
  if (segments->size() > 2)
    if (auto sought = log.seek(stream::Position{(*segments)[segments->size() - 2].position}); !sought)
      return sought.error();
  std::map<std::uint32_t, Seen> seen;
  stream::Time last{};
  for (auto entry = log.next(); entry && *entry != nullptr; entry = log.next()) {
    last = std::max(last, (*entry)->appended);
    for (const stream::SampleBlock& block : (*entry)->samples) see(block, seen);
  }
  std::vector<StackTarget> targets;
  for (const auto& [rank, one] : seen)
    if (last - one.time < recent) targets.push_back({one.pid, rank, start_of(one.pid)});
  if (targets.empty()) return Error{Errc::not_found, "no rank of the run has a process now"};
  return targets;
}

}  // namespace tocsin::adapters::evidence
