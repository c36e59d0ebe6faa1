#include "stream/job/attempt.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stream/job/event_fields.h"

namespace tocsin::stream {
namespace {

PackOrder order_of(const PackChange& pack) { return {pack.key.from, static_cast<std::uint64_t>(pack.key.at)}; }

bool declared_text(const SignalDefinition& event, std::string_view field) {
  return std::any_of(event.fields.begin(), event.fields.end(),
                     [&](const auto& known) { return known.name == field && known.unit == "text"; });
}

}  // namespace

Attempt::Attempt(std::string subject, std::string name, Time start, Position start_position, const PackChange& pack,
                 const Origins& origins, const JobContext& job)
    : subject_(std::move(subject)),
      name_(std::move(name)),
      start_(start),
      start_position_(start_position),
      change_(pack),
      runtime_(job.packs->runtime(pack)),
      packs_(job.packs),
      earlier_(job.earlier),
      rules_(job.rules),
      context_(job.context),
      counters_(job.context.counters),
      coverage_(&origins, job.context.beats),
      extraction_(*job.timeline, *job.packs),
      intake_(topology_, coverage_, symbols_, *job.context.counters),
      last_arrival_(start) {
  coverage_.start(start);
  if (subject_ == cluster_subject) {
    cluster_.emplace(start);
    topology_.refuse_ranks();
    intake_.into(*cluster_);
  }
  open_history();
  extraction_.begin(pack);
  judge_ = std::make_unique<Judge>(
      runtime_->pack(), runtime_->scripts(),
      Judge::Facts{subject_, name_, labels_, topology_, coverage_, symbols_, *history_, *rules_, start_}, context_);
}

Attempt::~Attempt() = default;

void Attempt::open_history() {
  history_ = std::make_unique<History>(runtime_->retained(subject_), topology_,
                                       [this](std::string_view text) { return symbols_.find(text); });
  intake_.open(*runtime_->pack(), *history_);
  read_earlier();
}

Time Attempt::next_due() const {
  if (over()) return judge_->next_due();
  const Time look = cluster_ && !ended() ? cluster_->next_look() : never;
  return std::min(std::min(history_->next_due(), judge_->next_due()), std::min(extraction_.next_due(), look));
}

bool Attempt::advance(Time clock, TickBudget& budget) {
  const auto applied = [this](const Applied& a) { judge_->applied(a); };
  for (;;) {
    const Time due = next_due();
    if (due > clock || due == never || over()) break;
    if (extraction_.next_due() <= due) {
      arrival_ = due;
      intake_.from(std::nullopt);
      extraction_.settle(due, *this);
      judge_->disturb(due);
      continue;
    }
    if (history_->next_due() <= due) {
      history_->settle(due, applied);
      continue;
    }
    if (cluster_ && !ended() && cluster_->next_look() <= due) {
      cluster_->look(topology_, [&](Level level, Slot slot) { judge_->retire(level, slot, due); });
      continue;
    }
    if (!budget.take()) return false;
    judge_->perform(due);
  }
  if (!over()) history_->settle(clock, applied);
  context_.counters->event_limit += history_->take_let_go();
  return true;
}

void Attempt::pass(Time clock) {
  if (!over()) history_->pass(clock);
}

void Attempt::end(Time time, Time arrival, std::string reason) {
  if (ended()) return;
  ended_by_event_ = true;
  end_at(std::max(intake_.placed(time, arrival, true), start_), std::move(reason));
}

void Attempt::end_unseen() {
  if (!ended()) end_at(last_arrival_, "");
}

void Attempt::end_at(Time end, std::string reason) {
  end_ = end;
  judge_->end(end_, std::move(reason));
  history_->end(end_);
  report_end_reason();
}

void Attempt::report_end_reason() {
  const std::string& reason = judge_->end_reason();
  if (reason.empty() || !runtime_->pack()->signals.find("end_reason")) return;
  arrival_ = end_;
  intake_.from(std::nullopt);
  sample(end_, MemberKey{}, "end_reason", std::string_view{reason}, {});
}

void Attempt::finish_extraction() {
  arrival_ = std::max(arrival_, end_);
  intake_.from(std::nullopt);
  extraction_.finish(*this);
}

void Attempt::follow_origins(Time at) {
  coverage_.follow_origins([&](std::string_view origin, bool left) {
    const SignalTable& signals = runtime_->pack()->signals;
    const auto id = signals.find(left ? "origin_behind" : "origin_caught_up");
    if (ended() || !id || signals[*id].kind != SignalKind::event || !history_->wants(*id)) return;
    const EventField fields[] = {{"origin", symbols_.intern(origin)}};
    judge_->disturb(at);
    (void)history_->event(*id, 0, at, fields, at, intake_.next_order());
  });
}

void Attempt::apply(const Entry& entry, std::optional<std::size_t> origin) {
  intake_.from(origin);
  if (origin) coverage_.reads(*origin);
  topology_.reading(entry.position);
  intake_.begin(entry);
  if (!backfilling_) last_arrival_ = std::max(last_arrival_, entry.arrival);
  judge_->disturb(entry.arrival);
  arrival_ = entry.arrival;
  if (cluster_ && !backfilling_) cluster_->place(entry);
  in_order(entry, [this](const auto& record) { take(record); });
  intake_.end();
  context_.counters->text_limit += symbols_.take_refused();
}

void Attempt::take(const SampleBlock& block) { intake_.block(block, arrival_); }

void Attempt::take(const LineRecord& l) {
  const Time arrival = arrival_;
  ++context_.counters->lines;
  intake_.cover(l.source.empty() ? "log" : l.source, l.member, arrival);
  intake_.alive(l.member, arrival);
  LineRecord record = l;
  record.time = intake_.placed(l.time, arrival, true);
  // What this line completes may be of earlier ones.
  const auto origin = intake_.origin();
  intake_.from(std::nullopt);
  extraction_.line(record, arrival, *this);
  intake_.from(origin);
}

void Attempt::sample(Time time, const MemberKey& member, std::string_view signal, double number,
                     std::string_view source) {
  const auto id = intake_.find(signal);
  if (!id || runtime_->pack()->signals[*id].textual()) {  // a number is no text: it would be read as that of one
    ++context_.counters->unknown_signal;
    return;
  }
  intake_.sample(*id, member, time, canonical(number) * intake_.factor(signal), arrival_, source);
}

void Attempt::sample(Time time, const MemberKey& member, std::string_view signal, std::string_view text,
                     std::string_view source) {
  const auto id = intake_.find(signal);
  if (!id || !runtime_->pack()->signals[*id].textual()) {
    ++context_.counters->unknown_signal;
    return;
  }
  const double symbol = symbols_.intern(text);
  intake_.sample(*id, member, time, is_absent(symbol) ? measured_nan : symbol, arrival_, source);
}

void Attempt::take(const EventRecord& record) {
  if (shapes_the_job(record.name)) shaping_event(record, arrival_);
  else signal_event(record, arrival_);
}

void Attempt::shaping_event(const EventRecord& event, Time arrival) {
  ++context_.counters->events;
  intake_.cover(event.source, event.member, arrival);
  if (event.name == "start" && !cluster_) {
    if (const auto size = number_of(event, "world_size"); size && *size >= 1 && *size <= Topology::most_ranks)
      topology_.expect_ranks(static_cast<std::uint32_t>(*size));
    constexpr std::string_view prefix = "labels.";
    if (backfilling_) return;
    for (const auto& field : event.fields)
      if (field.name.starts_with(prefix))
        labels_[std::string{field.name.substr(prefix.size())}] = text_of(event, field.name);
    return;
  }
  const bool of_rank = event.member.level == Level::rank;
  if (event.name == "member" && event.member.level == Level::gpu) same_gpu(event, std::string{event.member.node});
  if (event.name == "member" && !of_rank && !event.member.node.empty())
    if (const std::string rack = text_of(event, "rack"); !rack.empty()) topology_.rack(event.member.node, rack);
  if (event.name == "member" && of_rank) {
    const auto slot = topology_.rank(event.member.rank);
    if (!slot) return;
    const std::string node = event.member.node.empty() ? text_of(event, "node") : std::string{event.member.node};
    const std::string gpu = same_gpu(event, node.empty() ? std::string{topology_.key(Level::rank, *slot).node} : node);
    topology_.place(event.member.rank, node, gpu);
    if (const std::string rack = text_of(event, "rack"); !rack.empty() && !node.empty()) topology_.rack(node, rack);
    for (const auto& [coordinate, owner] : runtime_->pack()->signals.coordinates()) {
      const std::string text = text_of(event, coordinate);
      if (text.empty()) continue;
      MemberKey key = event.member;
      key.node = node, key.gpu = gpu;
      if (const auto at = owner == Level::rank ? slot : intake_.owner_slot(owner, key))
        topology_.coordinate(owner, *at, coordinate, text);
    }
  }
  if (event.name == "exit" && of_rank) topology_.exited(event.member.rank);
}

// A GPU under each of the names that the event gives it; of which one.
std::string Attempt::same_gpu(const EventRecord& event, const std::string& node) {
  std::array<std::string, 5> texts{std::string{event.member.gpu}};
  for (std::size_t i = 0; i + 1 < texts.size(); ++i)
    texts[i + 1] = text_of(event, std::array{"gpu", "gpu_pci", "gpu_uuid", "gpu_index"}[i]);
  std::array<std::string_view, 5> names;
  std::copy(texts.begin(), texts.end(), names.begin());
  if (!node.empty()) topology_.same_gpu(node, names);
  const auto any = std::find_if(names.begin(), names.end(), [](std::string_view name) { return !name.empty(); });
  return any == names.end() ? std::string{} : std::string{*any};
}

void Attempt::signal_event(const EventRecord& event, Time arrival) {
  ++context_.counters->events;
  const auto id = runtime_->pack()->signals.find(event.name);
  if (!id || runtime_->pack()->signals[*id].kind != SignalKind::event) {
    ++context_.counters->unknown_signal;
    return;
  }
  const SignalDefinition& definition = runtime_->pack()->signals[*id];
  intake_.cover(event.source.empty() ? std::string_view{definition.source} : event.source, event.member, arrival);
  intake_.alive(event.member, arrival);
  if (!history_->wants(*id)) return;
  const auto slot = intake_.owner_slot(definition.owner, event.member);
  if (!slot) {
    ++context_.counters->member_limit;
    return;
  }
  intake_.carried(definition.owner, {&*slot, 1});
  std::vector<EventField> fields;
  for (const auto& field : event.fields) {
    const auto* text = std::get_if<std::string_view>(&field.value);
    if (text == nullptr &&
        declared_text(definition, field.name))  // as it is, the number would be read as that of a text
      fields.push_back({field.name, symbols_.intern(text_of(event, field.name))});
    else if (text == nullptr) fields.push_back({field.name, canonical(std::get<double>(field.value))});
    else if (!definition.number_field(field.name)) fields.push_back({field.name, symbols_.intern(*text)});
    else if (const auto number = number_in(*text)) fields.push_back({field.name, canonical(*number)});
  }
  if (cluster_) cluster_->name_job(event.member.node, symbols_, fields);
  if (history_->event(*id, *slot, intake_.placed(event.time, arrival, true), fields, arrival, intake_.next_order()) ==
      History::Write::late)
    ++context_.counters->late;
}

void Attempt::take(const CoverageRecord& record) {
  ++context_.counters->coverage;
  if (record.members.empty()) intake_.cover(record.source, {}, arrival_);
  for (const MemberKey& key : record.members) intake_.cover(record.source, key, arrival_);
}

void Attempt::use(const PackChange& pack, Time from) {
  change_ = pack;
  auto runtime = packs_->runtime(pack);
  if (runtime == runtime_) return extraction_.change(pack, *this);
  const auto before = std::exchange(runtime_, std::move(runtime));  // outlives the judge that it ran
  const auto old_history = std::move(history_);
  open_history();
  history_->adopt(*old_history, order_of(pack));
  if (ended()) history_->end(end_);
  auto judge = std::make_unique<Judge>(
      runtime_->pack(), runtime_->scripts(),
      Judge::Facts{subject_, name_, labels_, topology_, coverage_, symbols_, *history_, *rules_, start_, end_},
      context_);
  judge->adopt(*judge_, from);
  judge_ = std::move(judge);
  arrival_ = from;
  intake_.from(std::nullopt);
  extraction_.change(pack, *this);
}

void Attempt::save(Writer& out) const {
  out(1, name_), out(2, start_), out(3, start_position_);
  out(4, labels_), out(5, topology_), out(6, coverage_), out(7, symbols_), out(8, *history_);
  Writer extraction;
  extraction_.save(extraction);
  out(9, extraction.bytes());
  out(10, *judge_), out(11, intake_);
  out(12, last_arrival_), out(13, end_), out(14, started_by_event_), out(15, ended_by_event_);
  if (added_to_earlier_) out(17, true);
  if (before_ != 0) out(18, before_);
  if (cluster_) out(16, *cluster_);
}

Result<void> Attempt::load(Reader& in) {  // name and start were read by the subject, which made this
  in(4, labels_), in(5, topology_), in(6, coverage_), in(7, symbols_), in(8, *history_);
  in(9, extraction_state_);
  in(10, *judge_), in(11, intake_);
  in(12, last_arrival_), in(13, end_), in(14, started_by_event_), in(15, ended_by_event_), in(17, added_to_earlier_),
      in(18, before_);
  if (cluster_) in(16, *cluster_);
  if (ended()) history_->end(end_);
  read_earlier();
  return in.status();
}

void Attempt::begin_backfill(Position from, const PackChange& pack) {
  backfilling_ = true;
  context_.counters = &uncounted_;
  intake_.begin_backfill(uncounted_);
  history_->backfill_rows_only(true);
  topology_then_ = topology_;
  topology_.go_back_to(from);
  backfill_from(pack);
}

// What comes first was read under this pack.
void Attempt::backfill_from(const PackChange& pack) {
  extraction_.begin(pack);
  backfill_as(pack);
}

void Attempt::backfill_as(const PackChange& pack) {
  history_->backfill_under(order_of(pack));
  then_ = packs_->runtime(pack);
  intake_.read_as(then_->pack()->signals);
}

void Attempt::backfill_to(Time clock) {
  while (extraction_.next_due() <= clock) {
    arrival_ = extraction_.next_due();
    history_->settle(arrival_, [](const Applied&) {});
    extraction_.settle(arrival_, *this);
  }
  history_->settle(clock, [](const Applied&) {});
}

void Attempt::backfill(const Entry& entry, Time clock) {
  backfill_to(clock);
  apply(entry, std::nullopt);
}

void Attempt::backfill_change(const PackChange& pack) {
  backfill_to(pack.key.from - Duration{1});
  arrival_ = pack.key.from;
  backfill_as(pack);
  extraction_.change(pack, *this);
}

void Attempt::backfill_end_reason() { report_end_reason(); }

Result<void> Attempt::end_backfill(Time clock) {
  backfill_to(clock);
  (void)symbols_.take_refused();
  backfilling_ = false;
  context_.counters = counters_;
  intake_.end_backfill(*counters_);
  intake_.read_as(runtime_->pack()->signals);
  then_.reset();
  history_->backfill_rows_only(false);
  topology_.restore(std::move(*topology_then_));
  topology_then_.reset();
  Reader in{extraction_state_};
  auto loaded = extraction_.load(in, change_);
  extraction_state_.clear();
  return loaded;
}

}  // namespace tocsin::stream
