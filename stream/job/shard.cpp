#include "stream/job/shard.h"

#include <algorithm>
#include <utility>

#include "stream/job/backfill.h"
#include "stream/job/murmur2.h"
#include "stream/job/shard_state.h"
#include "stream/values/prefetch.h"

namespace tocsin::stream {
namespace {

constexpr Duration between_marks = std::chrono::seconds{30};
constexpr Duration furthest_behind = std::chrono::hours{24};  // a source's arrival behind the append time here
constexpr std::size_t most_refused_named = 100;
constexpr Time first = long_ago + Duration{1};

}  // namespace

Shard::State::State(LoadedPack pack, PackSource* source, AlertSink& sink, const ShardOptions& shard_options)
    : packs(source), options(shard_options), gate(sink) {
  log.packs = PackTimeline{pack.pack->hash};
  had_packs.insert(pack.pack->hash);
  loaded_packs.emplace(pack.pack->hash, std::move(pack));
  job = {{&gate,
          &counters,
          nullptr,
          options.digest_columns,
          options.evaluate_all,
          &observer,
          &settled_observer,
          {&log.clock, &log.last_beat}},
         &log.packs,
         this};
  job.controlled = &log.controlled;
}

const LoadedPack* Shard::State::find_loaded(std::string_view hash) {
  if (const auto known = loaded_packs.find(hash); known != loaded_packs.end()) return &known->second;
  if (!packs) return nullptr;
  auto pack = packs->pack(hash);
  if (!pack) {
    if (had_packs.contains(hash)) missing_pack = std::string{hash} + ": " + pack.error().message;
    return nullptr;
  }
  had_packs.emplace(hash);
  return &loaded_packs.emplace(hash, std::move(*pack)).first->second;
}

const LoadedPack& Shard::State::loaded(const PackChange& change) {
  const auto known = refused.find(change.key);
  if (const LoadedPack* pack = find_loaded(known == refused.end() ? change.hash : known->second.instead)) return *pack;
  if (known == refused.end()) ++counters.packs_refused;
  const PackChange* before = &log.packs.all().front();
  for (const PackChange& other : log.packs.all())
    if (other.key < change.key) before = &other;
  const LoadedPack& instead = before->key < change.key ? loaded(*before) : loaded_packs.begin()->second;
  refused[change.key] = {change.hash, instead.pack->hash};
  return instead;
}

// ---- subjects

Shard::State::Item* Shard::State::subject(std::string_view name) {
  if (recent_ != nullptr && recent_->first == name) return recent_;
  if (const auto found = subjects.find(name); found != subjects.end()) return recent_ = &*found;
  // A restart reads entries again that were about a job which is gone since.
  if (const auto gone = forgotten_at->find(name); gone != forgotten_at->end() && entry_->position < gone->second)
    return nullptr;
  if (options.shards > 1 && murmur2(name) % options.shards != options.shard) return nullptr;
  if (state_bytes < options.most_state) take_all_waiting();  // what they add to the state counts
  if (name != cluster_subject && !room_for(name)) return nullptr;
  Judged judged;
  judged.subject = std::make_unique<Subject>(std::string{name}, job);
  judged.saved = log.clock;
  judged.saved_at = entry_->position;
  recent_ = &*subjects.emplace(std::string{name}, std::move(judged)).first;
  changes(*recent_);
  return recent_;
}

// Decided once: a restart, which finds other jobs here than there were, decides as it was decided then.
bool Shard::State::room_for(std::string_view name) {
  if (entry_->position < handed_over) return !no_room.holds(entry_->position);
  if (state_bytes < options.most_state) {
    no_room.accepted();
    return true;
  }
  ++counters.state_limit;
  if (options.restarts) no_room.refused(*entry_);
  auto named = refused_jobs.find(std::string{name});
  if (named == refused_jobs.end())
    named =
        refused_jobs.try_emplace(refused_jobs.size() < most_refused_named ? std::string{name} : std::string{}).first;
  ++named->second;
  return false;
}

void Shard::State::measure(Item& item) {
  count_pack(item);
  if (item.first == cluster_subject) return;
  const std::size_t bytes = item.second.subject->state_bytes();
  state_bytes += bytes - std::exchange(item.second.bytes, bytes);
}

void Shard::State::schedule(Item& item) {
  Judged& judged = item.second;
  const bool by_log = !judged.subject->rekeyed();
  const Time next_at = by_log ? judged.subject->advance_by() : never;
  // It goes by the log's control records: the first at which something is due concerns it.
  if (!judged.subject->origins().waits()) look_after(item, std::max(judged.subject->advance_by(), first) - Duration{1});
  be_due(item, next_at);
}

void Shard::State::move_to(ItemsBy<Time>& items, Item& item, Time Judged::*where, Time at) {
  Time& known = item.second.*where;
  if (known == at) return;
  if (known != never) items.erase({known, &item});
  known = at;
  if (at != never) items.emplace(at, &item);
}

void Shard::State::forget(Item& item) {
  be_due(item, never);
  look_after(item, never);
  for (Followers::value_type* of : item.second.follows)
    if (of->second.erase(&item); of->second.empty()) followers_.erase(followers_.find(of->first));
  waiting_.erase(&item);
  if (recent_ == &item) recent_ = nullptr;
  state_bytes -= item.second.bytes;
  gone(item);
  if (options.restarts) {
    forgotten.push_back(item.first);
    forgotten_at.own()[item.first] = applied_ ? entry_->next : entry_->position;
  }
  subjects.erase(subjects.find(item.first));
}

bool Shard::State::advance(Item& item, TickBudget& budget) {
  take_waiting(item);
  Judged& judged = item.second;
  if (judged.due != never && log.clock < judged.due) {
    judged.subject->pass(log.clock);
    return true;
  }
  changes(item);
  const PackChange::Key pack = judged.subject->pack();
  const bool done = judged.subject->advance(judged.subject->clock(log.clock), budget);
  if (judged.subject->pack() != pack) {
    pack_changed = log.clock;
    if (judged.saved_clock != never && options.restarts) save_by(item, log.clock);
  }
  measure(item);
  if (done) schedule(item);
  return done;
}

// Of thousands of jobs none is in the cache when its turn comes. Each turn fetches one step further of the next ones:
// what the step before, a turn ago, has shown the way to.
void Shard::State::prefetch_next() const noexcept {
  using Step = void (*)(const Item&);
  static constexpr Step steps[] = {
      [](const Item& item) { item.second.subject->prefetch(&Attempt::prefetch_signals); },
      [](const Item& item) { item.second.subject->prefetch(&Attempt::prefetch_columns); },
      [](const Item& item) { item.second.subject->prefetch(&Attempt::prefetch_parts); },
      [](const Item& item) { item.second.subject->prefetch(&Attempt::prefetch); },
      [](const Item& item) { prefetch_object(*item.second.subject); },
      [](const Item& item) { prefetch_object(item); },
  };
  auto at = due_.begin();
  for (const Step step : steps) {
    if (at == due_.end()) return;
    step(*at->second);
    ++at;
  }
}

bool Shard::State::advance_due(TickBudget& budget) {
  while (something_due()) {
    Item& item = unfinished_ != nullptr ? *unfinished_ : *due_.begin()->second;
    prefetch_next();
    if (unfinished_ == nullptr && !is_next(item)) continue;
    unfinished_ = &item;
    if (!advance(item, budget)) return false;
    unfinished_ = nullptr;
    if (item.second.subject->forgotten()) forget(item);
  }
  return true;
}

bool Shard::State::advance_waiting(TickBudget& budget) {
  while (!waiting_.empty()) {
    Item& item = **waiting_.begin();
    if (!advance(item, budget)) return false;
    waiting_.erase(&item);
    if (item.second.subject->forgotten()) forget(item);
  }
  return true;
}

// ---- entries

bool Shard::State::consume(const Entry& raw, TickBudget& budget) {
  if (!begun_) begin(raw);
  else read(raw);  // its bytes may lie elsewhere than at the call before
  if (something_due() && !advance_due(budget)) return false;
  if (!applied_ && !apply(budget)) return false;
  applied_ = true;
  for (;;) {
    if (!waiting_.empty() && !advance_waiting(budget)) return false;
    if (controls_done_ == entry_->controls.size()) break;
    control(entry_->controls[controls_done_++]);
  }
  begun_ = applied_ = false;
  controls_done_ = 0;
  next = raw.next;
  return true;
}

void Shard::State::begin(const Entry& raw) {
  begun_ = true;
  entry_ = &raw;
  ++counters.entries;
  counters.rejected_blocks += raw.rejected_blocks;
  judge_on_from(raw.position);
  gate.open = raw.position >= handed_over;
  if (marks.empty() || raw.appended >= marks.back()->log.clock + between_marks) mark();

  const bool beats = std::any_of(raw.controls.begin(), raw.controls.end(),
                                 [](const ControlRecord& c) { return c.kind == ControlRecord::Kind::beat; });
  if (beats) {
    if (log.last_beat != long_ago && raw.appended > log.last_beat + widest_beat) {
      ++counters.gaps;
      take_all_waiting();
      for (Item& item : subjects) gap(item, log.last_beat, raw.appended);
    }
    log.last_beat = std::max(log.last_beat, raw.appended);
  }
  log.clock = std::max(log.clock, raw.appended);
  if (last_take == long_ago) last_take = last_own = log.clock;
  arrival_ = raw.origin_source.empty() ? log.clock : raw.arrival;
  if (arrival_ > log.clock + furthest_ahead || arrival_ < log.clock - furthest_behind) {
    ++counters.corrected_arrivals;
    arrival_ = log.clock;
  }
  read(raw);
}

void Shard::State::read(const Entry& raw) {
  entry_ = &raw;
  if (raw.arrival == arrival_) return;
  corrected_ = raw;
  corrected_.arrival = arrival_;
  entry_ = &corrected_;
}

// Nobody could write about the subject between two arrivals.
void Shard::State::gap(Item& item, Time from, Time to) {
  if (item.second.subject->backfill()) return;
  item.second.subject->gap(from, to);
  if (item.second.subject->reach() > Duration{0}) changes(item);
}

// A place where a restore may begin to read. Where there is none, what only it would need is let go.
void Shard::State::mark() {
  if (!options.restarts) marks.clear();
  std::erase_if(log.watermarks, [this](const auto& mark) { return mark.second < log.clock - watermarks_kept; });
  auto made = std::make_shared<Mark>(Mark{entry_->position, log, oldest_pack()});
  if (log.clock == long_ago) made->log.clock = entry_->appended;
  marks.push_back(std::move(made));
  for (Item& item : subjects)
    if (!options.restarts) item.second.subject->forget_before(entry_->position);
    else if (!item.second.subject->backfill()) item.second.subject->mark(entry_->position);
}

void Shard::State::judge_on_from(Position position) {
  while (!backfilling.empty() && backfilling.begin()->first <= position) {
    Item& item = *backfilling.begin()->second;
    backfilling.erase(backfilling.begin());
    item.second.subject->end_backfill();
    measure(item);
    schedule(item);
  }
}

bool Shard::State::apply(TickBudget& budget) {
  if (entry_->subject.empty()) {
    if (log.duplicates.repeated(*entry_)) {
      ++counters.duplicates;
      controls_done_ = entry_->controls.size();
    }
  } else if (Item* of = subject(entry_->subject)) {
    Judged& judged = of->second;
    if (Subject::Backfill* backfill = judged.subject->backfill()) {
      backfill->read(*entry_, log.clock);
      return true;
    }
    if (!wait(*of)) {
      // A job that begins with a re-keyed record never goes by the log's clock.
      const bool by_log = entry_->origin_source.empty() || judged.subject->begun();
      if (by_log && !advance(*of, budget)) return false;
      catch_up(*of);  // the entry may find it done, or end the attempt
      judged.subject->apply(*entry_, log.clock);
      changes(*of);
      measure(*of);
      schedule(*of);
      if (judged.subject->rekeyed()) follow_sources(*of);
    }
    count_values(*of);
  }
  return true;
}

void Shard::State::control(const ControlRecord& record) {
  switch (record.kind) {
    case ControlRecord::Kind::beat: ++counters.beats; break;
    case ControlRecord::Kind::watermark: read_watermark(record); break;
    case ControlRecord::Kind::pack:
      if (options.ignore_packs || !packs) break;
      packs->prepare(record.pack_hash, record.pack_text);
      for (Item& item : subjects) catch_up(item);
      if (!log.packs.read(record.pack_hash, record.pack_from, entry_->position, log.clock)) break;
      for (Item& item : subjects)
        if (!item.second.subject->backfill()) schedule(item);
      break;
    case ControlRecord::Kind::seal:
      log.sealed = true;
      for (Item& item : subjects) catch_up(item);
      for (Item& item : subjects) {
        if (item.second.subject->backfill()) continue;
        item.second.subject->seal();
        changes(item);
        schedule(item);
        waiting_.insert(&item);
      }
      break;
  }
  const std::string_view moved = record.kind == ControlRecord::Kind::watermark ? record.source : std::string_view{};
  follow_watermarks(moved);
  log.controlled = log.clock;
  // Who follows an ended source knows it now.
  if (const auto mark = log.watermarks.find(moved); mark != log.watermarks.end() && mark->second == never)
    log.watermarks.erase(mark);
}

// ---- the class

Shard::Shard(LoadedPack pack, PackSource* packs, AlertSink& sink, ShardOptions options)
    : state_(std::make_unique<State>(std::move(pack), packs, sink, options)) {}

Shard::~Shard() = default;

bool Shard::consume(const Entry& entry, std::size_t most_ticks) {
  TickBudget budget{most_ticks};
  return state_->consume(entry, budget);
}

std::map<std::string, std::uint64_t> Shard::digests() const { return state_->by_name(&Subject::digest); }
std::map<std::string, std::uint64_t> Shard::row_digests() const { return state_->by_name(&Subject::rows_digest); }

std::vector<AlertTransition> Shard::firing() const {
  std::vector<AlertTransition> all;
  for (const auto& [name, judged] : state_->subjects)
    for (AlertTransition& alert : judged.subject->firing()) all.push_back(std::move(alert));
  return all;
}
std::vector<SubjectFigures> Shard::figures(std::string_view after, std::size_t most) const {
  std::vector<SubjectFigures> all;
  for (auto at = state_->subjects.upper_bound(after); at != state_->subjects.end() && all.size() < most; ++at) {
    if (at->second.subject->backfill()) continue;
    state_->catch_up(*at);
    if (auto shown = at->second.subject->figures(state_->log.clock)) all.push_back(std::move(*shown));
  }
  return all;
}

const Counters& Shard::counters() const noexcept { return state_->counters; }
Time Shard::clock() const noexcept { return state_->log.clock; }
bool Shard::sealed() const noexcept { return state_->log.sealed && !state_->begun(); }
std::size_t Shard::subjects() const noexcept { return state_->subjects.size(); }
std::size_t Shard::state_bytes() const noexcept { return state_->state_bytes; }
std::map<std::string, std::uint64_t> Shard::take_refused_jobs() { return std::exchange(state_->refused_jobs, {}); }
std::size_t Shard::kept_for_restarts() const noexcept {
  return state_->marks.size() + state_->forgotten.size() + state_->forgotten_at->size();
}
void Shard::observe(RuleObserver observer) { state_->observer = std::move(observer); }
void Shard::observe_settled(RuleObserver observer) { state_->settled_observer = std::move(observer); }

}  // namespace tocsin::stream
