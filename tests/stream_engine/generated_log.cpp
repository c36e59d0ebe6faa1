#include "tests/stream_engine/generated_log.h"

#include "tests/stream_engine/collector.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "dsl/load/loader.h"
#include "dsl/load/text_definitions.h"
#include "dsl/text/extraction.h"

namespace tocsin::tests {
namespace {

using schemas::EntryBuilder;
using stream::Time;
using Value = EntryBuilder::Value;

constexpr std::int64_t second = 1'000'000'000;
const Time begin = stream::at_nanoseconds(1'780'000'000 * second);

Time at(double s) { return begin + stream::from_seconds(s); }

class Job {
 public:
  Job(std::string name, const LogOptions& options, std::uint32_t seed)
      : name_(std::move(name)), options_(options), random_(seed) {
    fault_ = random_() % 4;
    culprit_ = static_cast<std::uint32_t>(random_() % options.ranks);
    onset_ = options.seconds * 0.4 + uniform() * options.seconds * 0.2;
    restart_ = options.seconds * 0.8;
  }
  void second_of(unsigned s, std::vector<GeneratedLog::Message>& out) {
    if (s == 0) start(s, out);
    if (options_.faults && s == static_cast<unsigned>(restart_)) end(s, "failed", out), start(s + 0.2, out);
    if (s + 5 == options_.seconds) end(s, "completed", out);
    if (s + 5 > options_.seconds) return;
    if (s % 10 == 0) coverage(s, out);
    samples(s, out);
    lines(s, out);
    if (options_.faults && uniform() < 0.01) xid(s, out);
  }

 private:
  double uniform() { return std::uniform_real_distribution<double>{}(random_); }
  double normal(double mean, double deviation) { return std::normal_distribution<double>{mean, deviation}(random_); }
  bool stopped(std::uint32_t rank, double s) const {
    return options_.faults && fault_ == 0 && rank == culprit_ && s > onset_ && s < onset_ + 60;
  }
  bool hung(double s) const { return options_.faults && fault_ == 0 && s > onset_ && s < onset_ + 60; }

  void emit(double s, EntryBuilder& b, std::vector<GeneratedLog::Message>& out) {
    b.produced_by(name_ + "-collector", 1, ++sequence_);
    out.push_back({schemas::encode(b.entry()),
                   at(options_.grain > 0 ? std::ceil(s / options_.grain) * options_.grain : s), name_});
    if (uniform() < 0.01) out.push_back(out.back());  // delivered twice
  }
  void start(double s, std::vector<GeneratedLog::Message>& out) {
    EntryBuilder b;
    b.about(name_);
    const EntryBuilder::Field size[] = {{"world_size", static_cast<double>(options_.ranks), {}, false}};
    b.event(at(s), EntryBuilder::job(), "start", size, "scheduler");
    for (std::uint32_t r = 0; r < options_.ranks; ++r)
      b.event(at(s), {stream::Level::rank, r, "n" + std::to_string(r / 4), std::to_string(r % 4)}, "member", {},
              "scheduler");
    emit(s, b, out);
    step_ = 0;
  }
  void end(double s, const char* reason, std::vector<GeneratedLog::Message>& out) {
    EntryBuilder b;
    b.about(name_);
    const EntryBuilder::Field why[] = {{"reason", 0, reason, true}};
    b.event(at(s), EntryBuilder::job(), "end", why, "scheduler");
    emit(s, b, out);
  }
  void coverage(double s, std::vector<GeneratedLog::Message>& out) {
    EntryBuilder b;
    b.about(name_);
    for (const char* source : {"log", "sampler", "kernel_log", "profiler", "scheduler"}) b.coverage(source, {});
    emit(s, b, out);
  }
  void samples(unsigned s, std::vector<GeneratedLog::Message>& out) {
    EntryBuilder gpu;
    gpu.about(name_);
    for (std::uint32_t r = 0; r < options_.ranks; ++r) {
      if (uniform() < 0.03) continue;
      const bool cold = stopped(r, s);
      const double sm = hung(s) ? 0.1 : normal(0.6, 0.01) + (slow(r, s) ? 0.2 : 0), gr = cold ? 0 : 1;
      const Value values[] = {{"sm_active", sm, {}, false},
                              {"gr_engine_active", gr, {}, false},
                              {"sm_clock", normal(1700, 5), {}, false},
                              {"throttle_thermal", slow(r, s) ? 0.3 : 0, {}, false}};
      const double late = uniform() < 0.02 ? 7.5 : uniform() * 2;  // some come too late for their row
      gpu.sample(at(std::max(0.0, s + 0.5 - late)),
                 {stream::Level::gpu, 0, "n" + std::to_string(r / 4), std::to_string(r % 4)}, values);
    }
    emit(s + 0.6, gpu, out);
    for (int k = 0; k < 3 && !hung(s); ++k) {
      ++step_;
      for (std::uint32_t r = 0; r < options_.ranks; ++r) {
        EntryBuilder b;
        b.about(name_);
        const double t = s + 0.61 + 0.1 * k + 0.001 * r;
        const Value values[] = {{"step", static_cast<double>(step_), {}, false},
                                {"compute_time", normal(slow(r, s) ? 0.3 : 0.2, 0.003), {}, false},
                                {"step_time", normal(0.33, 0.003), {}, false},
                                {"collective_launched", static_cast<double>(step_ * 3), {}, false}};
        b.sample(at(t), EntryBuilder::rank(r), values, "profiler");
        emit(t, b, out);
      }
    }
    for (std::uint32_t r = 0; r < options_.ranks; ++r) {
      EntryBuilder b;
      b.about(name_);
      const bool is_stopped = stopped(r, s);
      const Value values[] = {{"process_cpu", is_stopped ? 0.0 : 0.5, {}, false},
                              {"process_state", 0, is_stopped ? "stopped" : "running", true},
                              {"ecc_corrected", std::floor(s * 1.5) + (s > 200 ? -150 : 0), {}, false}};
      b.sample(at(s + 0.97), EntryBuilder::rank(r), values, "sampler");
      emit(s + 0.97, b, out);
    }
  }
  bool slow(std::uint32_t rank, double s) const {
    return options_.faults && fault_ == 1 && rank == culprit_ && s > onset_;
  }
  void lines(unsigned s, std::vector<GeneratedLog::Message>& out) {
    if (!hung(s)) {
      EntryBuilder b;
      b.about(name_);
      double loss = 2 + 6 * std::exp(-static_cast<double>(step_) / 100) + normal(0, 0.01);
      if (options_.faults && fault_ == 2 && s > onset_) loss *= 1 + (s - onset_) * 0.1;
      const std::string value = options_.faults && fault_ == 3 && s > onset_ ? "nan" : std::to_string(loss);
      b.line(at(s + 0.98), EntryBuilder::job(),
             "iter " + std::to_string(step_) + ": loss " + value + ", time 330.00ms, mfu 10.00%");
      emit(s + 0.98, b, out);
    }
    if (uniform() < 0.05) {  // a traceback that comes in pieces
      const auto rank = static_cast<std::uint32_t>(random_() % options_.ranks);
      int piece = 0;
      for (const char* text : {"Traceback (most recent call last):", "  File \"train.py\", line 10, in <module>",
                               "    main()", "ValueError: shapes do not match"}) {
        EntryBuilder b;
        b.about(name_);
        b.line(at(s + 0.981 + 0.001 * piece), EntryBuilder::rank(rank), text, true);
        emit(s + 0.981 + 0.001 * piece++, b, out);
      }
    }
  }
  void xid(double s, std::vector<GeneratedLog::Message>& out) {
    EntryBuilder b;
    b.about(name_);
    const EntryBuilder::Field code[] = {{"code", uniform() < 0.5 ? 79.0 : 13.0, {}, false}};
    b.event(at(s + 0.99), {stream::Level::gpu, 0, "n0", "1"}, "xid", code, "kernel_log");
    emit(s + 0.99, b, out);
  }

  std::string name_;
  LogOptions options_;
  std::mt19937_64 random_;
  std::uint64_t fault_, sequence_ = 0;
  std::uint32_t culprit_;
  double onset_, restart_;
  long step_ = 0;
};

void append(GeneratedLog& log, const EntryBuilder& builder, Time arrival) {
  auto& b = const_cast<EntryBuilder&>(builder);
  log.messages.push_back({schemas::encode(b.entry()), arrival, ""});
}

void sort_by_arrival(GeneratedLog& log) {
  std::stable_sort(log.messages.begin(), log.messages.end(),
                   [](const auto& a, const auto& b) { return a.arrival < b.arrival; });
}

}  // namespace

GeneratedLog generate(const LogOptions& options) {
  GeneratedLog log;
  std::vector<Job> jobs;
  for (unsigned j = options.first_job; j < options.first_job + options.jobs; ++j)
    jobs.emplace_back("job-" + std::to_string(j), options, options.seed * 1000 + j);
  for (unsigned s = 0; s < options.seconds; ++s) {
    for (auto& job : jobs) job.second_of(s, log.messages);
    if (!options.beats) continue;
    EntryBuilder b;
    b.beat();
    append(log, b, at(s + 0.999));
  }
  sort_by_arrival(log);
  if (options.beats) {
    EntryBuilder b;
    b.seal();
    append(log, b, at(options.seconds + 1));
  }
  return log;
}

GeneratedLog interleave(const GeneratedLog& first, const GeneratedLog& second) {
  GeneratedLog log;
  std::merge(first.messages.begin(), first.messages.end(), second.messages.begin(), second.messages.end(),
             std::back_inserter(log.messages), [](const auto& a, const auto& b) { return a.arrival < b.arrival; });
  return log;
}

Reported judge(const GeneratedLog& log, const stream::LoadedPack& pack, stream::ShardOptions options) {
  Collector collector;
  stream::Shard shard{pack, nullptr, collector, options};
  schemas::Decoder decoder;
  for (std::size_t i = 0; i < log.messages.size(); ++i) shard.consume(decoded(decoder, log, i));
  return {shard.digests(), shard.row_digests(), collector.reported};
}

stream::LoadedPack shipped_pack(bool scripted) {
  auto files = dsl::read_pack(TOCSIN_SOURCE_DIR "/rules");
  if (!files) throw std::runtime_error(files.error().message);
  dsl::Budgets budgets;
  budgets.all_scripted = scripted;
  auto loaded = dsl::load(*files, budgets);
  if (!loaded.pack)
    throw std::runtime_error(loaded.problems.empty() ? "no pack" : dsl::describe(loaded.problems.front()));
  auto compiled = dsl::compile_text(*files);
  if (!compiled.extraction)
    throw std::runtime_error(compiled.problems.empty() ? "no patterns" : compiled.problems.front().message);
  return {loaded.pack, compiled.extraction};
}

}  // namespace tocsin::tests
