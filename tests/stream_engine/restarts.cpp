// A log judged by one process after the other, each of which is killed. What they leave on disk is all that the next
// one has.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <variant>

#include "adapters/runtime/disk_sink.h"
#include "adapters/runtime/shard_runner.h"
#include "tests/runtime/fakes.h"
#include "tests/stream_engine/collector.h"
#include "tests/stream_engine/generated_log.h"

namespace tocsin::tests {
namespace {

using namespace adapters;

class Disk {
 public:
  Disk() {
    std::string place = (std::filesystem::temp_directory_path() / "tocsin-restarts-XXXXXX").string();
    if (::mkdtemp(place.data()) == nullptr) throw std::runtime_error("no directory for the state");
    place_ = place;
  }
  ~Disk() { std::filesystem::remove_all(place_); }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  [[nodiscard]] const std::filesystem::path& place() const { return place_; }
  // What was published so far, by all processes.
  void append(const std::string& line) const { std::ofstream{place_ / "published", std::ios::app} << line << '\n'; }
  [[nodiscard]] std::vector<std::string> published() const {
    std::vector<std::string> lines;
    std::ifstream file{place_ / "published"};
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  std::filesystem::path place_;
};

template <class T>
T or_throw(stream::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
void or_throw(const stream::Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

// From the newest state, or from the log's first record, up to `end`.
Reported judge_up_to(std::size_t end, const GeneratedLog& log, const stream::LoadedPack& pack, const Disk& disk) {
  Collector collector;
  collector.written = [&](const std::string& line) { disk.append(line); };
  const auto publish = [&](const stream::Report& report, std::string_view) {
    if (const auto* transition = std::get_if<stream::AlertTransition>(&report)) collector.transition(*transition);
    else collector.verdict(std::get<stream::Verdict>(report));
  };
  journal::StateStore state{disk.place()};
  runtime::DiskSink sink{or_throw(journal::AlertHistory::open(disk.place())), state, publish};
  MemoryLog entries{log, end};
  MemoryPacks packs{pack};
  runtime::ShardRunner runner{pack, {entries, sink, packs, &state}, {.save_every = std::chrono::seconds{12}}};
  or_throw(runner.restore());
  while (or_throw(runner.step(100)) > 0) or_throw(runner.hand_over());
  return {runner.shard().digests(), runner.shard().row_digests(), disk.published()};
}

}  // namespace

Reported judge_with_restarts(const GeneratedLog& log, const stream::LoadedPack& pack, std::vector<std::size_t> kills) {
  std::sort(kills.begin(), kills.end());
  const Disk disk;
  for (const std::size_t kill : kills) {
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process to kill");
    if (child == 0) {
      try {
        (void)judge_up_to(kill, log, pack, disk);
        ::raise(SIGKILL);
      } catch (const std::exception& problem) { std::fprintf(stderr, "%s\n", problem.what()); }
      ::_exit(1);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
      throw std::runtime_error("the process that was to be killed at message " + std::to_string(kill) +
                               " ended by itself");
  }
  return judge_up_to(log.messages.size(), log, pack, disk);
}

}  // namespace tocsin::tests
