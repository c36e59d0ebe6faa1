// Subjects whose entries wait, and what is put off until a tick reads it: see WaitingEntries and Attempt::advance_by.
#include "stream/job/shard_state.h"

namespace tocsin::stream {

// Entries of samples alone can wait until the first moment at which they may make something due.
bool Shard::State::wait(Item& item) {
  Judged& judged = item.second;
  if (judged.due <= log.clock || judged.due == never) return false;
  const std::size_t bytes = WaitingEntries::bytes_to_wait(*entry_);
  if (bytes == 0) return false;
  const bool first = judged.waiting.empty();
  if (first ? !judged.subject->goes_on(entry_->attempt) : entry_->attempt != judged.waiting.attempt()) return false;
  if (first) judged.waits_under = judged.subject->pack();
  const Time due = first_due_.of(*entry_, judged.waits_under,
                                 [&](const SampleBlock& block) { return judged.subject->due_after(block); });
  if (due <= log.clock) return false;
  judged.waiting.add(*entry_, bytes, log.clock, room_);
  if (first) judged.waits_at = waiting_items_.size(), waiting_items_.push_back(&item);
  changes(item);
  if (due < judged.due) be_due(item, due);
  if (judged.waiting.full()) take_waiting(item);
  if (room_.full()) take_all_waiting();
  return true;
}

void Shard::State::take_waiting(Item& item) {
  Judged& judged = item.second;
  if (judged.waiting.empty()) return;
  Item& last = *waiting_items_.back();
  waiting_items_[last.second.waits_at = judged.waits_at] = &last;
  waiting_items_.pop_back();
  constexpr bool more = true;
  judged.waiting.each([&](const Entry& entry, Time clock) {
    judged.subject->pass(clock);
    judged.subject->apply(entry, clock, more);
  });
  judged.subject->write_following();
  judged.waiting.clear(room_);
  measure(item);
  schedule(item);
}

void Shard::State::catch_up(Item& item) {
  take_waiting(item);
  Judged& judged = item.second;
  if (judged.due == never || judged.subject->backfill()) return;
  const bool more_due = judged.due <= log.clock;  // such as a pack that is in force now
  if (!more_due) judged.subject->pass(log.clock);
  judged.subject->settle();
  if (!more_due) schedule(item);
}

// Whether the first subject in due_ is the next to advance. Subjects advance in the order of when something became due
// that may be reported, whatever waits or is put off. Otherwise takes its place in that order, or is no longer due.
bool Shard::State::is_next(Item& item) {
  take_waiting(item);
  Judged& judged = item.second;
  if (judged.due > log.clock) return false;
  const Time due = judged.subject->reports_by();
  if (due > log.clock || due == judged.due) return true;
  be_due(item, due);
  return false;
}

}  // namespace tocsin::stream
