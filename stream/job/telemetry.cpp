#include "stream/job/telemetry.h"

#include <algorithm>
#include <array>
#include <utility>

#include "stream/job/event_fields.h"

namespace tocsin::stream {
namespace {

bool declared_text(const SignalDefinition& event, std::string_view field) {
  return std::any_of(event.fields.begin(), event.fields.end(),
                     [&](const auto& known) { return known.name == field && known.unit == "text"; });
}

}  // namespace

// What lines become counts as of the records that complete them.
struct Telemetry::Lines final : Extracted {
  Lines(Telemetry& telemetry, Provenance& provenance) : of(telemetry), from(provenance) {}
  void sample(Time time, const MemberKey& member, std::string_view signal, double value,
              std::string_view source) override {
    if (const auto id = of.find(signal, false))
      of.intake_.sample(*id, member, time, canonical(value) * of.intake_.factor(signal), from, source);
  }
  void sample(Time time, const MemberKey& member, std::string_view signal, std::string_view text,
              std::string_view source) override {
    of.text(time, member, signal, text, from, source);
  }
  void event(const EventRecord& event) override { of.take(event, from); }

  Telemetry& of;
  Provenance& from;
};

Telemetry::Telemetry(std::string_view subject, Time start, const PackChange& pack, const Origins* origins,
                     const JobContext& job)
    : subject_(subject),
      job_(job),
      change_(pack),
      runtime_(job.packs->runtime(pack)),
      counters_(job.context.counters),
      coverage_(origins, job.context.beats),
      extraction_(*job.timeline, *job.packs),
      intake_(topology_, coverage_, symbols_, *counters_) {
  coverage_.start(start);
  if (subject_ == cluster_subject) {
    cluster_.emplace(start);
    topology_.refuse_ranks();
    intake_.into(*cluster_);
  }
  open_history();
  extraction_.begin(pack);
}

Telemetry::~Telemetry() = default;

Telemetry::Telemetry(const Telemetry& of, Position place, const PackChange& pack)
    : subject_(of.subject_),
      job_(of.job_),
      change_(pack),
      runtime_(job_.packs->runtime(pack)),
      counters_(&uncounted_),
      topology_(of.topology_),
      symbols_(of.symbols_),
      rows_only_(true),
      end_(of.end_),
      extraction_(*job_.timeline, *job_.packs),
      intake_(topology_, coverage_, symbols_, uncounted_) {
  topology_.go_back_to(place);
  open_history();
  extraction_.begin(pack);
}

void Telemetry::open_history() {
  history_ =
      std::make_unique<History>(runtime_->retained(subject_, rows_only_), topology_, &symbols_, runtime_->scratch());
  intake_.open(*runtime_->pack(), *history_);
  coverage_.keep(signals());
  if (end_ != never) history_->end(end_);
}

void Telemetry::read(const Entry& entry, std::optional<std::size_t> origin, bool more) {
  if (origin) coverage_.reads(*origin);
  topology_.reading(entry.position);
  if (cluster_) cluster_->place(entry);
  Provenance from = intake_.of(entry, origin);
  in_order(entry, [&](const auto& record) { take(record, from); });
  if (!more) intake_.write_following();
  counters_->text_limit += symbols_.take_refused();
}

void Telemetry::gap(Time from, Time to) {
  coverage_.gap(from, to);
  if (cluster_) cluster_->gap(from, to);
}

void Telemetry::take(const LineRecord& l, Provenance& from) {
  ++counters_->lines;
  intake_.alive(l.source.empty() ? "log" : l.source, l.member, from);
  LineRecord record = l;
  record.time = intake_.placed(l.time, from.arrival, true);
  // What this line completes may be of earlier ones.
  const auto origin = std::exchange(from.origin, std::nullopt);
  Lines lines{*this, from};
  extraction_.line(record, from.arrival, lines);
  from.origin = origin;
}

// A number is no text: it would be read as that of one.
std::optional<SignalId> Telemetry::find(std::string_view name, bool textual) {
  const auto id = signals().find(name);
  if (id && signals()[*id].textual() == textual) return id;
  ++counters_->unknown_signal;
  return std::nullopt;
}

void Telemetry::text(Time time, const MemberKey& member, std::string_view signal, std::string_view text,
                     Provenance& from, std::string_view source) {
  const auto id = find(signal, true);
  if (!id) return;
  const double symbol = symbols_.intern(text);
  intake_.sample(*id, member, time, is_absent(symbol) ? measured_nan : symbol, from, source);
}

void Telemetry::take(const EventRecord& record, Provenance& from) {
  if (shapes_the_job(record.name)) shaping_event(record, from);
  else signal_event(record, from);
}

void Telemetry::shaping_event(const EventRecord& event, const Provenance& from) {
  ++counters_->events;
  intake_.cover(event.source, event.member, from.arrival);
  if (event.name == "start" && subject_ != cluster_subject) {
    if (const auto size = number_of(event, "world_size"); size && *size >= 1 && *size <= Topology::most_ranks)
      topology_.expect_ranks(static_cast<std::uint32_t>(*size));
    constexpr std::string_view prefix = "labels.";
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
std::string Telemetry::same_gpu(const EventRecord& event, const std::string& node) {
  std::array<std::string, 5> texts{std::string{event.member.gpu}};
  for (std::size_t i = 0; i + 1 < texts.size(); ++i)
    texts[i + 1] = text_of(event, std::array{"gpu", "gpu_pci", "gpu_uuid", "gpu_index"}[i]);
  std::array<std::string_view, 5> names;
  std::copy(texts.begin(), texts.end(), names.begin());
  if (!node.empty()) topology_.same_gpu(node, names);
  const auto any = std::find_if(names.begin(), names.end(), [](std::string_view name) { return !name.empty(); });
  return any == names.end() ? std::string{} : std::string{*any};
}

void Telemetry::signal_event(const EventRecord& event, Provenance& from) {
  ++counters_->events;
  const auto id = runtime_->pack()->signals.find(event.name);
  if (!id || runtime_->pack()->signals[*id].kind != SignalKind::event) {
    ++counters_->unknown_signal;
    return;
  }
  const SignalDefinition& definition = runtime_->pack()->signals[*id];
  intake_.alive(event.source.empty() ? std::string_view{definition.source} : event.source, event.member, from);
  if (!history_->wants(*id)) return;
  const auto slot = intake_.owner_slot(definition.owner, event.member);
  if (!slot) {
    ++counters_->member_limit;
    return;
  }
  intake_.carried(definition.owner, {&*slot, 1}, from);
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
  if (history_->event(*id, *slot, intake_.placed(event.time, from.arrival, true), fields, from.arrival,
                      from.take_order()) == History::Write::late)
    ++counters_->late;
}

void Telemetry::take(const CoverageRecord& record, Provenance& from) {
  ++counters_->coverage;
  if (record.members.empty()) intake_.cover(record.source, {}, from.arrival);
  for (const MemberKey& key : record.members) intake_.cover(record.source, key, from.arrival);
}

bool Telemetry::follow_origins(Time at) {
  bool any = false;
  coverage_.follow_origins([&](std::string_view origin, bool left) {
    const auto id = signals().find(left ? "origin_behind" : "origin_caught_up");
    if (end_ != never || !id || signals()[*id].kind != SignalKind::event || !history_->wants(*id)) return;
    const EventField fields[] = {{"origin", symbols_.intern(origin)}};
    (void)history_->event(*id, 0, at, fields, at, intake_.between(at).order);
    any = true;
  });
  return any;
}

template <class Extract>
void Telemetry::extract(Time at, Extract&& extract) {
  Provenance from = intake_.between(at);
  Lines lines{*this, from};
  extract(lines);
}

void Telemetry::settle_lines(Time due) {
  extract(due, [&](Lines& lines) { extraction_.settle(due, lines); });
}
void Telemetry::finish_lines(Time at) {
  extract(at, [&](Lines& lines) { extraction_.finish(lines); });
}
void Telemetry::change_lines(Time at) {
  extract(at, [&](Lines& lines) { extraction_.change(change_, lines); });
}

void Telemetry::end(Time end) {
  end_ = end;
  history_->end(end);
}

void Telemetry::end_reason(Time end, std::string_view reason) {
  if (reason.empty() || !signals().find("end_reason")) return;
  need_rows(end);
  Provenance from = intake_.between(end);
  text(end, MemberKey{}, "end_reason", reason, from, {});
}

std::unique_ptr<History> Telemetry::use(const PackChange& pack) {
  change_ = pack;
  const auto before = std::exchange(runtime_, job_.packs->runtime(pack));
  if (runtime_ == before) return nullptr;
  auto old = std::move(history_);
  open_history();
  history_->adopt(*old);
  return old;
}

void Telemetry::settle(Time clock) {
  while (lines_due() <= clock) {
    const Time due = lines_due();
    history_->settle(due, [](const Applied&) {});
    settle_lines(due);
  }
  history_->settle(clock, [](const Applied&) {});
}

void Telemetry::need_rows(Time arrival) {
  if (history_->need_more(arrival)) intake_.open(*runtime_->pack(), *history_);
}

void Telemetry::take_rows(Telemetry& again) {
  history_->take_rows(*again.history_);
  topology_.reading(again.topology_.last_read());
}

void Telemetry::save(Writer& out) const {
  out(4, labels_), out(5, topology_), out(6, coverage_), out(7, symbols_), out(8, *history_);
  Writer lines;
  extraction_.save(lines);
  out(9, lines.bytes()), out(11, intake_);
  if (cluster_) out(16, *cluster_);
}

void Telemetry::load(Reader& in) {
  in(4, labels_), in(5, topology_), in(6, coverage_), in(7, symbols_), in(8, *history_);
  const auto bytes = in.get<std::vector<std::byte>>(9);
  Reader lines{bytes};
  if (auto loaded = extraction_.load(lines, change_); !loaded) in.fail(loaded.error());
  in(11, intake_);
  if (cluster_) in(16, *cluster_);
}

}  // namespace tocsin::stream
