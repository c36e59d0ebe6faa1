#include "adapters/wrap/collective_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "adapters/wrap/supervisor.h"

namespace tocsin::adapters::wrap {

using namespace std::chrono_literals;
using schemas::EntryBuilder;

namespace {

constexpr stream::Duration described_after = 2s;  // a collective that is open for so long is written down in full

// Descriptors of probes, programs and tables of the kernel.
std::vector<int> of_the_kernel() {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd", error})
    if (std::filesystem::read_symlink(entry.path(), error).native().starts_with("anon_inode:"))
      found.push_back(std::atoi(entry.path().filename().c_str()));
  return found;
}

}  // namespace

CollectiveWatch::~CollectiveWatch() {
  if (tracer_) leave_probes();
}

void CollectiveWatch::leave_probes() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  if (::fork() == 0) {
    std::vector<int> keep = of_the_kernel();
    keep.push_back(ends[0]);
    close_all_but(keep);
    for (const int standard : {0, 1, 2}) ::close(standard);
    char byte;
    while (::read(ends[0], &byte, 1) < 0 && errno == EINTR) {}
    ::_exit(0);
  }
  [[maybe_unused]] const trace::Tracer* left = tracer_.release();  // the end of our process closes it, and the pipe
}

void CollectiveWatch::start() {
  auto started = trace::Tracer::start();
  if (started) tracer_ = std::move(*started);
  else why_not_ = started.error().message;
}

void CollectiveWatch::look(const std::unordered_map<pid_t, Process>& processes,
                           const std::map<pid_t, std::uint32_t>& ranks) {
  if (!why_not_.empty() && ranks.size() > 1)
    ::fprintf(stderr, "tocsin: collectives are not seen: %s\n", std::exchange(why_not_, {}).c_str());
  ranks_.clear();
  if (!tracer_) return;
  std::vector<pid_t> pids;
  for (const auto& [pid, process] : processes) pids.push_back(pid);
  std::sort(pids.begin(), pids.end());
  tracer_->look(pids);
  for (trace::ProcessTrace& trace : tracer_->read())
    if (const auto rank = ranks.find(trace.collectives.pid); rank != ranks.end())
      ranks_.insert_or_assign(rank->second, std::move(trace.collectives));
  for (const std::string& note : tracer_->take_notes()) ::fprintf(stderr, "tocsin: %s\n", note.c_str());
}

void CollectiveWatch::write(EntryBuilder& entry, stream::Time now, const std::string& node) const {
  for (const auto& [rank, seen] : ranks_) {
    const EntryBuilder::Member member{stream::Level::rank, rank, node, {}};
    const EntryBuilder::Value counts[] = {
        {"collective_launched", static_cast<double>(seen.launched), {}, false},
        {"collective_waiting", seen.oldest ? stream::seconds(seen.oldest->open) : 0, {}, false},
        {"collective_done", static_cast<double>(seen.done.value_or(0)), {}, false}};
    entry.sample(now, member, std::span{counts, seen.done ? 3u : 2u}, "tracer");
  }
  for (const auto& [rank, seen] : ranks_) {
    if (!seen.oldest || seen.oldest->open < described_after) continue;
    const EntryBuilder::Member member{stream::Level::rank, rank, node, {}};
    const trace::OpenCollective& open = *seen.oldest;
    std::vector<EntryBuilder::Value> values = {{"collective_function", 0, open.function, true},
                                               {"collective_number", static_cast<double>(open.sequence), {}, false}};
    if (!open.group.empty()) values.push_back({"collective_group", 0, open.group, true});
    if (open.group_size > 0)
      values.push_back({"collective_group_size", static_cast<double>(open.group_size), {}, false});
    entry.sample(now, member, values, "tracer");
  }
}

stream::Duration CollectiveWatch::longest_open() const {
  stream::Duration longest{};
  for (const auto& [rank, seen] : ranks_)
    if (seen.oldest) longest = std::max(longest, seen.oldest->open);
  return longest;
}

}  // namespace tocsin::adapters::wrap
