#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stream/values/time.h"

// The topic `placement`: a key a node and job, and since when and until when the job was seen there; and a key a job,
// with what the scheduler allocated to it. Who does not know the second kind reads it as no place.
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

struct Allocation {
  Stay time;
  std::string_view nodes;  // the scheduler's list; empty: it has ended
};
[[nodiscard]] std::string allocation_key(std::string_view job);
[[nodiscard]] std::string allocation_text(const Allocation& allocation);
// The job; nothing: it is the key of none.
[[nodiscard]] std::optional<std::string_view> allocated_job(std::string_view key);
[[nodiscard]] std::optional<Allocation> allocation_of(std::string_view text);

}  // namespace tocsin::adapters::kafka
