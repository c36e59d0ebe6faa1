// A log judged by one process after the other, each of which is killed. What they leave on disk is all that the next one has.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "adapters/journal/state.h"
#include "tests/stream_engine/collector.h"
#include "tests/stream_engine/generated_log.h"

namespace tocsin::tests {
namespace {

// The newest snapshot, and the history of alerts.
class Disk {
 public:
  Disk() {
    std::string place = (std::filesystem::temp_directory_path() / "tocsin-restarts-XXXXXX").string();
    if (::mkdtemp(place.data()) == nullptr) throw std::runtime_error("no directory for snapshots");
    place_ = place;
  }
  ~Disk() { std::filesystem::remove_all(place_); }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  void save(const stream::Bundle& bundle) const {
    const auto stored = adapters::journal::StateStore{place_}.store(bundle);
    if (!stored) throw std::runtime_error(stored.error().message);
  }
  [[nodiscard]] std::optional<stream::Stored> newest() const {
    auto stored = adapters::journal::StateStore{place_}.newest();
    if (!stored) throw std::runtime_error(stored.error().message);
    return std::move(*stored);
  }
  void append(const std::string& line) const { std::ofstream{place_ / "history", std::ios::app} << line << '\n'; }
  void read_history(Collector& into) const {
    std::ifstream file{place_ / "history"};
    for (std::string line; std::getline(file, line);) into.known(line);
  }

 private:
  std::filesystem::path place_;
};

// From the newest snapshot, or from the log's first record, up to `end`.
Said judge_up_to(std::size_t end, const GeneratedLog& log, const stream::LoadedPack& pack, const Disk& disk) {
  Collector collector;
  disk.read_history(collector);
  collector.written = [&](const std::string& line) { disk.append(line); };
  schemas::Decoder decoder;
  stream::Shard shard{pack, nullptr, collector, {.save_every = std::chrono::seconds{12}}};
  std::size_t from = 0;
  if (const auto newest = disk.newest()) {
    const auto position = shard.load(newest->sections, newest->position);
    if (!position) throw std::runtime_error(position.error().message);
    from = static_cast<std::size_t>(*position);
  }
  for (std::size_t i = from; i < end; ++i) {
    shard.consume(decoded(decoder, log, i));
    if (!shard.sections_due()) continue;
    stream::Bundle bundle;
    bundle.sections = shard.take_sections();
    bundle.position = static_cast<stream::Position>(i + 1);
    if (!bundle.sections.empty()) disk.save(bundle);
  }
  return {shard.digests(), shard.row_digests(), collector.reported};
}

}  // namespace

Said judge_with_restarts(const GeneratedLog& log, const stream::LoadedPack& pack, std::vector<std::size_t> kills) {
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
      throw std::runtime_error("the process that was to be killed at message " + std::to_string(kill) + " ended by itself");
  }
  return judge_up_to(log.messages.size(), log, pack, disk);
}

}  // namespace tocsin::tests
