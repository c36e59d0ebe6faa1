#include "dsl/cases/case_records.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tocsin::dsl {
namespace {

using stream::Duration;
using stream::Level;
using stream::MemberKey;
using stream::Time;

constexpr Duration a_second = std::chrono::seconds{1};
constexpr Duration settling = std::chrono::seconds{6};  // beats after the last segment, so that its ticks run

// A standard normal deviate that is a function of its key: the same in every run.
double normal(const std::string& signal, std::uint32_t owner, Time time) {
  const std::uint64_t ns = static_cast<std::uint64_t>(stream::nanoseconds(time));
  const std::uint64_t a = XXH3_64bits_withSeed(signal.data(), signal.size(), ns * 31 + owner);
  const std::uint64_t b = XXH3_64bits_withSeed(signal.data(), signal.size(), a);
  const double u = (static_cast<double>(a >> 11) + 1) / 9007199254740993.0,
               v = static_cast<double>(b >> 11) / 9007199254740992.0;
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

// Signals that count points are sampled at each step of a rank, if there are steps: losses and times. A state of a node
// or GPU is not, although a rule that it triggers makes it count points.
bool comes_with_steps(const stream::SignalDefinition& signal) {
  return signal.points && signal.kind == stream::SignalKind::gauge &&
         (signal.owner == Level::rank || signal.owner == Level::job);
}

}  // namespace

struct CaseRecords::Piece {
  stream::Entry entry;
  stream::SampleBlock block;
  stream::SampleBlock::Signal signal;
  MemberKey member;
  Time time;
  double value = 0;
  std::string layout;
  std::vector<std::string_view> texts;
};

std::string_view CaseRecords::subject() const { return case_->cluster ? stream::cluster_subject : "case"; }

Time CaseRecords::begin() { return stream::at_nanoseconds(1'767'225'600'000'000'000); }  // 2026-01-01

CaseRecords::CaseRecords(const Case& one, const stream::SignalTable& signals)
    : case_(&one), signals_(&signals), sampled_(one.sampled) {
  const std::uint32_t per_node = std::max(1u, one.per_node);
  for (std::uint32_t r = 0; r < std::max(one.ranks, per_node); ++r) {
    nodes_.push_back(node_name(r / per_node));
    gpus_.push_back(gpu_name(r % per_node));
  }
  for (const auto& segment : one.segments)
    for (const auto* values : {&segment.all})
      for (const auto& [name, value] : *values)
        if (const auto id = signals.find(name); id && signals[*id].owner == Level::gpu) has_gpus_ = true;
  for (const auto& segment : one.segments) {
    has_gpus_ |= !segment.gpu.empty();
    if (!segment.lines.empty()) sources_.insert("log");
    for (const auto& event : segment.events)
      if (const auto id = signals.find(event.signal); id && signals[*id].owner == Level::gpu) has_gpus_ = true;
    for (const auto& [rank, values] : segment.rank)
      for (const auto& [name, value] : values)
        if (const auto id = signals.find(name); id && signals[*id].owner == Level::gpu) has_gpus_ = true;
  }
}

std::uint32_t CaseRecords::owners(Level level) const {
  const std::uint32_t per_node = std::max(1u, case_->per_node);
  switch (level) {
    case Level::rank:
    case Level::gpu: return case_->ranks;
    case Level::node: return (case_->ranks + per_node - 1) / per_node;
    default: return 1;
  }
}

// A log is written as it happens; an exporter is sampled at intervals, all those of one node together.
bool CaseRecords::sampled_now(const stream::SignalDefinition& definition, std::uint32_t owner, Time time) const {
  if (sampled_ <= a_second || definition.source == "log") return true;
  const std::uint32_t per_node = std::max(1u, case_->per_node);
  const std::uint32_t node =
      definition.owner == Level::rank || definition.owner == Level::gpu ? owner / per_node : owner;
  return (time - begin() + node * 7 * a_second) % sampled_ < a_second;
}

MemberKey CaseRecords::key(Level level, std::uint32_t owner) const {
  MemberKey key;
  key.level = level;
  const std::uint32_t per_node = std::max(1u, case_->per_node);
  if (level == Level::node) key.node = nodes_[std::min<std::size_t>(owner * per_node, nodes_.size() - 1)];
  if (level == Level::rank || level == Level::gpu) key.node = nodes_[owner];
  if (level == Level::rank) key.rank = owner;
  if (level == Level::gpu) key.gpu = gpus_[owner];
  return key;
}

void CaseRecords::play(const Consume& consume) {
  Time now = begin();
  start_fields_["world_size"] = static_cast<double>(case_->ranks);
  for (const CaseSegment& segment : case_->segments) {
    for (const auto& [label, value] : segment.labels) start_fields_["labels." + label] = value;
    const bool first = &segment == &case_->segments.front();
    if (segment.new_attempt) step_at_.clear();
    if (segment.new_attempt || first) start(now, consume);
    else if (!segment.labels.empty()) announce(now, consume);
    last_segment_ = now;
    begin_segment(segment);
    const Time from = now, to = now + segment.lasting;
    for (; now < to; now += a_second) second(segment, now, from, consume);
    now = to;
    if (!segment.ends.empty()) event(now, MemberKey{}, "end", {{"reason", segment.ends}}, "scheduler", consume);
  }
  const bool ended = !case_->segments.empty() && !case_->segments.back().ends.empty();
  for (const Time to = now + settling; now < to; now += a_second) {
    cover(now, consume);
    control(now, stream::ControlRecord::Kind::beat, consume);
  }
  if (ended) control(now, stream::ControlRecord::Kind::seal, consume);
}

void CaseRecords::begin_segment(const CaseSegment& segment) {
  sampled_ = segment.sampled.value_or(sampled_);
  for (const auto& [signal, value] : segment.all) apply(signal, value, nullptr);
  for (const auto* some : {&segment.rank, &segment.node, &segment.gpu})
    for (const auto& [owner, values] : *some)
      for (const auto& [signal, value] : values) apply(signal, value, &owner);
}

void CaseRecords::apply(const std::string& signal, const CaseValue& value, const std::uint32_t* owner) {
  Running& running = running_[signal];
  if (owner) {
    running.of[*owner] = value;
  } else {
    running.base = value;
    running.of.clear();
    running.given_for_all = true;
  }
  if (const auto id = signals_->find(signal); id && !(*signals_)[*id].source.empty())
    sources_.insert((*signals_)[*id].source);
}

double CaseRecords::number(const CaseValue& value, const std::string& signal, std::uint32_t owner, Time time,
                           Time segment_begin, Duration segment) const {
  switch (value.kind) {
    case CaseValue::Kind::noise: return value.a + value.b * normal(signal, owner, time);
    case CaseValue::Kind::ramp:
      return value.a +
             (value.b - value.a) * stream::seconds(time - segment_begin) / std::max(1.0, stream::seconds(segment));
    default: return value.a;
  }
}

void CaseRecords::second(const CaseSegment& segment, Time from, Time segment_begin, const Consume& consume) {
  cover(from, consume);
  const bool stepping = running_.contains("step");
  for (const auto& [name, running] : running_) {
    const auto id = signals_->find(name);
    if (!id) continue;
    const stream::SignalDefinition& definition = (*signals_)[*id];
    if (definition.kind == stream::SignalKind::event || name == "step") continue;
    if (comes_with_steps(definition) && stepping) continue;
    for (std::uint32_t owner = 0; owner < owners(definition.owner); ++owner) {
      const auto own = running.of.find(owner);
      if (own == running.of.end() && !running.given_for_all) continue;
      const CaseValue& value = own == running.of.end() ? running.base : own->second;
      if (value.kind == CaseValue::Kind::silent) continue;
      if (value.kind == CaseValue::Kind::steps || !sampled_now(definition, owner, from)) continue;
      sample(from, definition, owner, number(value, name, owner, from, segment_begin, segment.lasting), value.text,
             consume);
    }
  }
  steps(from, segment_begin, segment, consume);
  for (const CaseLines& some : segment.lines)
    if (const Time at = segment_begin + some.at; at >= from && at < from + a_second) lines(some, at, consume);
  for (const CaseEvent& one : segment.events) {
    const Time at = segment_begin + one.at;
    if (at < from || at >= from + a_second) continue;
    const auto id = signals_->find(one.signal);
    const Level owner = id ? (*signals_)[*id].owner : Level::job;
    MemberKey member;
    if (one.rank) member = key(owner == Level::gpu ? Level::gpu : Level::rank, *one.rank);
    if (one.node) member = key(Level::node, *one.node);
    if (one.gpu) member = key(Level::gpu, *one.gpu);
    const std::string before = std::exchange(attempt_name_, case_->cluster ? one.job : attempt_name_);
    event(at, member, one.signal, one.fields, {}, consume);
    attempt_name_ = before;
  }
  control(from + a_second - Duration{1}, stream::ControlRecord::Kind::beat, consume);
}

void CaseRecords::steps(Time from, Time segment_begin, const CaseSegment& segment, const Consume& consume) {
  const auto found = running_.find("step");
  if (found == running_.end()) return;
  const auto step_id = signals_->find("step");
  if (!step_id) return;
  struct Made {
    Time at;
    std::uint32_t rank;
    double step, took;
  };
  std::vector<Made> made;
  for (std::uint32_t rank = 0; rank < case_->ranks; ++rank) {
    const auto own = found->second.of.find(rank);
    if (own == found->second.of.end() && !found->second.given_for_all) continue;
    const CaseValue& value = own == found->second.of.end() ? found->second.base : own->second;
    if (value.kind == CaseValue::Kind::silent) continue;
    auto& [last, at] = step_at_.try_emplace(rank, value.from_given ? value.b - 1 : 0.0, from).first->second;
    if (value.kind != CaseValue::Kind::steps) {  // a plain number: the step stands still, and is sampled again
      made.push_back({from, rank, value.a, 0});
      continue;
    }
    if (value.from_given && from == segment_begin && last >= value.b) last = value.b - 1, at = from;
    const Duration each = std::max(stream::from_seconds(value.a), Duration{1'000'000});
    if (at + 10 * each < from) at = from;  // it was silent: it continues from now
    for (; at + each <= from + a_second; at += each) {
      if (at + each <= from) continue;
      made.push_back({std::min(at + each, from + a_second - Duration{1}), rank, ++last, value.a});
    }
  }
  std::stable_sort(made.begin(), made.end(), [](const Made& a, const Made& b) { return a.at < b.at; });
  for (const Made& one : made) {
    sample(one.at, (*signals_)[*step_id], one.rank, one.step, {}, consume);
    if (one.took > 0)
      if (const auto took = signals_->find("step_time"); took && !running_.contains("step_time"))
        sample(one.at, (*signals_)[*took], one.rank, one.took, {}, consume);
    for (const auto& [name, running] : running_) {  // samples that count points come with the step
      const auto id = signals_->find(name);
      if (!id || !comes_with_steps((*signals_)[*id]) || one.took <= 0) continue;
      const stream::SignalDefinition& definition = (*signals_)[*id];
      if (definition.owner == Level::job && one.rank != 0) continue;
      const auto own = running.of.find(one.rank);
      if (own == running.of.end() && !running.given_for_all) continue;
      const CaseValue& value = own == running.of.end() ? running.base : own->second;
      if (value.kind == CaseValue::Kind::silent) continue;
      sample(one.at, definition, definition.owner == Level::job ? 0 : one.rank,
             number(value, name, one.rank, one.at, segment_begin, segment.lasting), value.text, consume);
    }
  }
}

void CaseRecords::sample(Time time, const stream::SignalDefinition& definition, std::uint32_t owner, double value,
                         const std::string& text, const Consume& consume) {
  Piece piece;
  piece.signal = {definition.name, definition.unit, definition.kind};
  piece.member = key(definition.owner, owner);
  piece.time = time;
  piece.value = definition.textual() ? 0 : value;
  piece.layout = definition.name;
  piece.texts = {text};
  piece.block.layout = piece.layout;
  piece.block.signals = {&piece.signal, 1};
  piece.block.members = {&piece.member, 1};
  piece.block.times = {&piece.time, 1};
  piece.block.wide = {&piece.value, 1};
  if (definition.textual()) piece.block.texts = piece.texts;
  piece.entry = entry_at(time);
  piece.entry.samples = {&piece.block, 1};
  consume(piece.entry);
}

stream::Entry CaseRecords::entry_at(Time time) const {
  stream::Entry entry;
  entry.appended = entry.arrival = time;
  entry.subject = subject();
  entry.attempt = attempt_name_;
  return entry;
}

void CaseRecords::cover(Time time, const Consume& consume) {
  if (stream::nanoseconds(time - begin().time_since_epoch()) / 1'000'000'000 % 10 != 0) return;
  std::vector<stream::CoverageRecord> coverage;
  for (const auto& source : sources_) coverage.push_back({source, {}});
  stream::Entry entry = entry_at(time);
  entry.coverage = coverage;
  consume(entry);
}

void CaseRecords::control(Time time, stream::ControlRecord::Kind kind, const Consume& consume) {
  stream::ControlRecord record;
  record.kind = kind;
  stream::Entry entry;
  entry.appended = entry.arrival = time;
  entry.controls = {&record, 1};
  consume(entry);
}

void CaseRecords::start(Time time, const Consume& consume) {
  if (case_->cluster) return introduce(time, consume);
  attempt_name_ = std::to_string(++attempt_);
  announce(time, consume);
  for (std::uint32_t rank = 0; rank < case_->ranks; ++rank) {
    MemberKey member = key(Level::rank, rank);
    if (has_gpus_) member.gpu = gpus_[rank];
    event(time, member, "member", {}, "scheduler", consume);
  }
}

void CaseRecords::announce(Time time, const Consume& consume) {
  event(time, MemberKey{}, "start", start_fields_, "scheduler", consume);
}

void CaseRecords::lines(const CaseLines& lines, Time time, const Consume& consume) {
  stream::LineRecord record;
  record.time = time;
  if (lines.rank) record.member = key(Level::rank, *lines.rank);
  else if (lines.node) record.member = key(Level::node, *lines.node);
  std::vector<stream::LineRecord> records;
  for (const std::string& text : lines.texts) record.text = text, records.push_back(record);
  stream::Entry entry = entry_at(time);
  entry.lines = records;
  consume(entry);
}

// The GPUs of a cluster, and the racks of their nodes.
void CaseRecords::introduce(Time time, const Consume& consume) {
  for (std::uint32_t gpu = 0; gpu < case_->ranks; ++gpu) {
    std::map<std::string, stream::Scalar> fields;
    if (case_->per_rack > 0) fields["rack"] = rack_name(gpu / std::max(1u, case_->per_node) / case_->per_rack);
    event(time, key(Level::gpu, gpu), "member", fields, "scheduler", consume);
  }
}

void CaseRecords::event(Time time, const MemberKey& member, std::string_view name,
                        const std::map<std::string, stream::Scalar>& fields, std::string_view source,
                        const Consume& consume) {
  std::vector<stream::EventRecord::Field> all;
  for (const auto& [field, value] : fields) {
    if (const auto* text = std::get_if<std::string>(&value)) all.push_back({field, std::string_view{*text}});
    else all.push_back({field, std::get<double>(value)});
  }
  stream::EventRecord record{time, member, name, source, all};
  stream::Entry entry = entry_at(time);
  entry.events = {&record, 1};
  consume(entry);
}

}  // namespace tocsin::dsl
