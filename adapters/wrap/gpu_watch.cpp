#include "adapters/wrap/gpu_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace tocsin::adapters::wrap {

using schemas::EntryBuilder;

namespace {

constexpr int between_device_looks = 1000;  // ms

// The watching process: ends when nobody reads any more.
[[noreturn]] void watch(int out) {
  ::prctl(PR_SET_NAME, "tocsin-gpus");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string reason;
  const auto nvml = Nvml::open(reason);
  if (!nvml) ::_exit(0);
  const auto report = [out](const GpuReport& of) {
    if (::send(out, &of, sizeof of, MSG_NOSIGNAL) < 0 && errno != EAGAIN) ::_exit(0);
  };
  const auto milliseconds = [] {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
  };
  for (;;) {
    const std::int64_t next = milliseconds() + between_device_looks;
    nvml->read(report);
    for (std::int64_t left = next - milliseconds(); left > 0; left = next - milliseconds())
      nvml->wait(static_cast<int>(left), report);
  }
}

EntryBuilder::Member member_of(const GpuReport& report, const std::string& node) {
  return {stream::Level::gpu, 0, node, report.pci};
}

}  // namespace

bool visible(const char* devices, unsigned index, std::string_view uuid) {
  if (devices == nullptr) return true;
  for (std::string_view rest{devices}; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    unsigned number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc{} && end == word.data() + word.size() ? number == index
                                                                 : !word.empty() && uuid.starts_with(word))
      return true;
  }
  return false;
}

GpuWatch::~GpuWatch() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, WNOHANG);  // one that a driver blocks does not end: nobody waits for it
}

void GpuWatch::start(const char* devices) {
  devices_ = devices;
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  Descriptor ours{ends[0]}, theirs{ends[1]};
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close_range(3, static_cast<unsigned>(theirs.get()) - 1, 0);
    ::close_range(static_cast<unsigned>(theirs.get()) + 1, ~0u, 0);
    watch(theirs.get());
  }
  if (pid_ < 0) return;
  make_nonblocking(ours.get());
  reports_ = std::move(ours);
}

void GpuWatch::write(EntryBuilder& entry, stream::Time now, const std::string& node, const OwnerOf& owner) {
  GpuReport report;
  for (;;) {
    const ssize_t size = ::recv(reports_.get(), &report, sizeof report, MSG_DONTWAIT);
    if (size == static_cast<ssize_t>(sizeof report)) {
      take(report, entry, now, node, owner);
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size == 0 || (size < 0 && errno != EAGAIN)) {  // no library, no GPU, or it was killed
      reports_.close();
      ::waitpid(pid_, nullptr, WNOHANG);
      pid_ = -1;
    }
    return;
  }
}

void GpuWatch::take(const GpuReport& report, EntryBuilder& entry, stream::Time now, const std::string& node,
                    const OwnerOf& owner) {
  const std::string pci = report.pci;
  std::map<std::uint32_t, pid_t> ranks;
  for (unsigned i = 0; i < report.processes; ++i) {
    const Owner of = owner(static_cast<pid_t>(report.pid[i]));
    if (of.ours) used_.insert(pci);
    if (of.rank) ranks.emplace(*of.rank, of.pid);
  }
  if (used_.empty() ? !visible(devices_, report.index, report.uuid) : !used_.contains(pci)) return;
  const auto gpu = member_of(report, node);
  const std::string index = std::to_string(report.index);
  const EntryBuilder::Field names[] = {
      {"gpu_pci", 0, pci, true}, {"gpu_uuid", 0, report.uuid, true}, {"gpu_index", 0, index, true}};
  if (named_.insert(pci).second) entry.event(now, gpu, "member", names, "sampler");
  for (const auto& [rank, pid] : ranks) {
    if (!gpu_of_.emplace(rank, pci).second) continue;  // the first that it was seen on
    std::vector<EntryBuilder::Field> fields{
        {"node", 0, node, true}, {"pid", static_cast<double>(pid), {}, false}, {"gpu_model", 0, report.model, true}};
    fields.insert(fields.end(), std::begin(names), std::end(names));
    entry.event(now, {stream::Level::rank, rank, node, {}}, "member", fields, "sampler");
  }
  if (report.events) covered_.insert(pci);
  switch (report.kind) {
    case GpuReport::Kind::sample: {
      std::vector<EntryBuilder::Value> values;
      for (std::size_t i = 0; i < GpuReport::values; ++i)
        if (report.value[i] != GpuReport::none)
          values.push_back({signal_of(static_cast<GpuReport::Value>(i)), report.value[i], {}, false});
      if (!values.empty()) entry.sample(now, gpu, values, "sampler");
      return;
    }
    case GpuReport::Kind::xid: {
      const EntryBuilder::Field fields[] = {{"code", static_cast<double>(report.xid), {}, false},
                                            {"pci", 0, pci, true}};
      return entry.event(now, gpu, "xid", fields, "kernel_log");
    }
    case GpuReport::Kind::lost: {
      const EntryBuilder::Field fields[] = {{"pci", 0, pci, true}};
      return entry.event(now, EntryBuilder::job(), "gpu_lost", fields, "sampler");
    }
    case GpuReport::Kind::failure: {
      const EntryBuilder::Field fields[] = {{"call", 0, report.call, true}, {"reason", 0, report.reason, true}};
      return entry.event(now, gpu, "gpu_unreadable", fields, "sampler");
    }
  }
}

void GpuWatch::cover(EntryBuilder& entry, const std::string& node) const {
  std::vector<EntryBuilder::Member> members;
  for (const std::string& pci : covered_) members.push_back({stream::Level::gpu, 0, node, pci});
  if (!members.empty()) entry.coverage("kernel_log", members);
}

}  // namespace tocsin::adapters::wrap
