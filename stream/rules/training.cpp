// Whether an attempt is of a training at all.
#include <algorithm>

#include "stream/rules/judge.h"

namespace tocsin::stream {

bool Judge::training() const {
  const auto steps = facts_.history.steps().last;
  if (std::any_of(steps.begin(), steps.end(), [](double step) { return is_number(step); })) return true;
  const auto loss = pack_->signals.find("loss");
  if (!loss || !facts_.history.wants(*loss)) return true;  // a pack that asks for no loss cannot tell
  if (facts_.history.came(*loss)) return true;
  const auto ranks = facts_.topology.existing(Level::rank);
  return std::count(ranks.begin(), ranks.end(), std::uint8_t{1}) > 1;
}

}  // namespace tocsin::stream
