#pragma once

#include <string>

#include "stream/rules/alert.h"

namespace tocsin::adapters::formats {

// One line each, without the newline, as in alerts.jsonl and on standard output. Numbers without a JSON form are texts:
// "NaN", "inf". `form` holds what a person reads, in the words of the terminal; its `more` has JOURNAL where the
// journal's directory is typed, since a line does not know where it will be read.
//   {"id":"16 hex
//   digits","number":1,"rule":…,"member":{"level":…},"who":[3,"n1"],"state":…,"reason":…,"at":ns,"since":ns,…}
[[nodiscard]] std::string alert_to_json(const stream::AlertTransition& transition);
//   {"verdict":{"family":…,"families":[{"family":…,"standing":"in"|"out"|"undecidable",…}],…},"subject":…,"attempt":…,"ended":ns}
[[nodiscard]] std::string verdict_to_json(const stream::Verdict& verdict);

}  // namespace tocsin::adapters::formats
