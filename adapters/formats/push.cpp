#include "adapters/formats/push.h"

#include <simdjson.h>

#include <charconv>
#include <map>
#include <utility>

#include "adapters/formats/json_lines.h"
#include "schemas/codec.h"
#include "stream/job/event_fields.h"

namespace tocsin::adapters::formats {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

constexpr std::size_t longest_name = 255;
constexpr std::size_t full_entry = 1'000'000;     // bytes by JsonRecord::room(), after which the next entry begins
constexpr std::size_t largest_entry = 2'000'000;  // bytes: what each telemetry topic that `topics check` accepts takes

Error malformed(std::string what) { return {Errc::malformed, std::move(what)}; }

// The entry of a job that its next line is added to.
struct Open {
  schemas::EntryBuilder builder;
  std::string attempt;
  bool ended = false;       // its last record is the job's end
  std::size_t bytes = 0;    // by JsonRecord::room()
  std::size_t entries = 0;  // of the job, with this one

  // An entry belongs to one attempt.
  [[nodiscard]] bool takes(const JsonRecord& record) const {
    return attempt == record.attempt && !ended && !record.is_event("start") && bytes + record.room() <= full_entry;
  }
  void add(const JsonRecord& record, stream::Time otherwise) {
    record.add_to(builder, record.time.value_or(otherwise));
    ended = record.is_event("end");
    bytes += record.room();
  }
};

class Reading {
 public:
  explicit Reading(const PushSettings& settings) : settings_(settings), reader_(settings.now) {}

  Result<void> line(std::string_view text) {
    const auto read = reader_.read(text);
    if (!read) return read.error();
    const JsonRecord& record = **read;
    if (record.what == JsonRecord::What::control) return malformed("control records are the log's own: leave them out");
    const std::string job{record.job.empty() ? std::string_view{settings_.job} : record.job};
    if (job.empty()) return malformed("no job: name it in the line (\"job\": …) or in the address (?job=…)");
    if (job == stream::cluster_subject)
      return malformed("a job cannot be called cluster: that name is reserved for all nodes");
    Open& open = open_[job];
    if (!open.builder.empty() && !open.takes(record))
      if (auto closed = close(job, open); !closed) return closed;
    if (open.builder.empty()) begin(job, record.attempt, open);
    open.add(record, settings_.now);
    ++pushed_.records;
    return {};
  }

  Result<Pushed> finish() && {
    for (auto& [job, open] : open_)
      if (auto closed = close(job, open); !closed) return closed.error();
    pushed_.jobs = open_.size();
    return std::move(pushed_);
  }

 private:
  // Entries of one job and push have one sequence number, so each has a producer of its own. NAME#1, NAME#2, … also
  // say in which order they stand.
  void begin(const std::string& job, const std::string& attempt, Open& open) {
    open.builder.about(job, attempt);
    open.attempt = attempt;
    ++open.entries;
    if (settings_.sequence == 0) return;
    open.builder.produced_by(settings_.producer + "#" + std::to_string(open.entries), 0, settings_.sequence);
  }
  Result<void> close(const std::string& job, Open& open) {
    const stream::Entry entry = open.builder.entry();
    const auto bytes = encoder_.encode(entry);
    if (bytes.size() > largest_entry)
      return Error{Errc::too_large, "a record of job " + job + " takes more than 2 MB: write shorter ones"};
    pushed_.entries.push_back({job, {bytes.begin(), bytes.end()}});
    pushed_.entries.back().users = users_of(entry);
    open.builder.clear();
    open.bytes = 0;
    return {};
  }

  const PushSettings& settings_;
  JsonReader reader_;
  schemas::Encoder encoder_;
  std::map<std::string, Open, std::less<>> open_;  // by job
  Pushed pushed_;
};

}  // namespace

Result<PushSettings> push_settings(const std::map<std::string, std::string>& query, stream::Time now) {
  PushSettings settings;
  settings.now = now;
  for (const auto& [name, value] : query) {
    if (value.empty() || value.size() > longest_name)
      return malformed(name + ": write 1 to 255 bytes, or leave it out");
    if (!simdjson::validate_utf8(value.data(), value.size())) return malformed(name + ": not UTF-8");
    if (name == "job") settings.job = value;
    else if (name == "producer") settings.producer = value;
    else if (name == "sequence") {
      const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), settings.sequence);
      if (wrong != std::errc{} || end != value.data() + value.size() || settings.sequence == 0)
        return malformed("sequence: '" + value + "' is not a whole number of 1 or more");
    } else {
      return malformed("unknown parameter '" + name + "': job, producer and sequence are known");
    }
  }
  if (settings.producer.empty() != (settings.sequence == 0))
    return malformed("producer and sequence belong together: write both, or neither");
  return settings;
}

std::vector<std::string> users_of(const stream::Entry& entry) {
  std::vector<std::string> users;
  for (const stream::EventRecord& event : entry.events)
    if (event.name == "start")
      if (std::string user = stream::text_of(event, "labels.user"); !user.empty()) users.push_back(std::move(user));
  return users;
}

Result<Pushed> read_push(std::string_view text, const PushSettings& settings) {
  Reading reading{settings};
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (auto taken = reading.line(line); !taken)
      return Error{taken.error().code, "line " + std::to_string(number) + ": " + taken.error().message};
  }
  auto pushed = std::move(reading).finish();
  if (pushed && pushed->records == 0) return malformed("no record: post JSON lines, one object a line");
  return pushed;
}

}  // namespace tocsin::adapters::formats
