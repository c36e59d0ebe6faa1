#include "stream/attempt.h"

#include <algorithm>
#include <cmath>

namespace tocsin::stream {
namespace {

constexpr Duration furthest_back = std::chrono::minutes{10};   // of an event or point; further, it is placed at its arrival

bool shapes_the_job(std::string_view event) { return event == "start" || event == "member" || event == "exit" || event == "end"; }

std::string text_of(const EventRecord& event, std::string_view field) {
  for (const auto& f : event.fields) {
    if (f.name != field) continue;
    if (const auto* text = std::get_if<std::string_view>(&f.value)) return std::string{*text};
    const double number = std::get<double>(f.value);
    return number == std::floor(number) && std::fabs(number) < 1e15 ? std::to_string(static_cast<std::int64_t>(number))
                                                                    : std::to_string(number);
  }
  return {};
}

std::optional<double> number_of(const EventRecord& event, std::string_view field) {
  for (const auto& f : event.fields)
    if (f.name == field)
      if (const auto* number = std::get_if<double>(&f.value)) return *number;
  return std::nullopt;
}

}  // namespace

Attempt::Attempt(std::string subject, std::string name, Time start, Position start_position, LoadedPack pack, Surroundings around)
    : subject_(std::move(subject)),
      name_(std::move(name)),
      start_(start),
      start_position_(start_position),
      pack_(std::move(pack)),
      around_(around),
      last_arrival_(start) {
  hearing_.start(start);
  open_history();
  if (pack_.extraction) extractor_ = pack_.extraction->make();
  judge_ = std::make_unique<Judge>(
      pack_.pack, Judge::Facts{subject_, name_, labels_, topology_, hearing_, symbols_, *history_, start_}, around_);
}

Attempt::~Attempt() = default;

void Attempt::open_history() {
  const Graph& graph = *pack_.pack->graph;
  std::vector<NodeId> reductions, windows;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = graph[id];
    if (node.op == Op::window) windows.push_back(id);
    if (!node.arguments.empty() && node.type.shape == Shape::column && graph[node.arguments[0]].op == Op::window)
      reductions.push_back(id);
  }
  history_ = std::make_unique<History>(graph, reductions, windows, topology_, [this](std::string_view text) { return symbols_.find(text); });
  step_signal_ = pack_.pack->signals.find("step");
  layouts_.clear();
}

Time Attempt::next_due() const {
  Time due = std::min(history_->next_due(), judge_->next_due());
  if (extractor_) due = std::min(due, extractor_->next_due());
  return due;
}

void Attempt::advance(Time clock) {
  const auto applied = [this](const Applied& a) { judge_->applied(a); };
  for (;;) {
    const Time due = next_due();
    if (due > clock || due == never || over()) break;
    if (extractor_ && extractor_->next_due() <= due) {
      arrival_ = due;
      extractor_->settle(due, *this);
      continue;
    }
    if (history_->next_due() <= due) {
      history_->settle(due, applied);
      continue;
    }
    judge_->perform(due);
  }
  if (!over()) history_->settle(clock, applied);
}

void Attempt::end(Time at, std::string reason) {
  if (ended()) return;
  end_ = std::max({at, judge_->last_tick(), start_});
  judge_->set_end_reason(reason.empty() ? "unknown" : reason);
  judge_->end(end_);
  if (const auto signal = pack_.pack->signals.find("end_reason"); signal && !reason.empty()) {
    MemberKey job;
    arrival_ = end_;
    sample(end_, job, "end_reason", std::string_view{reason});
  }
}

void Attempt::finish() {
  if (!ended()) end_unseen();
  if (extractor_) {
    arrival_ = std::max(arrival_, end_);
    extractor_->finish(*this);
  }
  advance(end_ + std::chrono::hours{1});
}

void Attempt::apply(const Entry& entry) {
  last_arrival_ = std::max(last_arrival_, entry.arrival);
  arrival_ = entry.arrival;
  for (const EventRecord& event : entry.events)
    if (shapes_the_job(event.name)) shaping_event(event, entry.arrival);
  for (const SampleBlock& block : entry.samples) samples(block, entry.arrival);
  for (const LineRecord& l : entry.lines) line(l, entry.arrival);
  for (const EventRecord& event : entry.events)
    if (!shapes_the_job(event.name)) signal_event(event, entry.arrival);
  for (const HeardRecord& h : entry.heard) heard(h, entry.arrival);
}

Time Attempt::placed(Time time, Time arrival, bool point) {
  if (time > arrival || (point && time < arrival - furthest_back)) {
    ++around_.counters->corrected_times;
    return arrival;
  }
  return time;
}

std::optional<Slot> Attempt::owner_slot(Level owner, const MemberKey& key) {
  if (owner == Level::job) return Slot{0};
  if (owner == key.level) return topology_.slot(key);
  if (owner == Level::rank) {
    // No rank is known: the value is the job's reserved member's.
    topology_.speak_reserved();
    return reserved_slot;
  }
  if (key.level > owner) {
    if (const auto slot = topology_.slot(key)) {
      const auto containing = topology_.containing(key.level, owner);
      if (*slot < containing.size() && containing[*slot] != no_slot) return containing[*slot];
    }
    Slot slot = no_slot;
    if (owner == Level::node && !key.node.empty()) slot = topology_.node(key.node);
    if (owner == Level::gpu && !key.gpu.empty()) slot = topology_.gpu(key.node, key.gpu);
    if (slot != no_slot) return slot;
  }
  return std::nullopt;
}

const Attempt::Resolved& Attempt::resolve(const SampleBlock& block) {
  std::string key{block.layout};
  key += '\0';
  key += block.source;
  if (const auto known = layouts_.find(key); known != layouts_.end()) return known->second;
  if (layouts_.size() > 4096) layouts_.clear();
  Resolved resolved;
  for (std::size_t i = 0; i < block.signals.size(); ++i) {
    const auto& name = block.signals[i].name;
    const auto id = pack_.pack->signals.find(name);
    if (!id) {
      resolved.signals.push_back({SignalId{}, 1, false, false, Level::none, {}});
      continue;
    }
    const SignalDefinition& definition = pack_.pack->signals[*id];
    if (step_signal_ && *id == *step_signal_) resolved.step = i;
    resolved.signals.push_back({*id, static_cast<float>(pack_.pack->signals.factor(name)), history_->wants(*id),
                                definition.textual(), definition.owner,
                                std::string{block.source.empty() ? std::string_view{definition.source} : block.source}});
  }
  return layouts_.emplace(std::move(key), std::move(resolved)).first->second;
}

void Attempt::hear(std::string_view source, const MemberKey& key, Time arrival) {
  if (source.empty()) return;
  if (const auto slot = topology_.slot(key)) hearing_.heard(source, key.level, *slot, arrival);
}

void Attempt::samples(const SampleBlock& block, Time arrival) {
  const Resolved& resolved = resolve(block);
  const std::size_t width = block.signals.size(), members = block.members.size();
  around_.counters->samples += block.size();

  own_slots_.assign(members, no_slot);
  for (std::size_t m = 0; m < members; ++m) {
    const MemberKey& key = block.members[m];
    const auto slot = topology_.slot(key);
    if (!slot) {
      ++around_.counters->member_limit;
      continue;
    }
    own_slots_[m] = *slot;
    if (filling_) continue;
    history_->spoke(key.level, *slot, arrival);
    std::string_view heard_already;
    for (const auto& signal : resolved.signals) {
      if (signal.source.empty() || signal.source == heard_already) continue;
      hearing_.heard(signal.source, key.level, *slot, arrival);
      heard_already = signal.source;
    }
  }

  for (std::size_t s = 0; s < width; ++s) {
    const auto& signal = resolved.signals[s];
    if (signal.owner == Level::none) {
      ++around_.counters->unknown_signal;
      continue;
    }
    if (!signal.wanted && resolved.step != s) {
      ++around_.counters->unwanted;
      continue;
    }
    const SignalDefinition& definition = pack_.pack->signals[signal.id];
    owner_slots_.assign(members, no_slot);
    for (std::size_t m = 0; m < members; ++m) {
      if (own_slots_[m] == no_slot) continue;
      owner_slots_[m] = signal.owner == block.members[m].level ? own_slots_[m] : owner_slot(signal.owner, block.members[m]).value_or(no_slot);
    }
    const bool columnar = members >= 8 && !definition.wide() && !signal.textual && !definition.points && signal.factor == 1;
    for (std::size_t t = 0; t < block.times.size(); ++t) {
      if (columnar)
        column(block, signal, s, t, arrival);
      else
        one_by_one(block, resolved, s, t, arrival);
    }
  }
}

void Attempt::column(const SampleBlock& block, const Resolved::Signal& signal, std::size_t s, std::size_t t, Time arrival) {
  const std::size_t width = block.signals.size(), members = block.members.size();
  slots_.clear(), values_.clear();
  for (std::size_t m = 0; m < members; ++m) {
    const std::size_t i = (t * members + m) * width + s;
    if (owner_slots_[m] == no_slot || !block.has(i)) continue;
    const float v = block.narrow.empty() ? static_cast<float>(block.wide[i]) : block.narrow[i];
    slots_.push_back(owner_slots_[m]);
    values_.push_back(v == v ? v : static_cast<float>(measured_nan));
  }
  around_.counters->late += history_->samples(signal.id, slots_, placed(block.times[t], arrival, false), values_, arrival, ++sequence_);
}

void Attempt::one_by_one(const SampleBlock& block, const Resolved& resolved, std::size_t s, std::size_t t, Time arrival) {
  const auto& signal = resolved.signals[s];
  const std::size_t width = block.signals.size(), members = block.members.size();
  for (std::size_t m = 0; m < members; ++m) {
    const std::size_t row = (t * members + m) * width;
    if (!block.has(row + s)) continue;
    double number = canonical(block.value(row + s));
    if (signal.textual) {
      if (!(number >= 0) || number >= static_cast<double>(block.texts.size())) {
        ++around_.counters->rejected_blocks;
        continue;
      }
      number = symbols_.intern(block.texts[static_cast<std::size_t>(number)]);
    } else if (signal.factor != 1) {
      number *= static_cast<double>(signal.factor);
    }
    const bool has_step = resolved.step != Resolved::npos && resolved.step != s && block.has(row + resolved.step);
    const Slot reporter = block.members[m].level == Level::rank && own_slots_[m] != no_slot ? own_slots_[m] : reserved_slot;
    value(signal.id, owner_slots_[m], reporter, block.times[t], number, arrival, has_step ? block.value(row + resolved.step) : absent);
  }
}

void Attempt::value(SignalId id, Slot slot, Slot reporter, Time time, double number, Time arrival, double step) {
  if (is_absent(number)) return;
  if (slot == no_slot) {
    ++around_.counters->member_limit;
    return;
  }
  const SignalDefinition& definition = pack_.pack->signals[id];
  if (step_signal_ && id == *step_signal_) {
    if (last_step_.size() <= slot) last_step_.resize(slot + 1, absent);
    last_step_[slot] = number;
  } else if (definition.owner == Level::job && definition.points && is_absent(step) && reporter < last_step_.size()) {
    step = last_step_[reporter];
  }
  switch (history_->sample(id, slot, placed(time, arrival, definition.points), number, arrival, ++sequence_, step, reporter)) {
    case History::Write::late: ++around_.counters->late; break;
    case History::Write::unwanted: ++around_.counters->unwanted; break;
    case History::Write::taken: break;
  }
}

void Attempt::line(const LineRecord& l, Time arrival) {
  ++around_.counters->lines;
  if (!filling_) {
    hear("log", l.member, arrival);
    if (const auto slot = topology_.slot(l.member)) history_->spoke(l.member.level, *slot, arrival);
  }
  if (!extractor_) return;
  LineRecord record = l;
  record.time = placed(l.time, arrival, true);
  extractor_->line(record, arrival, *this);
}

void Attempt::sample(Time time, const MemberKey& member, std::string_view signal, double number) {
  const auto id = pack_.pack->signals.find(signal);
  if (!id) {
    ++around_.counters->unknown_signal;
    return;
  }
  ++around_.counters->samples;
  if (!filling_) {
    hear(pack_.pack->signals[*id].source, member, arrival_);
    if (const auto slot = topology_.slot(member)) history_->spoke(member.level, *slot, arrival_);
  }
  if (!history_->wants(*id) && !(step_signal_ && *id == *step_signal_)) return;
  Slot reporter = reserved_slot;
  if (member.level == Level::rank) reporter = topology_.slot(member).value_or(reserved_slot);
  value(*id, owner_slot(pack_.pack->signals[*id].owner, member).value_or(no_slot), reporter, time,
        canonical(number) * pack_.pack->signals.factor(signal), arrival_, absent);
}

void Attempt::sample(Time time, const MemberKey& member, std::string_view signal, std::string_view text) {
  const auto id = pack_.pack->signals.find(signal);
  if (!id || !pack_.pack->signals[*id].textual()) {
    ++around_.counters->unknown_signal;
    return;
  }
  sample(time, member, signal, symbols_.intern(text));
}

void Attempt::event(const EventRecord& record) {
  if (shapes_the_job(record.name))
    shaping_event(record, arrival_);
  else
    signal_event(record, arrival_);
}

void Attempt::shaping_event(const EventRecord& event, Time arrival) {
  ++around_.counters->events;
  if (!filling_) hear(event.source, event.member, arrival);
  if (event.name == "start") {
    if (const auto size = number_of(event, "world_size"); size && *size >= 1 && *size <= Topology::most_ranks)
      topology_.expect_ranks(static_cast<std::uint32_t>(*size));
    constexpr std::string_view prefix = "labels.";
    for (const auto& field : event.fields)
      if (field.name.starts_with(prefix)) labels_[std::string{field.name.substr(prefix.size())}] = text_of(event, field.name);
    return;
  }
  const bool of_rank = event.member.level == Level::rank;
  if (event.name == "member" && of_rank) {
    const auto slot = topology_.rank(event.member.rank);
    if (!slot) return;
    const std::string node = event.member.node.empty() ? text_of(event, "node") : std::string{event.member.node};
    const std::string gpu = event.member.gpu.empty() ? text_of(event, "gpu") : std::string{event.member.gpu};
    topology_.place(event.member.rank, node, gpu);
    if (const std::string rack = text_of(event, "rack"); !rack.empty() && !node.empty()) topology_.rack(node, rack);
    for (const auto& [coordinate, owner] : pack_.pack->signals.coordinates()) {
      const std::string text = text_of(event, coordinate);
      if (text.empty()) continue;
      MemberKey key = event.member;
      key.node = node, key.gpu = gpu;
      if (const auto at = owner == Level::rank ? slot : owner_slot(owner, key)) topology_.coordinate(owner, *at, coordinate, text);
    }
  }
  if (event.name == "exit" && of_rank) topology_.exited(event.member.rank);
}

void Attempt::signal_event(const EventRecord& event, Time arrival) {
  ++around_.counters->events;
  const auto id = pack_.pack->signals.find(event.name);
  if (!id || pack_.pack->signals[*id].kind != SignalKind::event) {
    ++around_.counters->unknown_signal;
    return;
  }
  const SignalDefinition& definition = pack_.pack->signals[*id];
  if (!filling_) {
    hear(event.source.empty() ? std::string_view{definition.source} : event.source, event.member, arrival);
    if (const auto own = topology_.slot(event.member)) history_->spoke(event.member.level, *own, arrival);
  }
  if (!history_->wants(*id)) return;
  const auto slot = owner_slot(definition.owner, event.member);
  if (!slot) {
    ++around_.counters->member_limit;
    return;
  }
  std::vector<EventField> fields;
  for (const auto& field : event.fields) {
    const auto* text = std::get_if<std::string_view>(&field.value);
    fields.push_back({field.name, text ? symbols_.intern(*text) : canonical(std::get<double>(field.value))});
  }
  if (history_->event(*id, *slot, placed(event.time, arrival, true), fields, arrival, ++sequence_) == History::Write::late)
    ++around_.counters->late;
}

void Attempt::heard(const HeardRecord& record, Time arrival) {
  if (filling_) return;
  ++around_.counters->heard;
  if (record.members.empty()) hearing_.heard(record.source, Level::job, 0, arrival);
  for (const MemberKey& key : record.members) hear(record.source, key, arrival);
}

void Attempt::use(LoadedPack pack, Time from) {
  if (pack.pack == pack_.pack) return;
  const LoadedPack before = std::exchange(pack_, std::move(pack));
  const auto old_history = std::move(history_);
  open_history();
  history_->adopt(*old_history);
  auto judge = std::make_unique<Judge>(
      pack_.pack, Judge::Facts{subject_, name_, labels_, topology_, hearing_, symbols_, *history_, start_, end_}, around_);
  judge->adopt(*judge_, from);
  judge_ = std::move(judge);
  if (pack_.extraction && pack_.extraction != before.extraction) {
    if (extractor_) extractor_->finish(*this);
    extractor_ = pack_.extraction->make();
  }
}

void Attempt::save(Writer& out) const {
  out.put(name_), out.put(start_), out.put(static_cast<std::uint64_t>(start_position_));
  out.put(static_cast<std::uint64_t>(labels_.size()));
  for (const auto& [label, text] : labels_) out.put(label), out.put(text);
  topology_.save(out);
  hearing_.save(out);
  symbols_.save(out);
  history_->save(out);
  Writer extraction;
  if (extractor_) extractor_->save(extraction);
  out.put_all(extraction.bytes());
  judge_->save(out);
  out.put_all(last_step_);
  out.put(sequence_), out.put(last_arrival_), out.put(end_), out.put(started_by_event_);
}

Result<void> Attempt::load(Reader& in) {   // name and start were read by the subject, which made this
  for (std::size_t i = in.get_count(); i > 0 && in.ok(); --i) {
    const std::string label = in.get_text();
    labels_[label] = in.get_text();
  }
  if (auto ok = topology_.load(in); !ok) return ok;
  if (auto ok = hearing_.load(in); !ok) return ok;
  if (auto ok = symbols_.load(in); !ok) return ok;
  if (auto ok = history_->load(in); !ok) return ok;
  extractor_state_ = in.get_all<std::byte>();
  if (auto ok = judge_->load(in); !ok) return ok;
  last_step_ = in.get_all<double>();
  sequence_ = in.get<std::uint64_t>(), last_arrival_ = in.get_time(), end_ = in.get_time(), started_by_event_ = in.get<bool>();
  filling_ = true;
  history_->fill_rows_only(true);
  return in.status();
}

void Attempt::fill(const Entry& entry, Time clock) {
  const auto nothing = [](const Applied&) {};
  const auto saved_steps = last_step_;
  const auto saved_sequence = sequence_;
  Counters unseen;
  std::swap(*around_.counters, unseen);
  while (extractor_ && extractor_->next_due() <= clock) {
    arrival_ = extractor_->next_due();
    history_->settle(arrival_, nothing);
    extractor_->settle(arrival_, *this);
  }
  history_->settle(clock, nothing);
  arrival_ = entry.arrival;
  for (const SampleBlock& block : entry.samples) samples(block, entry.arrival);
  for (const LineRecord& l : entry.lines) line(l, entry.arrival);
  std::swap(*around_.counters, unseen);
  last_step_ = saved_steps;
  sequence_ = saved_sequence;
}

void Attempt::filled(Time clock) {
  history_->settle(clock, [](const Applied&) {});
  filling_ = false;
  history_->fill_rows_only(false);
  if (pack_.extraction) {
    extractor_ = pack_.extraction->make();
    Reader in{extractor_state_};
    if (!extractor_state_.empty()) (void)extractor_->load(in);
  }
  extractor_state_.clear();
}

}  // namespace tocsin::stream
