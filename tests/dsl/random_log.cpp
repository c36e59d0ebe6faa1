#include "tests/dsl/random_log.h"

#include <algorithm>
#include <cmath>

namespace tocsin::dsl::test {
namespace {

using namespace std::chrono_literals;
using schemas::EntryBuilder;
using stream::Level;
using stream::Time;

Time at(double s) { return stream::at_nanoseconds(1'700'000'003'000'000'000) + stream::from_seconds(s); }

// Which signals of sample_signals() are covered for a source with each sample.
std::string source_of(std::string_view signal) {
  for (const std::string_view of_log : {"step", "step_time", "load_time", "loss", "phase"})
    if (signal == of_log) return "log";
  return signal == "fault" ? "kernel" : "";
}

EntryBuilder::Value is(std::string_view signal, double number) { return {signal, number, {}, false}; }

}  // namespace

std::size_t Cluster::size(Level level) const {
  constexpr std::size_t sizes[] = {1, 1, 2, 2, ranks - 1, ranks + 1};
  return sizes[static_cast<std::size_t>(level)];
}

oracle::Place Cluster::in(Level fine, std::size_t slot, Level coarse) const {
  if (fine == Level::rank && slot == stream::reserved_slot) return std::nullopt;
  if (fine == coarse) return slot;
  if (coarse == Level::job || coarse == Level::none) return 0;
  if (fine == Level::rank) {
    const std::size_t rank = slot - 1;
    if (coarse != Level::gpu) return rank / per_node;  // a node has a rack of its own
    return rank == without_gpu ? oracle::Place{} : rank < without_gpu ? rank : rank - 1;
  }
  if (fine == Level::gpu) return rank_of_gpu(slot) / per_node;
  return slot;
}

std::string Cluster::coordinate(Level level, std::size_t slot, const std::string& name) const {
  if (level == Level::rank && name == "stage") {
    const std::size_t rank = slot - 1;
    return slot == stream::reserved_slot || rank == without_stage ? "" : rank % 2 == 0 ? "even" : "odd";
  }
  const oracle::Place gpu = in(level, slot, Level::gpu);
  return name == "model" && level >= Level::gpu && gpu ? (*gpu < 5 ? "big" : "small") : "";
}

EntryBuilder::Member RandomLog::member(At at) {
  const auto n = static_cast<std::uint32_t>(at.slot);
  switch (at.level) {
    case Level::rank: return EntryBuilder::rank(n - 1);
    case Level::gpu:
      return {Level::gpu, 0, Cluster::node_of(Cluster::rank_of_gpu(n)), std::to_string(Cluster::rank_of_gpu(n))};
    case Level::node: return {Level::node, 0, n == 0 ? "n0" : "n1", {}};
    default: return EntryBuilder::job();
  }
}

RandomLog::RandomLog(std::uint64_t seed, unsigned seconds) : start(at(0)), random_(seed) {
  for (const auto& [level, count] :
       {std::pair{Level::gpu, Cluster::ranks - 1}, {Level::rank, Cluster::ranks}, {Level::node, 2u}})
    for (std::size_t i = 0; i < count; ++i)
      silences_[{level, i + (level == Level::rank)}] = {uniform() * seconds,
                                                        uniform() < 0.5 ? uniform() * seconds / 3 : 0};
  deaf_from_ = uniform() * seconds;
  begin();
  for (unsigned s = 1; s < seconds; ++s) {
    beat(s);
    gpus(s);
    if (s % 2 == 0) nodes(s);
    for (std::uint32_t r = 0; r < Cluster::ranks; ++r) rank(s, r);
    job(s);
    if (s % 10 == 0) listening(s);
  }
  for (unsigned s = seconds; s < seconds + 30; ++s) beat(s);
  finish();
}

double RandomLog::gauge() {
  const double choice = uniform();
  if (choice < 0.02) return stream::measured_nan;
  if (choice < 0.025) return uniform() < 0.7 ? HUGE_VAL : -HUGE_VAL;
  if (choice < 0.3) return 0.5;  // ties
  return std::floor(uniform() * 64) / 64;
}

bool RandomLog::silent(At at, double s) const {
  const auto found = silences_.find({at.level, at.slot});
  return found != silences_.end() && s > found->second.first && s < found->second.first + found->second.second;
}

void RandomLog::begin() {
  drafts_.push_back({start,
                     [this](EntryBuilder& b) {
                       const EntryBuilder::Field size[] = {{"world_size", Cluster::ranks, {}, false}};
                       b.event(start, EntryBuilder::job(), "start", size, "scheduler");
                       const Cluster cluster;
                       for (std::uint32_t r = 0; r < Cluster::ranks; ++r) {
                         const std::string stage = cluster.coordinate(Level::rank, r + 1, "stage"),
                                           model = cluster.coordinate(Level::rank, r + 1, "model");
                         const std::string rack = r < Cluster::per_node ? "left" : "right",
                                           gpu = r == Cluster::without_gpu ? "" : std::to_string(r);
                         const EntryBuilder::Field fields[] = {
                             {"rack", 0, rack, true}, {"stage", 0, stage, true}, {"model", 0, model, true}};
                         b.event(start, {Level::rank, r, Cluster::node_of(r), gpu}, "member", fields, "scheduler");
                       }
                     },
                     {},
                     {}});
}

void RandomLog::beat(double s) {
  drafts_.push_back({at(s + 0.5), [](EntryBuilder& b) { b.beat(); }, {}, {}});
}

void RandomLog::listening(double s) {
  const Time arrival = at(s + 0.25);
  if (s < deaf_from_ || s > deaf_from_ + 70)
    drafts_.push_back(
        {arrival, [](EntryBuilder& b) { b.coverage("kernel", {}); }, {}, {{"kernel", Level::job, 0, arrival}}});
  // The log of the second node only.
  if (uniform() < 0.9)
    drafts_.push_back({arrival,
                       [](EntryBuilder& b) {
                         const EntryBuilder::Member node = member({Level::node, 1});
                         b.coverage("log", {&node, 1});
                       },
                       {},
                       {{"log", Level::node, 1, arrival}}});
}

// One member says these values of signals, whose owners' slots are given beside; a moment later they arrive, sometimes
// too late.
void RandomLog::sample(double s, At who, std::vector<Value> values, const std::vector<stream::Slot>& owners,
                       double step) {
  if (silent(who, s)) return;
  const double delay = uniform() < 0.03 ? 4 + 5 * uniform() : 2 * uniform();
  const Time time = at(std::floor(s * 4) / 4), arrival = at(std::ceil((s + delay) * 8) / 8);
  Draft draft{arrival, [time, who, values](EntryBuilder& b) { b.sample(time, member(who), values); }, {}, {}};
  draft.records.push_back({arrival, "any", static_cast<stream::Slot>(who.slot), time});
  if (who.level != Level::rank) draft.records.clear();
  for (std::size_t i = 0; i < values.size(); ++i) {
    oracle::Record record{arrival, std::string{values[i].signal}, owners[i], time, values[i].number};
    if (values[i].is_text)
      record.value =
          symbols.try_emplace(std::string{values[i].text}, static_cast<double>(symbols.size())).first->second;
    record.step = values[i].signal == "step" ? stream::absent : step;
    record.reporter = static_cast<stream::Slot>(who.level == Level::rank ? who.slot : stream::reserved_slot);
    draft.records.push_back(std::move(record));
    if (const std::string source = source_of(values[i].signal); !source.empty())
      draft.coverage.push_back({source, who.level, who.slot, arrival});
  }
  drafts_.push_back(std::move(draft));
  if (uniform() < 0.02) drafts_.push_back({arrival, nullptr, {}, {}});
}

void RandomLog::event(double s, At who) {
  const Time time = at(std::floor(s * 4) / 4), arrival = at(std::ceil((s + 2 * uniform()) * 8) / 8);
  const double code = std::array{13.0, 48.0, 79.0}[random_() % 3];
  const std::string place = std::array{"east", "west", ""}[random_() % 3];
  const auto fill = [=](EntryBuilder& b) {
    const EntryBuilder::Field fields[] = {{"code", code, {}, false}, {"place", 0, place, true}};
    b.event(time, member(who), "fault", std::span{fields}.first(place.empty() ? 1 : 2));
  };
  oracle::Record record{arrival, "fault",         static_cast<stream::Slot>(who.slot), time, 0, stream::absent, 0,
                        0,       {{"code", code}}};
  if (!place.empty())
    record.fields["place"] = symbols.try_emplace(place, static_cast<double>(symbols.size())).first->second;
  drafts_.push_back({arrival, fill, {record}, {{"kernel", who.level, who.slot, arrival}}});
}

void RandomLog::gpus(double s) {
  for (stream::Slot gpu = 0; gpu < Cluster::ranks - 1; ++gpu) {
    const double seldom = gpu == 2 ? 5 : 1;
    if (std::fmod(s, seldom) != 0) continue;
    sent_[gpu] = uniform() < 0.01 ? 0 : sent_[gpu] + std::floor(uniform() * 8) / 8;
    sample(s + uniform() / 2, {Level::gpu, gpu}, {is("duty", gauge()), is("clock", gauge()), is("sent", sent_[gpu])},
           {gpu, gpu, gpu});
    if (uniform() < 0.3)
      sample(s, {Level::gpu, gpu}, {is("reasons", std::array{0.0, 1.0, 4.0, 8.0}[random_() % 4])}, {gpu});
    if (uniform() < 0.02) event(s, {Level::gpu, gpu});
  }
}

void RandomLog::nodes(double s) {
  for (stream::Slot node = 0; node < 2; ++node) sample(s, {Level::node, node}, {is("memory", gauge())}, {node});
}

void RandomLog::rank(double s, std::uint32_t r) {
  const auto slot = static_cast<stream::Slot>(r + 1);
  const At who{Level::rank, slot};
  if (uniform() < 0.7) ++step_[r];
  sample(s, who, {is("step", step_[r])}, {slot});
  if (uniform() < 0.8) sample(s + 0.25, who, {is("step_time", gauge())}, {slot});
  if (uniform() < 0.5) sample(s + 0.5, who, {is("load_time", gauge())}, {slot});
  // The loss of a step is reported by two ranks.
  if (r < 2 && uniform() < 0.8) sample(s + 0.75, who, {is("step", step_[r]), is("loss", gauge())}, {slot, 0}, step_[r]);
}

void RandomLog::job(double s) {
  if (uniform() < 0.03) phase_ = std::array{"train", "eval", "save"}[random_() % 3];
  if (uniform() < 0.1) sample(s, {Level::job, 0}, {{"phase", 0, phase_, true}}, {0});
}

void RandomLog::finish() {
  std::vector<std::size_t> order(drafts_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return drafts_[a].arrival < drafts_[b].arrival; });
  for (const std::size_t i : order) {
    const bool repeated = !drafts_[i].fill;
    Message& message = messages.emplace_back(Message{drafts_[i].arrival, {}});
    (repeated ? drafts_[i - 1] : drafts_[i]).fill(message.entry);
    if (message.entry.entry().controls.empty()) {
      message.entry.about("job");
      message.entry.produced_by("collector", 1, repeated ? i : i + 1);
    }
    std::uint64_t sequence = (i + 1) << 16;  // the producer's, then the place in the message
    for (oracle::Record& record : drafts_[i].records) {
      record.sequence = ++sequence;
      records.push_back(std::move(record));
    }
    coverage.insert(coverage.end(), drafts_[i].coverage.begin(), drafts_[i].coverage.end());
  }
  drafts_.clear();
}

bool RandomLog::was_covered(std::string_view source, Level level, std::size_t slot, Time from, Time to,
                            Time now) const {
  const Cluster cluster;
  for (const Level container : {Level::job, Level::rack, Level::node, Level::gpu, Level::rank}) {
    if (container > level) continue;
    const oracle::Place place = cluster.in(level, slot, container);
    if (!place) continue;
    Time last = from;
    bool within = false, throughout = true;
    for (const Covered& h : coverage) {
      if (h.source != source || h.level != container || h.slot != *place || h.arrival >= now) continue;
      within = within || h.arrival <= to;
      throughout = throughout && (last >= to - 30s || h.arrival <= last + 30s);
      last = std::max(last, h.arrival);
    }
    if (within && throughout && to <= last + 30s) return true;
  }
  return false;
}

}  // namespace tocsin::dsl::test
