#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stream/values/time.h"

// The topic `placement`: a key a node and job, and since when and until when the job was seen there.
namespace tocsin::adapters::kafka {

struct Place {
  std::string_view node, job;
};
struct Stay {
  stream::Time first{}, last{};
};
inline constexpr stream::Duration stay_repeated = std::chrono::minutes{1};  // how often who sees a job writes it again

// Whether a node of this name can have a key.
[[nodiscard]] bool can_be_placed(std::string_view node);
[[nodiscard]] std::string placement_key(const Place& place);
[[nodiscard]] std::string placement_text(const Stay& stay);
// Nothing: it is none.
[[nodiscard]] std::optional<Place> place_of(std::string_view key);
[[nodiscard]] std::optional<Stay> stay_of(std::string_view text);

}  // namespace tocsin::adapters::kafka
