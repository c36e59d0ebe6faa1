#pragma once

#include <string>

#include "adapters/alertmanager/poster.h"
#include "stream/rules/alert.h"

namespace tocsin::adapters::alertmanager {

// A transition as Alertmanager's API v2 wants it, but for the times, which are set when it is posted.
struct RenderedAlert {
  std::string labels, annotations;  // JSON objects; the labels are the identity
  std::string generator_url;        // empty: none
};

// Names of labels that are ours; a configured one of that name is refused.
[[nodiscard]] bool own_label(const std::string& name);
[[nodiscard]] bool valid_label(const std::string& name);

// With the labels, the runbook and the address of the options.
[[nodiscard]] RenderedAlert render(const stream::AlertTransition& transition, const PosterOptions& options);

}  // namespace tocsin::adapters::alertmanager
