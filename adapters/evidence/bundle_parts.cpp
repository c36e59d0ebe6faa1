#include "adapters/evidence/bundle_parts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>

#include "adapters/evidence/kernel_view.h"
#include "adapters/evidence/proc_file.h"
#include "adapters/evidence/tools.h"
#include "adapters/formats/alert_form.h"
#include "adapters/journal/follow.h"
#include "adapters/nccl/ras.h"
#include "dsl/text/extraction.h"

namespace tocsin::adapters::evidence {

using namespace std::chrono_literals;
using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

constexpr std::size_t most_dump = 64u << 20, most_kernel_lines = 500, lines_of_rank = 200, most_lines = 4000;

// Variables of the environment that may be written down; a * stands for any end.
constexpr std::string_view shown_variables[] = {"RANK",           "LOCAL_RANK", "WORLD_SIZE",   "LOCAL_WORLD_SIZE",
                                                "GROUP_RANK",     "NODE_RANK",  "MASTER_ADDR",  "MASTER_PORT",
                                                "NCCL_*",         "TORCH_*",    "SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES",
                                                "OMP_NUM_THREADS"};

bool is_shown(std::string_view name) {
  return std::any_of(std::begin(shown_variables), std::end(shown_variables), [&](std::string_view shown) {
    return shown.ends_with('*') ? name.starts_with(shown.substr(0, shown.size() - 1)) : name == shown;
  });
}

// When the process began, by the wall clock, in seconds; 0: not known.
std::int64_t began(pid_t pid) {
  const std::uint64_t start = start_of(pid);
  const std::string stat = read_proc("/proc/stat");
  const std::size_t at = stat.find("\nbtime ");
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (start == 0 || at == std::string::npos || ticks <= 0) return 0;
  return std::strtoll(stat.c_str() + at + 7, nullptr, 10) +
         static_cast<std::int64_t>(start / static_cast<std::uint64_t>(ticks));
}

std::string file_of(const StackTarget& target, const std::string& prefix, const std::string& end) {
  return prefix + (target.rank ? "rank_" + std::to_string(*target.rank) : "process_" + std::to_string(target.pid)) +
         end;
}

std::string member_text(const stream::MemberKey& member) {
  if (member.level == stream::Level::rank) return "rank " + std::to_string(member.rank);
  if (member.level == stream::Level::node) return "node " + std::string{member.node};
  return {};
}

}  // namespace

Result<std::string> process_text(const StackTarget& target) {
  if (start_of(target.pid) == 0 || (target.start != 0 && start_of(target.pid) != target.start))
    return Error{Errc::not_found, "the process has ended"};
  std::string out;
  for (const char* file : {"status", "wchan", "syscall", "stack", "io", "limits", "cgroup", "oom_score"}) {
    errno = 0;
    const std::string text = read_proc(proc_path(target.pid, file));
    out += std::string{"== "} + file + '\n';
    out += !text.empty() ? text : errno != 0 ? std::string{"("} + std::strerror(errno) + ")" : "";
    if (!out.ends_with('\n')) out += '\n';
  }
  std::string command = read_proc(proc_path(target.pid, "cmdline"));
  std::replace(command.begin(), command.end(), '\0', ' ');
  out += "== command\n" + dsl::text::mask_secrets(command) + "\n== environment\n";
  const std::string environment = environment_of(target.pid);
  for (std::string_view rest = environment; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    if (is_shown(entry.substr(0, entry.find('=')))) out += dsl::text::mask_secrets(entry) + '\n';
  }
  return out;
}

// As PyTorch names it: the prefix and the rank. It is looked for where the process sees it, which may be a container.
Result<std::string> flight_recorder_dump(const StackTarget& target) {
  const std::string environment = environment_of(target.pid);
  std::string prefix{variable_in(environment, "TORCH_FR_DUMP_TEMP_FILE").value_or("")};
  if (prefix.empty()) prefix = variable_in(environment, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE").value_or("");
  if (prefix.empty()) prefix = "/tmp/nccl_trace_rank_";
  if (!target.rank || !prefix.starts_with('/')) return Error{Errc::not_found, "the name of its dump is not known"};
  const std::string path = prefix + std::to_string(*target.rank);
  const journal::File root{::open(proc_path(target.pid, "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const journal::File file{static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str() + 1, &how, sizeof how))};
  struct stat found {
  }, process{};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode))
    return Error{Errc::not_found, "there is no " + path + " (PyTorch writes it when a collective times out)"};
  // The name is the process' own word: what another user owns is not its dump, and an older file is another job's.
  if (::stat(proc_path(target.pid, "").c_str(), &process) != 0 || found.st_uid != process.st_uid)
    return Error{Errc::refused, path + " belongs to another user"};
  if (found.st_mtime < began(target.pid)) return Error{Errc::not_found, path + " is older than the process"};
  if (static_cast<std::size_t>(found.st_size) > most_dump) return Error{Errc::too_large, path + " is too large"};
  std::string bytes(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t got = 0;
  for (ssize_t size = 1; got < bytes.size() && size > 0; got += static_cast<std::size_t>(std::max<ssize_t>(size, 0)))
    size = ::read(file.get(), bytes.data() + got, bytes.size() - got);
  bytes.resize(got);
  return bytes;
}

Result<std::string> last_lines(const std::filesystem::path& run, std::size_t most) {
  const auto segments = journal::segments(run);
  if (!segments) return segments.error();
  std::deque<std::string> lines;
  // The newest segment may have just begun: the one before is read, too.
  const std::size_t first = segments->size() < 2 ? 0 : segments->size() - 2;
  auto reader = journal::Reader::open(run);
  if (!reader) return reader.error();
  journal::Follower log{std::move(*reader)};
  if (!segments->empty())
    if (auto sought = log.seek(stream::Position{(*segments)[first].position}); !sought) return sought.error();
  for (auto entry = log.next(); entry && *entry != nullptr; entry = log.next())
    for (const stream::LineRecord& line : (*entry)->lines) {
      const std::string who = member_text(line.member);
      lines.push_back(formats::time_text(line.time) + (who.empty() ? "" : " " + who) +
                      (line.error_stream ? " stderr: " : ": ") + std::string{line.text.substr(0, 4096)});
      if (lines.size() > most) lines.pop_front();
    }
  if (lines.empty()) return Error{Errc::not_found, "the job has printed nothing lately"};
  std::string out;
  for (const std::string& line : lines) out += dsl::text::mask_secrets(line) + '\n';
  return out;
}

Result<std::string> kernel_log() {
  const journal::File file{::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  if (!file)
    return Error{Errc::refused,
                 std::string{"cannot read /dev/kmsg ("} + std::strerror(errno) + "): run as root, or give CAP_SYSLOG"};
  std::deque<std::string> lines;
  char buffer[8192];
  for (int records = 0; records < 1'000'000; ++records) {
    const ssize_t size = ::read(file.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EPIPE) continue;  // it was overwritten meanwhile
    if (size <= 0) break;
    std::string_view record{buffer, static_cast<std::size_t>(size)};
    lines.emplace_back(record.substr(0, record.find('\n')));
    if (lines.size() > most_kernel_lines) lines.pop_front();
  }
  if (lines.empty()) return Error{Errc::not_found, "the kernel's log is empty"};
  std::string out;
  for (const std::string& line : lines) out += dsl::text::mask_secrets(line) + '\n';
  return out;
}

Result<std::string> gpu_state(std::chrono::milliseconds limit) {
  const auto tool = find_tool("nvidia-smi", ::getpid());
  if (!tool) return Error{Errc::not_found, "nvidia-smi is not installed"};
  Answer answer = run_tool(*tool, {"-q"}, limit);
  if (answer.late) return Error{Errc::io, "nvidia-smi did not finish in time"};
  if (!WIFEXITED(answer.status) || WEXITSTATUS(answer.status) != 0)
    return Error{Errc::io, "nvidia-smi failed: " + (answer.out + answer.err).substr(0, 200)};
  return std::move(answer.out);
}

Result<std::string> ras_answer(const std::vector<StackTarget>& targets, stream::Duration limit) {
  std::string address;
  for (const StackTarget& target : targets)
    if (address.empty()) address = variable_in(environment_of(target.pid), "NCCL_RAS_ADDR").value_or("");
  if (address.empty()) address = nccl::ras_address();
  const auto end = std::chrono::steady_clock::now() + limit;
  nccl::RasQuery query{address, limit / 2};
  while (!query.advance()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready{query.descriptor(), query.events(), 0};
    if (left <= 0ms || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) break;
  }
  const auto status = query.result();
  if (!status) return status.error();
  const bool ours = status->names_nobody() || status->includes([&](pid_t pid, const std::string&) {
    return std::any_of(targets.begin(), targets.end(), [&](const StackTarget& one) { return one.pid == pid; });
  });
  if (!ours) return Error{Errc::not_found, "NCCL's RAS at " + address + " answers for another job"};
  return query.answer();
}

std::vector<PartMaker> bundle_parts(const std::filesystem::path& run, const std::vector<StackTarget>& targets) {
  std::vector<PartMaker> parts;
  const std::size_t most = std::min(most_lines, lines_of_rank * std::max<std::size_t>(targets.size(), 1));
  parts.push_back({"lines.txt", 20s, true, false, [run, most] { return last_lines(run, most); }});
  for (const StackTarget& target : targets)
    parts.push_back({file_of(target, "", ".txt"), 3s, false, false, [target] { return process_text(target); }});
  parts.push_back({"kernel.txt", 5s, true, false, kernel_log});
  parts.push_back({"nccl_ras.txt", 12s, false, false, [targets] { return ras_answer(targets, 10s); }});
  parts.push_back({"nvidia-smi.txt", 20s, false, false, [] { return gpu_state(15s); }});
  for (const StackTarget& target : targets)
    parts.push_back(
        {file_of(target, "flight_recorder_", ""), 10s, false, true, [target] { return flight_recorder_dump(target); }});
  return parts;
}

}  // namespace tocsin::adapters::evidence
