#include "adapters/node/recorded_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <system_error>
#include <utility>

#include "adapters/journal/directory.h"
#include "adapters/node/node_recorder.h"
#include "adapters/wrap/run_directory.h"

namespace tocsin::adapters::node {

namespace fs = std::filesystem;

namespace {

constexpr const char* description_name = "node.json";
constexpr const char* kept_name = "node.state";
constexpr wrap::Backoff patient{std::chrono::seconds{1}, std::chrono::seconds{60}, std::chrono::seconds{60}};

}  // namespace

// In memory that a file keeps, so that a next agent goes on with the same ranks and attempt. Null: it cannot be.
RecordedJob::Kept* RecordedJob::map_kept(const fs::path& run) {
  constexpr std::uint64_t form = (1ull << 32) + sizeof(Kept);
  const wrap::Descriptor file{::open((run / kept_name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file || ::ftruncate(file.get(), sizeof(Kept)) != 0) return nullptr;
  void* memory = ::mmap(nullptr, sizeof(Kept), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* kept = static_cast<Kept*>(memory);
  if (kept->form != form) kept = new (memory) Kept;
  kept->form = form;
  return kept;
}

stream::Result<void> RecordedJob::prepare(const fs::path& run, const JobDescription& job) {
  if (auto made = wrap::make_run_directory(run); !made) return made;
  const auto directory = journal::OpenDirectory::open(run);
  if (!directory) return directory.error();
  return directory->write(description_name, to_text(job));
}

stream::Result<std::optional<JobDescription>> RecordedJob::unfinished_in(const fs::path& run) {
  const auto text = journal::read_whole(run / description_name);
  if (!text && text.error().code == stream::Errc::not_found) return std::optional<JobDescription>{};
  auto job = text ? description_from(*text) : std::nullopt;
  if (job) return job;
  const std::string why = text ? (run / description_name).string() + " is damaged" : text.error().message;
  return stream::Error{stream::Errc::malformed, why + "; the job recorded there is not continued: `tocsin forward " +
                                                    run.string() + " --to ADDRESS` sends its records, then remove " +
                                                    run.string()};
}

RecordedJob::RecordedJob(fs::path run, JobDescription job, std::uint64_t journal_bytes, const wrap::RunClock& clock,
                         int stop, const wrap::EngineEntry& send)
    : run_(std::move(run)),
      job_(std::move(job)),
      kept_(map_kept(run_)),
      recorder_{"tocsin-recorder",
                {stop},
                STDERR_FILENO,
                [this, journal_bytes, clock, stop](unsigned) {
                  if (kept_ == nullptr) {
                    ::fprintf(stderr, "tocsin: %s/%s cannot be mapped\n", run_.c_str(), kept_name);
                    return 1;
                  }
                  if (kept_->sealed) return 0;
                  NodeRecorderSetup setup{.run = run_, .job = job_, .journal_bytes = journal_bytes};
                  setup.epoch = kept_->epochs++;
                  setup.clock = clock;
                  setup.legacy = &kept_->legacy;
                  setup.stop = stop;
                  kept_->sealed = NodeRecorder{setup}.run();
                  return kept_->sealed ? 0 : 1;
                },
                patient},
      sender_{"tocsin-sender",
              {stop},
              STDERR_FILENO,
              [this, stop, send](unsigned restarts) {
                return send(run_, {job_.reported.job, stop, restarts});
              },
              patient} {}

RecordedJob::~RecordedJob() {
  if (kept_ != nullptr) ::munmap(kept_, sizeof(Kept));
}

void RecordedJob::start(const wrap::Signals& signals, stream::Time now) {
  recorder_.start(signals, now);
  sender_.start(signals, now);
}

void RecordedJob::poll(const wrap::Signals& signals, stream::Time now) {
  recorder_.poll(signals, now);
  sender_.poll(signals, now);
}

bool RecordedJob::ended(pid_t pid, int status, stream::Time now) {
  return recorder_.ended(pid, status, now) || sender_.ended(pid, status, now);
}

void RecordedJob::finished() {
  std::error_code error;
  fs::remove(run_ / description_name, error);
  fs::remove(run_ / kept_name, error);
}

}  // namespace tocsin::adapters::node
