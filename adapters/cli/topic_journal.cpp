#include "adapters/cli/topic_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/service_commands.h"
#include "adapters/cli/usage.h"
#include "adapters/disk_log/disk_log.h"
#include "adapters/formats/parse_time.h"
#include "adapters/formats/printable.h"
#include "adapters/journal/follow.h"
#include "stream/job/murmur2.h"
#include "stream/values/nearest.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Errc;
using stream::Error;
using stream::Result;

Result<std::optional<kafka::Mark>> mark_of(const char* option, const std::string& text) {
  if (text.empty()) return std::optional<kafka::Mark>{};
  std::int64_t offset = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), offset);
  if (wrong == std::errc{} && end == text.data() + text.size() && offset >= 0)
    return std::optional<kafka::Mark>{offset};
  auto time = formats::parse_time(text);
  if (!time) time = formats::parse_time(text + "Z");
  if (time) return std::optional<kafka::Mark>{*time};
  return Error{Errc::malformed, fmt::format("{} {}: write an offset, or a time, 2026-11-21T02:14:43Z", option, text)};
}

Error cannot_make(const std::string& directory, int number) {
  return {Errc::io, fmt::format("cannot make a directory {}: {}", directory, std::strerror(number))};
}

Error no_such_job(const kafka::RecordOptions& asked, const kafka::Recorded& recorded) {
  constexpr std::size_t most = 5;
  const std::vector<std::string> jobs{recorded.jobs.begin(), recorded.jobs.end()};
  const std::size_t shown = std::min(jobs.size(), most);
  std::string text = fmt::format("no record of job '{}'{} in {}{}", formats::printable(asked.subject),
                                 stream::nearest(asked.subject, jobs), asked.begin || asked.end ? "this part of " : "",
                                 recorded.partition);
  if (jobs.empty()) text += ", which has no records of any job";
  else
    text += "; it has those of " +
            formats::printable(
                fmt::format("{}", fmt::join(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(shown), ", ")));
  if (jobs.size() > shown) text += fmt::format(" and {} more jobs", jobs.size() - shown);
  return {Errc::not_found, std::move(text)};
}

// Whether an entry is at the mark, or behind it.
bool reached(const kafka::Mark& mark, const stream::Entry& entry) {
  if (const auto* offset = std::get_if<std::int64_t>(&mark))
    return static_cast<std::uint64_t>(entry.position) >= static_cast<std::uint64_t>(*offset);
  return entry.appended >= std::get<stream::Time>(mark);
}

// The same as kafka::record() from the log of a service without Kafka: its partitions are journals.
Result<kafka::Recorded> record_log(const std::filesystem::path& log, const kafka::RecordOptions& options) {
  const auto partitions = disk_log::partitions_in(log);
  if (!partitions && partitions.error().code == Errc::not_found)
    return Error{Errc::not_found, "there is no log of a service in " + log.string() + ": its first line names it"};
  if (!partitions) return partitions.error();
  const int partition = options.partition >= 0 ? options.partition : stream::partition_of(options.subject, *partitions);
  if (partition >= *partitions)
    return Error{Errc::refused,
                 fmt::format("{} has no partition {}: they are 0 to {}", log.string(), partition, *partitions - 1)};
  std::error_code error;
  if (std::filesystem::exists(options.journal, error) && !std::filesystem::is_empty(options.journal, error))
    return Error{Errc::refused, options.journal.string() + " is not empty: name a new directory"};
  kafka::Recorded recorded;
  recorded.partition = disk_log::partition_directory(log, partition).string();
  auto reader = journal::Reader::open(recorded.partition);
  if (!reader) return reader.error();
  journal::Follower from{std::move(*reader)};
  auto to = journal::Writer::open(options.journal);
  if (!to) return to.error();
  std::vector<std::vector<std::byte>> packs;  // the last two before the part: one may be in force a moment later
  for (;;) {
    const auto entry = from.next();
    if (!entry) return entry.error();
    if (*entry == nullptr || (options.end && reached(*options.end, **entry))) break;
    const std::vector<std::byte> message{from.message().begin(), from.message().end()};
    if (recorded.entries == 0 && options.begin && !reached(*options.begin, **entry)) {
      for (const stream::ControlRecord& control : (*entry)->controls)
        if (control.kind == stream::ControlRecord::Kind::pack) packs.push_back(message);
      if (packs.size() > 2) packs.erase(packs.begin());
      continue;
    }
    packs.push_back(message);
    for (const auto& one : std::exchange(packs, {}))
      if (auto written = to->append(one, (*entry)->appended); !written) return written.error();
    ++recorded.entries;
    const std::string_view job = (*entry)->subject;
    if (!job.empty() && job == options.subject) ++recorded.of_subject;
    else if (!job.empty() && recorded.jobs.size() < kafka::Recorded::most_jobs) recorded.jobs.emplace(job);
  }
  if (auto synced = to->sync(); !synced) return synced.error();
  return recorded;
}

Result<kafka::Recorded> record(const TopicPart& part, kafka::RecordOptions options) {
  if (!part.log.empty()) return record_log(part.log, options);
  const auto cluster = cluster_of(part.cluster);
  if (!cluster) return cluster.error();
  options.from = *cluster;
  return kafka::record(options);
}

}  // namespace

void add_part_options(CLI::App& command, TopicPart& part) {
  auto* partition =
      add_option(command, "--partition", part.options.partition, "N", "The partition, if the journal is a cluster")
          ->check(CLI::Range(0, 1 << 20));
  auto* job = add_option(command, "--job", part.options.subject, "NAME",
                         "The partition that has this job's records, if the journal is a cluster");
  partition->excludes(job);
  add_option(command, "--from", part.from, "WHERE",
             "The first offset or time to read from a cluster, 2026-11-21T02:14:43Z (default: the oldest)");
  add_option(command, "--until", part.until, "WHERE", "The offset or time to stop before (default: the newest)");
}

bool names_a_cluster(const std::string& argument) {
  return argument.starts_with("kafka://") || argument.ends_with(".yml") || argument.ends_with(".yaml");
}

Result<kafka::Recorded> copy(const TopicPart& part, const std::filesystem::path& journal) {
  if (part.options.partition < 0 && part.options.subject.empty())
    return Error{Errc::refused, "name a --partition or a --job"};
  auto options = part.options;
  options.journal = journal;
  auto from = mark_of("--from", part.from), until = mark_of("--until", part.until);
  if (!from) return from.error();
  if (!until) return until.error();
  options.begin = std::move(*from);
  options.end = std::move(*until);
  auto recorded = record(part, options);
  if (!recorded || options.subject.empty() || recorded->of_subject > 0 || recorded->entries == 0) return recorded;
  std::error_code error;  // all that is there is ours
  for (std::filesystem::directory_iterator at{journal, error}, end; !error && at != end; at.increment(error))
    std::filesystem::remove_all(at->path(), error);
  return no_such_job(options, *recorded);
}

// A child process makes the directory, and removes it when the other end of its socket is closed, which the kernel does
// however this process ends. So no moment is left in which the directory is there and nobody removes it.
Result<TemporaryJournal> TemporaryJournal::make() {
  std::string name = (std::filesystem::temp_directory_path() / "tocsin-replay-XXXXXX").string();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return cannot_make(name, errno);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();  // a terminal's signals are not for it
    ::dup2(ends[0], STDIN_FILENO);
    ::close_range(1, ~0u, 0);
    const bool made = ::mkdtemp(name.data()) != nullptr;
    const int number = made ? 0 : errno;
    (void)::send(STDIN_FILENO, &number, sizeof number, MSG_NOSIGNAL);  // the parent may have ended by now
    if (made) (void)::send(STDIN_FILENO, name.data(), name.size(), MSG_NOSIGNAL);
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {}
    std::error_code error;
    if (made) std::filesystem::remove_all(name, error);
    ::_exit(0);
  }
  const int failed = child < 0 ? errno : 0;
  ::close(ends[0]);
  TemporaryJournal journal{ends[1]};
  int number = failed != 0 ? failed : EIO;
  if (failed == 0 && ::recv(ends[1], &number, sizeof number, MSG_WAITALL) == sizeof number && number == 0 &&
      ::recv(ends[1], name.data(), name.size(), MSG_WAITALL) == static_cast<ssize_t>(name.size())) {
    journal.directory_ = name;
    return journal;
  }
  return cannot_make(name, number);
}

Result<TemporaryJournal> TemporaryJournal::of(const TopicPart& part) {
  auto journal = make();
  if (!journal) return journal;
  const auto copied = copy(part, journal->directory());
  if (!copied) return copied.error();
  if (copied->entries == 0) return Error{Errc::not_found, "there is no record in this part of the topic"};
  return journal;
}

TemporaryJournal::~TemporaryJournal() {
  std::error_code error;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, error);
}

Result<std::optional<TemporaryJournal>> copy_of_part(TopicPart part, std::filesystem::path& journal) {
  if (!names_a_cluster(journal.string())) return std::optional<TemporaryJournal>{};
  part.cluster = journal.string();
  auto copied = TemporaryJournal::of(part);
  if (!copied) return copied.error();
  journal = copied->directory();
  return std::optional{std::move(*copied)};
}

void add_record_command(CLI::App& app, int& status) {
  auto part = std::make_shared<TopicPart>();
  auto journal = std::make_shared<std::filesystem::path>();
  auto* record =
      app.add_subcommand("record", "Copy a partition of a service's log to a new journal, for replay and explain");
  auto* kafka =
      add_option(*record, "--kafka", part->cluster, "ADDRESS",
                 "The cluster: kafka://HOST:PORT[,HOST:PORT][/PREFIX of the topics], or a configuration, FILE.yml")
          ->check(is_kafka_address());
  add_option(*record, "--log", part->log, "DIR", "The log of a service without Kafka")
      ->check(CLI::ExistingDirectory)
      ->excludes(kafka);
  add_part_options(*record, *part);
  add_needed(*record, "JOURNAL", *journal, "", "A new directory");
  record->callback([part, journal, &status] {
    if (part->cluster.empty() && part->log.empty())
      throw CLI::ValidationError("name the log: --kafka ADDRESS, or --log DIR");
    const auto copied = copy(*part, *journal);
    if (!copied) return void(status = cannot(copied.error()));
    const std::string& job = part->options.subject;
    fmt::print("{} entries recorded in {}{}\n", copied->entries, journal->string(),
               job.empty() ? std::string{}
                           : fmt::format(", {} of them of job {}", copied->of_subject, formats::printable(job)));
    status = 0;
  });
}

}  // namespace tocsin::adapters::cli
