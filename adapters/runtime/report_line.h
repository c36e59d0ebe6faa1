#pragma once

#include <string>
#include <variant>

#include "adapters/formats/alerts.h"
#include "stream/ports.h"

namespace tocsin::adapters::runtime {

// The line of JSON that stands for a report, without the newline.
[[nodiscard]] inline std::string report_line(const stream::Report& report) {
  if (const auto* transition = std::get_if<stream::AlertTransition>(&report))
    return formats::alert_to_json(*transition);
  return formats::verdict_to_json(std::get<stream::Verdict>(report));
}

}  // namespace tocsin::adapters::runtime
