#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "stream/rules/alert.h"

namespace tocsin::adapters::alertmanager {

// What is put on each alert besides its own.
struct Decoration {
  std::map<std::string, std::string> labels;
  std::string external_url, runbook_url;
};

// A transition as Alertmanager's API v2 wants it, but for the times, which are set when it is posted.
struct RenderedAlert {
  std::string labels, annotations;  // JSON objects; the labels are the identity
  std::string generator_url;        // empty: none
};

// Names of labels that are ours; a configured one of that name is refused.
[[nodiscard]] bool own_label(const std::string& name);
[[nodiscard]] bool valid_label(const std::string& name);

[[nodiscard]] RenderedAlert render(const stream::AlertTransition& transition, const Decoration& decoration);

}  // namespace tocsin::adapters::alertmanager
