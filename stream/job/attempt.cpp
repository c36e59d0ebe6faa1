#include "stream/job/attempt.h"

#include <algorithm>
#include <utility>

namespace tocsin::stream {
namespace {
constexpr Duration longest_put_off = std::chrono::seconds{5};
}

Attempt::Attempt(std::string subject, std::string name, Time start, Position start_position, const PackChange& pack,
                 const Origins& origins, const JobContext& job)
    : subject_(std::move(subject)),
      name_(std::move(name)),
      start_(start),
      start_position_(start_position),
      origins_(origins),
      context_(job.context),
      earlier_(job.earlier),
      rules_(job.rules),
      telemetry_(subject_, start, pack, &origins, job),
      last_arrival_(start) {
  read_earlier();
  judge_ = make_judge();
}

std::unique_ptr<Judge> Attempt::make_judge() {
  Telemetry& t = telemetry_;
  return std::make_unique<Judge>(t.runtime().pack(), t.runtime().scripts(),
                                 Judge::Facts{subject_, name_, t.labels(), t.topology(), t.coverage(), t.symbols(),
                                              t.history(), *rules_, start_, end_},
                                 context_);
}

Time Attempt::next_due() const {
  if (over()) return judge_->next_due();
  return std::min({telemetry_.history().next_due(), judge_->next_due(), telemetry_.lines_due(),
                   ended() ? never : telemetry_.look_due(), given_up_});
}

Time Attempt::advance_by() const {
  if (over()) return judge_->next_due();
  const Time settled = telemetry_.history().next_due();
  return std::min(settled == never ? never : settled + longest_put_off, reports_by());
}

Time Attempt::reports_by() const {
  if (over()) return judge_->next_due();
  const Time others =
      std::min({judge_->next_due(), telemetry_.lines_due(), ended() ? never : telemetry_.look_due(), given_up_});
  const History& history = telemetry_.history();
  return history.next_due() < others ? std::min(others, history.next_due(judge_->triggers())) : others;
}

Duration Attempt::due_after(const SampleBlock& block) const {
  Duration least = longest_put_off;
  const auto add = [&](std::string_view name) {
    const auto id = signals().find(name);
    if (!id) return;
    const SignalDefinition& signal = signals()[*id];
    const bool of_step = signal.owner == Level::job && signal.points;
    if (of_step || std::ranges::find(judge_->triggers(), *id) != judge_->triggers().end())
      least = std::min(least, signal.lateness);
  };
  for (const SampleBlock::Signal& named : block.signals) {
    add(named.name);
    if (named.name == "step") add("step_gap");  // which is made of it
  }
  return least;
}

bool Attempt::advance(Time clock, TickBudget& budget) {
  const auto applied = [this](const Applied& a) { judge_->applied(a); };
  History& history = telemetry_.history();
  for (;;) {
    const Time due = next_due();
    if (due > clock || due == never || over()) break;
    if (telemetry_.lines_due() <= due) {
      telemetry_.settle_lines(due);
      judge_->disturb(due);
      continue;
    }
    if (history.next_due() <= due) {
      history.settle(due, applied);
      continue;
    }
    if (!ended() && telemetry_.look_due() <= due) {
      telemetry_.look([&](Level level, Slot slot) { judge_->retire(level, slot, due); });
      continue;
    }
    if (given_up_ <= due) {
      end_by_event(due, due, parts_.reason_without_missing());
      continue;
    }
    if (!budget.take()) return false;
    judge_->perform(due);
  }
  if (!over()) history.settle(clock, applied);
  context_.counters->event_limit += history.take_let_go();
  return true;
}

void Attempt::pass(Time clock) {
  if (!over()) telemetry_.pass(clock);
}

void Attempt::end(std::string_view name, Time time, Time arrival, std::string reason) {
  if (parts_.empty()) return end_by_event(time, arrival, std::move(reason));
  parts_.end(name, time, arrival, std::move(reason));
  look_at_parts();
  if (auto end = parts_.ended()) end_by_event(end->time, arrival, std::move(end->reason));
}

void Attempt::end_by_event(Time time, Time arrival, std::string reason) {
  if (ended()) return;
  ended_by_event_ = true;
  end_at(std::max(telemetry_.placed(time, arrival), start_), std::move(reason));
}

void Attempt::end_unseen() {
  if (!ended()) end_at(last_arrival_, parts_.reason_without_missing());
}

void Attempt::end_at(Time end, std::string reason) {
  end_ = end;
  given_up_ = never;
  judge_->end(end_, std::move(reason));
  telemetry_.end(end_);
  telemetry_.end_reason(end_, judge_->end_reason());
}

void Attempt::finish_extraction() { telemetry_.finish_lines(std::max(last_arrival_, end_)); }

void Attempt::follow_origins(Time at) {
  look_at_parts();
  if (telemetry_.follow_origins(at)) judge_->disturb(at);
}

void Attempt::apply(const Entry& entry, std::optional<std::size_t> origin, bool more) {
  last_arrival_ = std::max(last_arrival_, entry.arrival);
  judge_->disturb(entry.arrival);
  telemetry_.read(entry, origin, more);
}

void Attempt::use(const PackChange& pack, Time from) {
  if (const auto old_history = telemetry_.use(pack)) {  // outlives the judge that reads it
    read_earlier();
    auto judge = make_judge();
    judge->adopt(*judge_, from);
    judge_ = std::move(judge);
  }
  telemetry_.change_lines(from);
}

// ---- the other attempts of the job

// Texts of earlier attempts are texts of this one from now on.
void Attempt::read_earlier() {
  std::vector<double> texts;
  while (const auto text = earlier_->texts.text(static_cast<double>(texts.size())))
    texts.push_back(telemetry_.intern(*text));
  telemetry_.history().read_earlier(*earlier_, std::move(texts), before_);
}

bool Attempt::add_to_earlier() {
  if (!over() || std::exchange(added_to_earlier_, true)) return false;
  telemetry_.history().add_to(*earlier_, start_, end_, telemetry_.coverage(),
                              [this](double symbol) { return telemetry_.symbols().text(symbol); });
  return true;
}

void Attempt::earlier_changed(Time at) {
  read_earlier();
  judge_->disturb(at);
}

void Attempt::expire(Time clock) {
  while (judge_->next_due() <= clock) judge_->perform(judge_->next_due());
}

void Attempt::save(Writer& out) const {
  out(1, name_), out(2, start_), out(3, start_position_);
  telemetry_.save(out);
  out(10, *judge_);
  out(12, last_arrival_), out(13, end_), out(14, started_by_event_), out(15, ended_by_event_);
  if (added_to_earlier_) out(17, true);
  if (before_ != 0) out(18, before_);
  if (!parts_.empty()) out(19, parts_);
}

Result<void> Attempt::load(Reader& in) {  // name and start were read by the subject, which made this
  telemetry_.load(in);
  in(10, *judge_);
  in(12, last_arrival_), in(13, end_), in(14, started_by_event_), in(15, ended_by_event_), in(17, added_to_earlier_),
      in(18, before_), in(19, parts_);
  if (ended()) telemetry_.end(end_);
  look_at_parts();
  read_earlier();
  return in.status();
}

}  // namespace tocsin::stream
