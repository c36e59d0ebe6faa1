// What a shard keeps for a restart, and how it goes on from there.
#include <algorithm>
#include <set>

#include "stream/job/backfill.h"
#include "stream/job/shard.h"
#include "stream/job/shard_state.h"

namespace tocsin::stream {
namespace {

constexpr Duration between_takes = std::chrono::seconds{1}, between_own = std::chrono::seconds{30};
constexpr Duration between_parts = std::chrono::milliseconds{100};  // takes, where more are due than one holds
// What a section costs besides what the shard writes of it, as so many bytes written: parts are lent, for each rule and
// window.
constexpr std::size_t cost_of_section = 32u << 10;
// After so many values, which take a second to judge again, a subject is saved so many times sooner.
constexpr std::size_t many_values = 16u << 20;
constexpr int busy_save = 8;
constexpr int first_save = 60;  // a new subject's first section comes so many times sooner: within seconds
constexpr std::size_t most_ahead =
    4;  // packs that are held compiled before they come into force: a source may be minutes behind

Error missing(const std::string& pack) {
  return {Errc::refused, "the rules that judged before (pack " + pack +
                             ") are neither kept beside the state nor to be had elsewhere: bring them back, or move "
                             "the state away to judge from the log's beginning"};
}

}  // namespace

// ---- what a save asks of all subjects

void Shard::State::changes(Item& item) {
  const Judged& judged = item.second;
  if (judged.save_at != never || !options.restarts) return;
  changed_from_.insert(judged.saved_at);
  changed_.insert(item.first);
  if (judged.saved_clock == never) return save_by(item, judged.saved + options.save_every / first_save);
  const Duration spread = options.save_every / 4;
  const Duration phase{
      static_cast<std::int64_t>(hash_text(item.first) % static_cast<std::uint64_t>(spread.count() + 1))};
  save_by(item, judged.saved + options.save_every + phase);
}

void Shard::State::count_values(Item& item) {
  Judged& judged = item.second;
  const std::size_t before = judged.values;
  for (const SampleBlock& block : entry_->samples) judged.values += block.size();
  judged.values += entry_->lines.size();
  if (before >= many_values || judged.values < many_values || judged.save_at == never) return;
  save_by(item, std::min(judged.save_at, std::max(log.clock, judged.saved + options.save_every / busy_save)));
}

void Shard::State::add_saved(const Judged& judged) {
  if (judged.saved_clock == never) return;
  if (judged.saved_reach > Duration{0}) rows_from_.insert(judged.saved_clock - judged.saved_reach);
  ++saved_packs_[judged.saved_pack];
}

void Shard::State::remove_saved(const Judged& judged) {
  if (judged.saved_clock == never) return;
  if (judged.saved_reach > Duration{0}) rows_from_.erase(rows_from_.find(judged.saved_clock - judged.saved_reach));
  if (const auto pack = saved_packs_.find(judged.saved_pack); --pack->second == 0) saved_packs_.erase(pack);
}

void Shard::State::count_pack(Item& item) {
  Judged& judged = item.second;
  if (judged.judged_by != nullptr) {
    const PackChange& known = judged.judged_by->first;
    if (known.key == judged.subject->pack() && known.hash == judged.subject->pack_hash()) return;
    if (--judged.judged_by->second == 0) judging_.erase(judging_.find(known));
  }
  judged.judged_by = &*judging_.try_emplace({judged.subject->pack(), judged.subject->pack_hash()}).first;
  ++judged.judged_by->second;
}

void Shard::State::gone(Item& item) {
  Judged& judged = item.second;
  unchanged(item);
  remove_saved(judged);
  if (judged.judged_by != nullptr && --judged.judged_by->second == 0)
    judging_.erase(judging_.find(judged.judged_by->first));
  backfilling.erase({judged.saved_at, &item});
}

void Shard::State::unchanged(Item& item) {
  const Judged& judged = item.second;
  if (judged.save_at == never) return;
  changed_from_.erase(changed_from_.find(judged.saved_at));
  changed_.erase(item.first);
  save_by(item, never);
}

// ---- marks

// The newest mark that is not behind `at` and from which every subject's rows can be written again.
const Shard::State::Mark* Shard::State::place_to_read_from(Position at) const {
  if (!changed_from_.empty()) at = std::min(at, *changed_from_.begin());
  const Time clock = rows_from_.empty() ? never : *rows_from_.begin();
  for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark)
    if ((*mark)->at <= at && (*mark)->log.clock < clock) return mark->get();
  return marks.empty() ? nullptr : marks.front().get();
}

// Nothing reads back to before the place where a restore would begin. Subjects forget what is before with their next
// sections.
void Shard::State::forget_marks() {
  const Mark* oldest = place_to_read_from(next);
  if (oldest == nullptr || oldest == marks.front().get()) return;
  const Position at = oldest->at;
  const auto before = [at](const auto& gone) { return gone.second <= at; };
  if (std::ranges::any_of(*forgotten_at, before)) std::erase_if(forgotten_at.own(), before);
  no_room.forget_before(at);
  marks.erase(marks.begin(), std::ranges::find(marks, at, &Mark::at));
  PackChange::Key pack = marks.front()->log.packs.in_force(marks.front()->log.clock).key;
  if (!judging_.empty()) pack = std::min(pack, judging_.begin()->first.key);
  if (log.packs.all().size() > 1) log.packs.forget_before(pack);
}

// A compiled pack takes megabytes; of one that only a restore may ask for, the text is enough.
void Shard::State::forget_packs() {
  const auto to_come = packs_to_come(), in_use = packs_in_use();
  const auto judges = [&](const auto& one) { return to_come.contains(one.first); };
  if (std::any_of(loaded_packs.begin(), loaded_packs.end(), judges))
    std::erase_if(loaded_packs, [&](const auto& one) { return !judges(one); });
  std::erase_if(refused, [&](const auto& one) { return !in_use.contains(one.second.hash); });
  std::erase_if(had_packs, [&](const std::string& hash) { return !in_use.contains(hash); });
}

PackChange::Key Shard::State::oldest_pack() const {
  PackChange::Key oldest = log.packs.in_force(log.clock).key;
  if (!judging_.empty()) oldest = std::min(oldest, judging_.begin()->first.key);
  for (const auto& [end, item] : backfilling) oldest = std::min(oldest, item->second.subject->backfill()->pack());
  return oldest;
}

void Shard::State::add_instead(std::set<std::string, std::less<>>& hashes) const {
  for (const auto& [key, pack] : refused)
    if (hashes.contains(pack.hash)) hashes.insert(pack.instead);
}

std::set<std::string, std::less<>> Shard::State::packs_to_come() const {
  const PackChange& in_force = log.packs.in_force(log.clock);
  std::set<std::string, std::less<>> hashes{in_force.hash};
  std::set<PackChange::Key> judging{in_force.key};
  for (const auto& [pack, count] : judging_) hashes.insert(pack.hash), judging.insert(pack.key);
  for (const auto& [end, item] : backfilling) judging.insert(item->second.subject->backfill()->pack());
  std::size_t wanted = 0;
  auto judge = judging.begin();
  for (const PackChange& change : log.packs.all()) {
    for (; judge != judging.end() && *judge <= change.key; ++judge) wanted = 1 + most_ahead;
    if (wanted > 0) hashes.insert(change.hash), --wanted;
  }
  add_instead(hashes);
  return hashes;
}

std::set<std::string, std::less<>> Shard::State::packs_in_use() const {
  auto hashes = packs_to_come();
  const PackChange::Key oldest = oldest_pack();
  for (const PackChange& change : log.packs.all())
    if (change.key >= oldest) hashes.insert(change.hash);
  for (const auto& mark : marks)
    for (const PackChange& change : mark->log.packs.all())
      if (change.key >= mark->oldest) hashes.insert(change.hash);
  for (const auto& [hash, count] : saved_packs_)
    if (!hash.empty()) hashes.insert(hash);
  add_instead(hashes);
  return hashes;
}

void Shard::State::save_own(Writer& out) const {
  std::vector<std::string> had;  // a pack that was refused is not needed again, nor one that the log does not name
  const auto in_use = packs_in_use();
  for (const std::string& hash : had_packs)
    if (in_use.contains(hash)) had.push_back(hash);
  out.object(1, [this](Writer& list) {
    list.later([lent = marks](Writer& of) {
      for (const auto& mark : lent) of(element_tag, *mark);
    });
  });
  out(2, changed_), out(3, had);
  out.later([gone = forgotten_at.lend()](Writer& of) {
    if (!gone->empty()) of(5, *gone);
  });
  // Where the first subject without a section begins, or the section of the first that changed was taken.
  if (!changed_from_.empty()) out(6, std::map<std::string, Position>{{"", *changed_from_.begin()}});
  if (!no_room.empty()) out(7, no_room);
  if (!refused.empty())
    out.list(4, refused, [](Writer& of, const auto& one) {
      of(1, one.first.from), of(2, one.first.at), of(3, one.second.hash), of(4, one.second.instead);
    });
}

Result<void> Shard::State::load_own(Reader& in, std::set<std::string>& changed, Position& first) {
  for (Mark& mark : in.get<std::vector<Mark>>(1)) marks.push_back(std::make_shared<Mark>(std::move(mark)));
  for (auto& name : in.get<std::vector<std::string>>(2)) changed.insert(std::move(name));
  const auto hashes = in.get<std::vector<std::string>>(3);
  in(5, forgotten_at.own()), in(7, no_room);
  for (const auto& [name, begun] : in.get<std::map<std::string, Position>>(6)) first = std::min(first, begun);
  in.list(4, [&](Reader& of) {
    const PackChange::Key key{of.get<Time>(1), of.get<Position>(2)};
    refused[key] = {of.get<std::string>(3), of.get<std::string>(4)};
  });
  if (auto ok = in.status(); !ok) return ok;
  if (marks.empty()) return Error{Errc::malformed, "the shard's section has no mark to read the log from"};
  for (const std::string& hash : hashes) {
    had_packs.insert(hash);
    if (loaded_packs.contains(hash)) continue;
    const auto text = packs ? packs->text(hash) : Result<std::string>{Error{Errc::not_found, "no packs are kept"}};
    if (!text) return missing(hash + ": " + text.error().message);
  }
  return {};
}

bool Shard::restoring() const noexcept { return state_->next < state_->handed_over; }

bool Shard::sections_due() const noexcept {
  const State& s = *state_;
  if (!s.options.restarts || restoring() || s.last_take == long_ago ||
      s.log.clock < s.last_take + (s.more_due ? between_parts : between_takes))
    return false;
  // The entry at which subjects change their pack takes long enough without.
  return s.log.clock >= s.pack_changed + between_parts || s.log.clock >= s.last_take + 2 * between_takes;
}

void Shard::State::take_section(Item& item, Sections& sections) {
  catch_up(item);
  Judged& judged = item.second;
  Subject& subject = *judged.subject;
  if (!marks.empty()) subject.forget_before(marks.front()->at);
  Writer out{judged.saved_bytes == 0 ? subject.state_bytes() / 16 : judged.saved_bytes + judged.saved_bytes / 8};
  out(1, next), out(2, subject.clock(log.clock)), out(3, subject);
  unchanged(item), remove_saved(judged);
  const bool backfills = backfilling.erase({judged.saved_at, &item}) != 0;
  judged.saved = log.clock;
  judged.saved_clock = subject.clock(log.clock);
  judged.saved_reach = subject.reach();
  judged.saved_at = next;
  judged.saved_pack = subject.pack_hash();
  judged.saved_bytes = out.size();
  judged.values = 0;
  add_saved(judged);
  if (backfills) backfilling.emplace(judged.saved_at, &item);
  sections[item.first] = Section{std::move(out)};
}

Shard::Sections Shard::State::take_due(bool all, std::size_t most_bytes) {
  Sections sections;
  more_due = false;
  for (std::size_t bytes = 0; !to_save_.empty();) {
    const auto [due, item] = *to_save_.begin();
    if (!all && due > log.clock) break;
    if (!all && bytes >= most_bytes) {
      more_due = true;
      break;
    }
    take_section(*item, sections);
    bytes += item->second.saved_bytes + cost_of_section;
  }
  return sections;
}

Shard::Sections Shard::take_sections(bool all, std::size_t most_bytes) {
  State& s = *state_;
  Sections sections;
  if (!s.options.restarts || restoring()) return sections;
  s.last_take = s.log.clock;
  s.forget_packs();
  sections = s.take_due(all, most_bytes);
  if (sections.empty() && s.forgotten.empty() && !all && s.log.clock < s.last_own + between_own) return sections;
  sections.merge(take_own_section());
  return sections;
}

Shard::Sections Shard::take_own_section() {
  State& s = *state_;
  if (!s.options.restarts || restoring() || s.marks.empty()) return {};
  s.last_own = s.log.clock;
  s.forget_marks();
  s.forget_packs();
  Writer own;
  s.save_own(own);
  Sections sections;
  sections.emplace("", Section{std::move(own)});
  for (std::string& name : s.forgotten) sections.try_emplace(std::move(name));
  s.forgotten.clear();
  return sections;
}

std::vector<std::string> Shard::packs_in_use() const {
  const auto hashes = state_->packs_in_use();
  return {hashes.begin(), hashes.end()};
}
std::vector<std::string> Shard::packs_to_come() const {
  const auto hashes = state_->packs_to_come();
  return {hashes.begin(), hashes.end()};
}

Position Shard::needed_from() const noexcept {
  const State::Mark* mark = state_->place_to_read_from(state_->next);
  return mark == nullptr ? Position{} : mark->at;
}

Result<Position> Shard::load(const Sections& sections, Position handed_over) {
  State& s = *state_;
  const auto own = sections.find("");
  if (own == sections.end()) return Error{Errc::malformed, "what is kept of the engine has no section of the shard"};
  Reader in{own->second.bytes()};
  std::set<std::string> changed;
  Position first = handed_over;
  if (auto ok = s.load_own(in, changed, first); !ok) return ok.error();
  s.next = s.handed_over = handed_over;
  for (const auto& [name, content] : sections) {
    if (name.empty() || content.empty()) continue;
    State::Judged judged;
    judged.subject = std::make_unique<Subject>(name, s.job);
    Reader section{content.bytes()};
    section(1, judged.saved_at), section(2, judged.saved_clock), section(3, *judged.subject);
    if (auto loaded = section.status(); !loaded)
      return Error{loaded.error().code, "subject " + name + ": " + loaded.error().message};
    const bool has_changed = changed.contains(name);
    if (!has_changed) {
      // At marks since, its origins stand as in its section: it does not come to them again while it reads back.
      for (const auto& mark : s.marks)
        if (mark->at >= judged.saved_at) judged.subject->mark(mark->at);
      judged.saved_at = handed_over;
    }
    judged.saved_reach = judged.subject->reach();
    judged.saved_pack = judged.subject->pack_hash();
    judged.saved = judged.saved_clock;  // restarts do not put the next section off
    State::Item& item = *s.subjects.emplace(name, std::move(judged)).first;
    if (has_changed) s.changes(item);
    s.add_saved(item.second);
    s.count_pack(item);
    s.follow_sources(item);
  }
  const State::Mark from = *s.place_to_read_from(first);
  std::erase_if(s.marks, [&](const auto& mark) { return mark->at > from.at; });
  s.log = from.log;
  s.last_take = s.last_own = s.log.clock;
  for (State::Item& item : s.subjects) {
    item.second.subject->begin_backfill(from.at, s.log.clock);
    s.backfilling.emplace(item.second.saved_at, &item);
  }
  s.next = from.at;
  if (!s.missing_pack.empty()) return missing(s.missing_pack);
  return from.at;
}

}  // namespace tocsin::stream
