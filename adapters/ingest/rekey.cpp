#include "adapters/ingest/rekey.h"

#include <algorithm>

#include "adapters/ingest/host_list.h"

namespace tocsin::adapters::ingest {
namespace {

constexpr stream::Duration between_introductions = std::chrono::minutes{15};
constexpr std::size_t most_introduced = 400'000;
// How long a job without an end is taken to run: its operator may extend the time limit, and the record of the end may
// be lost.
constexpr stream::Duration without_limit = std::chrono::days{30}, least_allocated = std::chrono::hours{1};

}  // namespace

void Rekeyer::begin(std::string_view source, std::uint64_t offset, stream::Time arrival) {
  constexpr std::size_t few = 16;
  if (pending_.size() > few) pending_.resize(few);
  source_ = source, offset_ = offset, arrival_ = arrival;
  used_ = jobs_ = 0;
  nodes_.clear(), placed_.clear(), left_.clear(), jobs_of_.clear();
}

void Rekeyer::finish() {
  const auto key = [](const std::unique_ptr<Pending>& one) { return one->kind == Kind::cluster ? one->number + 1 : 0; };
  std::stable_sort(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(used_),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

Rekeyer::Pending* Rekeyer::begun(std::string_view job, std::string_view attempt, Kind kind, std::uint64_t number) {
  if (used_ == pending_.size()) pending_.push_back(std::make_unique<Pending>());
  Pending& fresh = *pending_[used_++];
  fresh.job = job, fresh.attempt = attempt;
  fresh.kind = kind;
  fresh.number = number;
  fresh.records = 0;
  fresh.closed = false;
  fresh.builder.clear();
  fresh.builder.about(job, attempt);
  return &fresh;
}

// Where the record goes; nothing: there is no room for it. An entry belongs to one attempt: a start begins one, and an
// end ends one.
Rekeyer::Pending* Rekeyer::place_of(const Record& record) {
  std::uint64_t attempts = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    Pending& one = *pending_[i];
    if (one.kind != Kind::own || one.job != record.job) continue;
    ++attempts;
    if (one.closed || one.attempt != record.attempt) continue;
    if (!record.is_event("start")) return &one;
    one.closed = true;
  }
  if (jobs_ == most_jobs || attempts == most_attempts) return nullptr;
  ++jobs_;
  return begun(record.job, record.attempt, Kind::own, offset_ * numbers + attempts);
}

Rekeyer::Pending* Rekeyer::copy_for(std::string_view job) {
  for (std::size_t i = 0; i < used_; ++i)
    if (pending_[i]->kind == Kind::copied && pending_[i]->job == job) return pending_[i].get();
  if (jobs_ == most_jobs) return nullptr;
  ++jobs_;
  return begun(job, {}, Kind::copied, offset_ * numbers + most_attempts);
}

bool Rekeyer::put(Pending* to, const Record& record) {
  if (to == nullptr) {
    left_out(
        {Reason::too_large, record.place, "more than 256 jobs, or more than 15 attempts of one job, in one message"});
    return false;
  }
  if (to->records == most_records) {
    left_out(
        {Reason::too_large, record.place, "more than 20000 records of a job in one message: write smaller messages"});
    return false;
  }
  ++to->records;
  to->closed = record.is_event("end");
  switch (record.what) {
    case Record::What::samples: to->builder.sample(record.time, record.member, record.values, record.source); break;
    case Record::What::line:
      to->builder.line(record.time, record.member, record.text, record.error_stream, record.source);
      break;
    case Record::What::event:
      to->builder.event(record.time, record.member, record.event, record.fields, record.source);
      break;
  }
  return true;
}

void Rekeyer::record(const Record& record) {
  if (!put(place_of(record), record) || placement_ == nullptr) return;
  jobs_of_.clear();
  const bool ends = record.is_event("end") && record.member.level == stream::Level::job;
  if (ends) {
    for (std::string& node : placement_->ended(record.job)) left_.emplace_back(std::move(node), record.job);
    if (placement_->deallocate(record.job, arrival_)) placed_.emplace_back(std::string{}, record.job);
  } else if (placement_->saw(record.member.node, record.job, arrival_))
    placed_.emplace_back(record.member.node, record.job);
  if (!record.nodes.empty()) allocate(record);
  copy_to_cluster(record);
}

void Rekeyer::allocate(const Record& record) {
  const auto nodes = nodes_of(record, *beyond_);
  if (nodes.empty()) return;
  const stream::Duration longest =
      record.time_limit ? std::max(2 * *record.time_limit, least_allocated) : without_limit;
  switch (placement_->allocate(record.job, {arrival_, arrival_ + longest, std::string{record.nodes}}, nodes)) {
    case Placement::Allocated::yes: placed_.emplace_back(std::string{}, record.job); break;
    case Placement::Allocated::known_or_older: break;
    case Placement::Allocated::no_room:
      left_out({Reason::too_large, record.place,
                "the nodes of job " + std::string{record.job} + ": those that run have more than 400000"});
  }
}

void Rekeyer::without_job(const Record& record, const std::function<LeftOut()>& why) {
  if (placement_ == nullptr) return left_out(why());
  const auto& jobs = jobs_on(record.member.node);
  for (const std::string_view job : jobs) put(copy_for(job), record);
  const bool needed = copy_to_cluster(record);
  if (!jobs.empty() || needed || record.event == "member") return;
  LeftOut part = why();
  part.what += "; and no job was on node " + std::string{record.member.node} + " in the last 5 min";
  left_out(part);
}

// A message mostly has many records of a node in a row.
const std::vector<std::string_view>& Rekeyer::jobs_on(std::string_view node) {
  if (node.empty() || jobs_of_ != node) {
    placement_->jobs_on(node, arrival_, on_node_);
    jobs_of_ = node;
  }
  return on_node_;
}

// Names of GPUs and nodes seldom change.
bool Rekeyer::introduced(const Record& record) {
  key_.assign(record.member.node).append(1, '\0').append(record.member.gpu);
  auto known = introduced_.find(key_);
  if (known != introduced_.end() && arrival_ < known->second + between_introductions) return true;
  if (known == introduced_.end()) {
    if (introduced_.size() >= most_introduced) introduced_.clear();
    known = introduced_.emplace(key_, arrival_).first;
  }
  known->second = arrival_;
  return false;
}

// An entry of the cluster has the records of one node and one job. Its number says which node of the message it is, and
// whether a label names the job; nothing: there are too many.
std::optional<std::uint64_t> Rekeyer::cluster_number(const Record& record) {
  key_ = record.member.node;
  Node& node = nodes_.try_emplace(key_, Node{nodes_.size(), {}}).first->second;
  std::uint64_t job = most_jobs_of_node;
  if (!record.job.empty()) {
    auto known = std::find(node.jobs.begin(), node.jobs.end(), record.job);
    if (known == node.jobs.end() && node.jobs.size() < most_jobs_of_node) known = node.jobs.emplace(known, record.job);
    if (known == node.jobs.end()) return std::nullopt;
    job = static_cast<std::uint64_t>(known - node.jobs.begin());
  }
  if (node.number >= most_nodes) return std::nullopt;
  return (offset_ * most_nodes + node.number) * (most_jobs_of_node + 1) + job;
}

bool Rekeyer::copy_to_cluster(const Record& record) {
  if (record.member.node.empty()) return false;
  const auto number = cluster_number(record);  // before anything that is no function of the message
  if (!needs_.any()) return false;
  Record copy = record;
  switch (record.what) {
    case Record::What::samples:
      values_.clear();
      for (const auto& value : record.values)
        if (needs_.signals.contains(value.signal)) values_.push_back(value);
      if (values_.empty()) return false;
      copy.values = values_;
      break;
    case Record::What::line:
      if (!needs_.lines.contains(record.source)) return false;
      break;
    case Record::What::event:
      if (record.event == "member" ? introduced(record) : !needs_.events.contains(record.event)) return false;
      break;
  }
  if (!number) {
    left_out(
        {Reason::too_large, record.place, "more than 4096 nodes, or more than 7 jobs of one node, in one message"});
    return true;
  }
  // Of the cluster, a rank is its GPU, or its node.
  if (copy.member.level == stream::Level::rank)
    copy.member.level = copy.member.gpu.empty() ? stream::Level::node : stream::Level::gpu;
  if (copy.member.level == stream::Level::job) copy.member.level = stream::Level::node;
  copy.member.rank = 0;

  for (std::size_t i = 0; i < used_; ++i)
    if (pending_[i]->kind == Kind::cluster && pending_[i]->number == *number) {
      put(pending_[i].get(), copy);
      return true;
    }
  std::string_view job = record.job;
  if (job.empty()) {
    const auto& jobs = jobs_on(record.member.node);
    if (jobs.size() == 1) job = jobs.front();  // of several, nobody knows which
  }
  put(begun(stream::cluster_subject, job, Kind::cluster, *number), copy);
  return true;
}

const stream::Entry& Rekeyer::entry(std::size_t i) {
  Pending& one = *pending_[i];
  one.entry = one.builder.entry();
  one.entry.origin_source = source_;
  one.entry.origin_offset = one.number;
  one.entry.arrival = arrival_;
  return one.entry;
}

ClusterNeeds cluster_needs(const stream::Pack& pack) {
  ClusterNeeds needs;
  for (const stream::Rule& rule : pack.rules) {
    if (rule.scope != stream::Scope::cluster) continue;
    for (const stream::SignalId id : rule.signals) {
      const stream::SignalDefinition& signal = pack.signals[id];
      if (signal.kind == stream::SignalKind::event) {
        needs.events.insert(signal.name);
        if (!signal.source.empty()) needs.lines.insert(signal.source);
        continue;
      }
      needs.signals.insert(signal.name);
      for (const auto& alias : signal.aliases) needs.signals.insert(alias.name);
    }
  }
  return needs;
}

}  // namespace tocsin::adapters::ingest
