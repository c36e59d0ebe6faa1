// What an attempt has from the attempts before it, and what it leaves to those after it.
#include <utility>

#include "stream/job/attempt.h"

namespace tocsin::stream {

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

}  // namespace tocsin::stream
