#include "adapters/kafka/placement_records.h"

#include <charconv>

namespace tocsin::adapters::kafka {
namespace {

constexpr char node_end = '\t';

}  // namespace

bool can_be_placed(std::string_view node) { return !node.empty() && node.find(node_end) == node.npos; }

std::string placement_key(const Place& place) { return std::string{place.node} + node_end + std::string{place.job}; }

std::string placement_text(const Stay& stay) {
  return std::to_string(stream::nanoseconds(stay.first)) + ' ' + std::to_string(stream::nanoseconds(stay.last));
}

std::optional<Place> place_of(std::string_view key) {
  const std::size_t at = key.find(node_end);
  if (at == key.npos || at == 0 || at + 1 == key.size()) return std::nullopt;
  return Place{key.substr(0, at), key.substr(at + 1)};
}

std::optional<Stay> stay_of(std::string_view text) {
  std::int64_t first = 0, last = 0;
  const char* const end = text.data() + text.size();
  const auto [space, wrong] = std::from_chars(text.data(), end, first);
  if (wrong != std::errc{} || space == end || *space != ' ' || first < 0) return std::nullopt;
  if (const auto [rest, also] = std::from_chars(space + 1, end, last);
      also != std::errc{} || rest != end || last < first)
    return std::nullopt;
  return Stay{stream::at_nanoseconds(first), stream::at_nanoseconds(last)};
}

std::string allocation_key(std::string_view job) { return node_end + std::string{job}; }

std::string allocation_text(const Allocation& allocation) {
  std::string text = placement_text(allocation.time);
  if (!allocation.nodes.empty()) text.append(1, ' ').append(allocation.nodes);
  return text;
}

std::optional<std::string_view> allocated_job(std::string_view key) {
  if (key.size() < 2 || key.front() != node_end) return std::nullopt;
  return key.substr(1);
}

std::optional<Allocation> allocation_of(std::string_view text) {
  const std::size_t first = text.find(' '), second = first == text.npos ? first : text.find(' ', first + 1);
  const auto time = stay_of(text.substr(0, second));
  if (!time || second + 1 == text.size()) return std::nullopt;
  return Allocation{*time, second == text.npos ? std::string_view{} : text.substr(second + 1)};
}

}  // namespace tocsin::adapters::kafka
