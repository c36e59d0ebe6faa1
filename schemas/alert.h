#pragma once

#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "stream/rules/alert.h"
#include "stream/values/result.h"

// Alerts and verdicts as messages, for the topics that carry them.
namespace tocsin::schemas {

[[nodiscard]] std::vector<std::byte> encode(const stream::AlertTransition& transition);
[[nodiscard]] std::vector<std::byte> encode(const stream::Verdict& verdict);

using AlertMessage = std::variant<stream::AlertTransition, stream::Verdict>;
[[nodiscard]] stream::Result<AlertMessage> decode_alert(std::span<const std::byte> message);

}  // namespace tocsin::schemas
