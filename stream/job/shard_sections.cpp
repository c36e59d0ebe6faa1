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
constexpr int first_save = 60;  // a new subject's first section comes so many times sooner: within seconds
constexpr std::size_t most_ahead =
    4;  // packs that are held compiled before they come into force: a source may be minutes behind

Error missing(const std::string& pack) {
  return {Errc::refused, "the rules that judged before (pack " + pack +
                             ") are neither kept beside the state nor to be had elsewhere: bring them back, or move "
                             "the state away to judge from the log's beginning"};
}

}  // namespace

bool Shard::State::due_for_saving(const Item& item) const {
  const Judged& judged = item.second;
  if (!judged.changed) return false;
  if (judged.saved_clock == never) return log.clock >= judged.saved + options.save_every / first_save;
  const Duration spread = options.save_every / 4;
  const Duration phase{
      static_cast<std::int64_t>(hash_text(item.first) % static_cast<std::uint64_t>(spread.count() + 1))};
  return judged.pack_changed || log.clock >= judged.saved + options.save_every + phase;
}

// The newest mark that is not behind `at` and from which every subject's rows can be written again.
const Shard::State::Mark* Shard::State::place_to_read_from(Position at) const {
  Time clock = never;
  for (const auto& [name, judged] : subjects) {
    if (judged.changed || judged.subject->backfill()) at = std::min(at, judged.saved_at);
    if (judged.saved_clock != never && judged.saved_reach > Duration{0})
      clock = std::min(clock, judged.saved_clock - judged.saved_reach);
  }
  for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark)
    if (mark->at <= at && mark->log.clock < clock) return &*mark;
  return marks.empty() ? nullptr : &marks.front();
}

// Nothing reads back to before the place where a restore would begin.
void Shard::State::forget_marks() {
  const Mark* oldest = place_to_read_from(next);
  if (oldest == nullptr || oldest == &marks.front()) return;
  const Position at = oldest->at;
  std::erase_if(forgotten_at, [at](const auto& gone) { return gone.second <= at; });
  no_room.forget_before(at);
  marks.erase(marks.begin(),
              std::find_if(marks.begin(), marks.end(), [at](const Mark& mark) { return mark.at == at; }));
  PackChange::Key pack = marks.front().log.packs.in_force(marks.front().log.clock).key;
  for (auto& [name, judged] : subjects) {
    judged.subject->forget_before(at);
    pack = std::min(pack, judged.subject->pack());
  }
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
  for (const auto& [name, judged] : subjects)
    oldest = std::min(oldest, judged.subject->backfill() ? judged.subject->backfill()->pack() : judged.subject->pack());
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
  for (const auto& [name, judged] : subjects) {
    hashes.insert(judged.subject->pack_hash());
    judging.insert(judged.subject->pack());
    if (const auto* backfill = judged.subject->backfill()) judging.insert(backfill->pack());
  }
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
  for (const Mark& mark : marks)
    for (const PackChange& change : mark.log.packs.all())
      if (change.key >= mark.oldest) hashes.insert(change.hash);
  for (const auto& [name, judged] : subjects)
    if (!judged.saved_pack.empty()) hashes.insert(judged.saved_pack);
  add_instead(hashes);
  return hashes;
}

void Shard::State::save_own(Writer& out) const {
  std::vector<std::string> changed;
  std::map<std::string, Position> unsaved;  // subjects without a section: where a restore has to judge them from
  for (const auto& [name, judged] : subjects)
    if (judged.saved_clock == never) unsaved.emplace(name, judged.saved_at);
    else if (judged.changed) changed.push_back(name);
  std::vector<std::string> had;  // a pack that was refused is not needed again, nor one that the log does not name
  const auto in_use = packs_in_use();
  for (const std::string& hash : had_packs)
    if (in_use.contains(hash)) had.push_back(hash);
  out(1, marks), out(2, changed), out(3, had);
  if (!forgotten_at.empty()) out(5, forgotten_at);
  if (!unsaved.empty()) out(6, unsaved);
  if (!no_room.empty()) out(7, no_room);
  if (!refused.empty())
    out.list(4, refused, [](Writer& of, const auto& one) {
      of(1, one.first.from), of(2, one.first.at), of(3, one.second.hash), of(4, one.second.instead);
    });
}

Result<void> Shard::State::load_own(Reader& in, std::set<std::string>& changed, Position& first) {
  in(1, marks);
  for (auto& name : in.get<std::vector<std::string>>(2)) changed.insert(std::move(name));
  const auto hashes = in.get<std::vector<std::string>>(3);
  in(5, forgotten_at), in(7, no_room);
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

Shard::Sections Shard::take_sections(bool all, std::size_t most_bytes) {
  State& s = *state_;
  Sections sections;
  if (!s.options.restarts || restoring()) return sections;
  s.last_take = s.log.clock;
  s.more_due = false;
  s.forget_packs();
  std::vector<State::Item*> due;
  for (State::Item& item : s.subjects)
    if (all ? item.second.changed : s.due_for_saving(item)) due.push_back(&item);
  std::stable_sort(due.begin(), due.end(),
                   [](const auto* a, const auto* b) { return a->second.saved < b->second.saved; });
  std::size_t bytes = 0;
  for (State::Item* item : due) {
    if (!all && bytes >= most_bytes) {
      s.more_due = true;
      break;
    }
    s.catch_up(*item);
    State::Judged& judged = item->second;
    Writer out{judged.saved_bytes == 0 ? item->second.subject->state_bytes() / 16
                                       : judged.saved_bytes + judged.saved_bytes / 8};
    out(1, s.next), out(2, judged.subject->clock(s.log.clock)), out(3, *judged.subject);
    judged.saved = s.log.clock;
    judged.saved_clock = judged.subject->clock(s.log.clock);
    judged.saved_reach = judged.subject->reach();
    judged.saved_at = s.next;
    judged.saved_pack = judged.subject->pack_hash();
    judged.changed = judged.pack_changed = false;
    judged.saved_bytes = out.size();
    bytes += judged.saved_bytes;
    sections[item->first] = Section{std::move(out)};
  }
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
    judged.changed = changed.contains(name);
    if (!judged.changed) judged.saved_at = handed_over;
    judged.saved_reach = judged.subject->reach();
    judged.saved_pack = judged.subject->pack_hash();
    judged.saved = judged.saved_clock;  // restarts do not put the next section off
    s.follow_sources(*s.subjects.emplace(name, std::move(judged)).first);
  }
  const State::Mark from = *s.place_to_read_from(first);
  std::erase_if(s.marks, [&](const State::Mark& mark) { return mark.at > from.at; });
  s.log = from.log;
  s.last_take = s.last_own = s.log.clock;
  s.backfilling = s.subjects.size();
  for (auto& [name, judged] : s.subjects) judged.subject->begin_backfill(from.at, s.log.clock);
  s.next = from.at;
  if (!s.missing_pack.empty()) return missing(s.missing_pack);
  return from.at;
}

}  // namespace tocsin::stream
