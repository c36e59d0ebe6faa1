// Whether an attempt is of a training at all.
#include <algorithm>

#include "stream/rules/judge.h"
#include "stream/windows/accumulators.h"

namespace tocsin::stream {

bool Judge::training() const {
  const auto steps = facts_.history.steps().last;
  if (std::any_of(steps.begin(), steps.end(), [](double step) { return is_number(step); })) return true;
  const auto loss = pack_->signals.find("loss");
  const Accumulators* losses = loss ? facts_.history.since_start(*loss) : nullptr;
  if (losses == nullptr || !losses->counts().empty()) return true;  // a pack that asks for no loss cannot tell
  const auto ranks = facts_.topology.existing(Level::rank);
  return std::count(ranks.begin(), ranks.end(), std::uint8_t{1}) > 1;
}

}  // namespace tocsin::stream
