#include "adapters/formats/ingest.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "adapters/formats/coverage_spans.h"
#include "adapters/formats/merge.h"
#include "adapters/journal/directory.h"
#include "adapters/journal/journal.h"

namespace tocsin::adapters::formats {
namespace {

using namespace std::chrono_literals;
using schemas::EntryBuilder;
using stream::Duration;
using stream::Errc;
using stream::Error;
using stream::Level;
using stream::Result;
using stream::Time;
using What = JsonRecord::What;
using Control = stream::ControlRecord::Kind;

constexpr Duration beat_every = 1s, coverage_every = 10s;
constexpr Duration longest_pause = 26h;     // with beats; an attempt without records for 24 h has ended by then
constexpr Duration believable = 24h * 366;  // from the median time
constexpr std::size_t most_batched = 4096, most_batched_bytes = 1u << 20;

const std::function<void(const std::string&)> in_silence = [](const std::string&) {};

std::string_view source_of(const JsonRecord& record) {
  if (!record.source.empty()) return record.source;
  if (record.what == What::line) return "log";
  if (record.what == What::samples) return "sampler";
  return {};  // of an event: the signal's own, which the record itself proves
}

// The result of the first reading.
struct Plan {
  bool has_beats = false, has_coverage = false;
  std::map<std::int64_t, std::uint64_t> days;  // records by day, for the median
  Time earliest = stream::long_ago, latest = stream::never;
  Time begin{};  // the first believable time
  CoverageSpans coverage;
};

class Ingestion {
 public:
  Ingestion(Merge merge, const IngestSettings& settings) : merge_(std::move(merge)), settings_(settings) {}
  Result<IngestSummary> run(const std::filesystem::path& to);

 private:
  Result<void> find_clock();     // from control records and the median time
  Result<void> find_coverage();  // finds the spans of coverage
  Result<void> write();
  Result<void> take(const Merge::Record& next);
  Result<void> advance(Time to);
  Result<void> tick(Time at);
  Result<void> flush();
  Result<void> append(EntryBuilder& builder, Time arrival);
  // Reads the files, for the first, second or third time, and visits each record.
  template <class Visit>
  Result<void> each(int time, const std::function<void(const std::string&)>& complain, Visit visit) {
    if (auto begun = merge_.begin(complain); !begun) return begun;
    for (;;) {
      const auto next = merge_.next();
      if (!next) return next.error();
      if (next->record == nullptr) return {};
      if (auto visited = visit(*next); !visited) return visited;
      if (merge_.lines() % 4096 == 0) settings_.progress((time - 1 + merge_.progress()) / 3);
    }
  }

  [[nodiscard]] std::string_view job_of(const JsonRecord& record) const {
    return record.job.empty() ? std::string_view{settings_.job} : record.job;
  }
  [[nodiscard]] CoverageKey coverage_key(const JsonRecord& record) const {
    CoverageKey key{std::string{job_of(record)}, record.attempt, 0, std::string{source_of(record)}, Level::job, 0, {}};
    if (const auto ended = ends_.find(key.job); ended != ends_.end() && record.attempt.empty())
      key.ends = ended->second;
    if (record.member.level == Level::rank) key.level = Level::rank, key.rank = record.member.rank;
    else if (record.member.level != Level::job) key.level = Level::node, key.node = record.member.node;
    return key;
  }
  void note_end(const JsonRecord& record) {
    if (record.is_event("end") && record.attempt.empty()) ++ends_[std::string{job_of(record)}];
  }
  [[nodiscard]] static EntryBuilder::Member member_of(const CoverageKey& key) {
    return {key.level, key.rank, key.node, {}};
  }

  Merge merge_;
  const IngestSettings& settings_;
  Plan plan_;
  IngestSummary summary_;
  std::optional<journal::Writer> writer_;
  schemas::Encoder encoder_;
  Time clock_ = stream::long_ago;

  EntryBuilder batch_, made_;
  std::string batch_job_, batch_attempt_;
  bool batch_ended_ = false;  // its last record is the job's end
  std::size_t batched_ = 0, batched_bytes_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> ends_;  // of attempts without a name, by job
};

Result<void> Ingestion::find_clock() {
  std::uint64_t records = 0;
  const auto look = [&](const Merge::Record& next) -> Result<void> {
    const JsonRecord& record = *next.record;
    if (record.what == What::coverage) plan_.has_coverage = true;
    if (record.what == What::control && record.control.kind == Control::beat) plan_.has_beats = true;
    if (record.time) {
      ++plan_.days[stream::nanoseconds(*record.time) / Duration{24h}.count()];
      ++records;
    }
    return {};
  };
  if (auto read = each(1, in_silence, look); !read) return read;
  if (records == 0) {
    // The reported lines give the reasons.
    if (auto read = each(1, settings_.complain, look); !read) return read;
    return Error{Errc::malformed,
                 "no record with a time was found: docs/json-lines.md has the form, one JSON object a line"};
  }
  std::uint64_t before = 0;
  for (const auto& [day, count] : plan_.days) {
    before += count;
    if (2 * before < records) continue;
    const double median = static_cast<double>(day) * 86400e9;
    plan_.earliest = median < -9e18 + 4e16 ? stream::long_ago
                                           : stream::at_nanoseconds(static_cast<std::int64_t>(median)) - believable;
    plan_.latest = median > 9e18 - 4e16 ? stream::never
                                        : stream::at_nanoseconds(static_cast<std::int64_t>(median)) + believable + 24h;
    break;
  }
  merge_.believe(plan_.earliest, plan_.latest);
  return {};
}

Result<void> Ingestion::find_coverage() {
  plan_.begin = stream::never;
  const auto read = each(2, in_silence, [&](const Merge::Record& next) -> Result<void> {
    const JsonRecord& record = *next.record;
    if (record.time && !next.clock_off) plan_.begin = std::min(plan_.begin, *record.time);
    note_end(record);
    if (!plan_.has_coverage && record.what != What::control && !source_of(record).empty())
      plan_.coverage.add(coverage_key(record), next.arrival);
    return {};
  });
  ends_.clear();
  return read;
}

Result<void> Ingestion::append(EntryBuilder& builder, Time arrival) {
  auto position = writer_->append(encoder_.encode(builder.entry()), arrival);
  if (!position) return position.error();
  ++summary_.entries;
  builder.clear();
  return {};
}

Result<void> Ingestion::flush() {
  if (batched_ == 0) return {};
  batched_ = batched_bytes_ = 0;
  return append(batch_, clock_);
}

// The records of each second: coverage, then the beat after it.
Result<void> Ingestion::tick(Time at) {
  if (!plan_.has_coverage && at.time_since_epoch() % coverage_every == Duration{}) {
    const auto& spans = plan_.coverage.over(at);
    const auto group_of = [](const CoverageKey& key) { return std::tie(key.job, key.attempt, key.ends, key.source); };
    std::vector<EntryBuilder::Member> members;
    for (auto span = spans.begin(); span != spans.end();) {
      const CoverageKey& group = (*span)->first;
      members.clear();
      for (; span != spans.end() && group_of((*span)->first) == group_of(group); ++span)
        members.push_back(member_of((*span)->first));
      // The whole job is covered if the records name no member; otherwise it needs a record of its own.
      made_.about(group.job, group.attempt);
      if (members.front().level == Level::job) {
        made_.coverage(group.source, {});
        members.erase(members.begin());
      }
      if (!members.empty()) made_.coverage(group.source, members);
      ++summary_.made_coverage;
      if (auto appended = append(made_, at); !appended) return appended;
    }
  }
  if (plan_.has_beats) return {};
  made_.beat();
  ++summary_.made_beats;
  return append(made_, at);
}

// Moves the clock to this arrival.
Result<void> Ingestion::advance(Time to) {
  if (to <= clock_) return {};
  if (auto flushed = flush(); !flushed) return flushed;
  if (clock_ == stream::long_ago) clock_ = stream::row_end(to, beat_every) - beat_every - 1ns;
  if (to - clock_ > longest_pause) ++summary_.skipped_pauses;
  const Time until = to - clock_ > longest_pause ? clock_ + longest_pause : to;
  for (Time at = stream::row_end(clock_ + 1ns, beat_every); at <= until; at += beat_every)
    if (auto ticked = tick(at); !ticked) return ticked;
  clock_ = to;
  return {};
}

Result<void> Ingestion::take(const Merge::Record& next) {
  const JsonRecord& record = *next.record;
  const Time arrival = std::max(next.arrival, plan_.begin);
  if (next.clock_off) ++summary_.clocks_off;
  if (auto advanced = advance(arrival); !advanced) return advanced;

  if (record.what == What::control) {
    if (record.control.kind == Control::seal) return {};  // one is written at the end
    if (auto flushed = flush(); !flushed) return flushed;
    record.add_to(made_, arrival);
    ++summary_.controls;
    return append(made_, arrival);
  }
  const std::string_view job = job_of(record);
  // An entry belongs to one attempt.
  const bool same = job == batch_job_ && record.attempt == batch_attempt_ && !batch_ended_;
  if (batched_ != 0 &&
      (!same || record.is_event("start") || batched_ >= most_batched || batched_bytes_ >= most_batched_bytes))
    if (auto flushed = flush(); !flushed) return flushed;
  if (batched_ == 0) {
    batch_job_ = job;
    batch_attempt_ = record.attempt;
    batch_.about(job, record.attempt);
  }
  record.add_to(batch_, record.time.value_or(arrival));
  if (!plan_.has_coverage && !source_of(record).empty()) {
    if (const CoverageKey key = coverage_key(record); plan_.coverage.begin(key)) {
      const auto member = member_of(key);
      batch_.coverage(key.source,
                      member.level == Level::job ? std::span<const EntryBuilder::Member>{} : std::span{&member, 1});
      ++summary_.made_coverage;
    }
  }
  batch_ended_ = record.is_event("end");
  note_end(record);
  ++batched_;
  batched_bytes_ += record.room();
  switch (record.what) {
    case What::samples: summary_.samples += record.values.size(); break;
    case What::line: ++summary_.log_lines; break;
    case What::event: ++summary_.events; break;
    case What::coverage: ++summary_.coverage; break;
    case What::control: break;
  }
  return {};
}

Result<void> Ingestion::write() {
  const auto read = each(3, settings_.complain, [&](const Merge::Record& next) {
    auto taken = take(next);
    if (summary_.entries != 0 && summary_.first == Time{}) summary_.first = clock_;
    return taken;
  });
  if (!read) return read;
  if (auto flushed = flush(); !flushed) return flushed;
  made_.seal();
  if (auto sealed = append(made_, clock_); !sealed) return sealed;
  summary_.last = clock_;
  summary_.lines = merge_.lines();
  summary_.bad_lines = merge_.bad_lines();
  return writer_->sync();
}

Result<IngestSummary> Ingestion::run(const std::filesystem::path& to) {
  auto there = journal::segments(to);
  if (!there) return there.error();
  if (!there->empty())
    return Error{Errc::refused, to.string() + " holds a journal already: choose another directory, or delete it"};
  if (auto looked = find_clock(); !looked) return looked.error();
  if (auto coverage = find_coverage(); !coverage) return coverage.error();
  auto writer = journal::Writer::open(to);
  if (!writer) return writer.error();
  writer_.emplace(std::move(*writer));
  if (auto written = write(); !written) return written.error();
  settings_.progress(1);
  return summary_;
}

}  // namespace

Result<IngestSummary> ingest(const std::vector<std::filesystem::path>& files, const std::filesystem::path& to,
                             const IngestSettings& settings) {
  if (files.empty()) return Error{Errc::refused, "no file named: name files of JSON lines, or - for standard input"};
  auto merge = Merge::open(files, settings.job);
  if (!merge) return merge.error();
  return Ingestion{std::move(*merge), settings}.run(to);
}

}  // namespace tocsin::adapters::formats
