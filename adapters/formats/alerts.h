#pragma once

#include <string>

#include "stream/rules/alert.h"

namespace tocsin::adapters::formats {

// One line each, without the newline, as in alerts.jsonl and on standard output. Numbers without a JSON form are texts: "NaN", "inf".
//   {"id":"16 hex digits","number":1,"rule":…,"member":{"level":…},"who":[3,"n1"],"state":…,"reason":…,"at":ns,"since":ns,…}
[[nodiscard]] std::string alert_to_json(const stream::AlertTransition& transition);
//   {"verdict":{"family":…,"families":[{"family":…,"standing":"in"|"out"|"undecidable",…}],…},"subject":…,"attempt":…,"ended":ns}
[[nodiscard]] std::string verdict_to_json(const stream::Verdict& verdict);

}  // namespace tocsin::adapters::formats
