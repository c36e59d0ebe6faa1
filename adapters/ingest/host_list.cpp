#include "adapters/ingest/host_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "adapters/ingest/item.h"

namespace tocsin::adapters::ingest {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

struct Range {
  std::uint64_t first = 0, last = 0;
  std::size_t digits = 1;  // at least
};
// Text, then one of the numbers; of the end of a name there are no numbers.
struct Part {
  std::string_view text;
  std::vector<Range> numbers;
  std::size_t count = 1;
};
using Name = std::vector<Part>;

Error wrong(std::string what, std::string_view where) {
  return {Errc::malformed, std::move(what) + ": " + shortened(where)};
}

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  constexpr std::size_t most_digits = 18;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.size() > most_digits) return std::nullopt;
  return value;
}

Error too_many() { return {Errc::too_large, "more than " + std::to_string(most_hosts) + " nodes"}; }
Error too_long(std::string_view name) { return wrong("a name of more than 255 bytes", name); }

// What stands in a pair of brackets.
Result<void> read_numbers(std::string_view text, std::string_view name, Part& part) {
  part.count = 0;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    const std::size_t dash = one.find('-');
    const std::string_view from = one.substr(0, dash), to = dash == one.npos ? from : one.substr(dash + 1);
    const auto first = number(from), last = number(to);
    if (!first || !last) return wrong(shortened(one) + " is neither a number nor a range of numbers", name);
    if (*last < *first) return wrong("the range " + std::string{one} + " runs backwards", name);
    part.numbers.push_back({*first, *last, from.size()});
    part.count += std::min<std::uint64_t>(*last - *first, most_hosts) + 1;
    if (part.count > most_hosts) return too_many();
    if (comma == text.npos) return {};
    text.remove_prefix(comma + 1);
  }
}

Result<Name> read_name(std::string_view name) {
  if (name.empty()) return Error{Errc::malformed, "an empty name"};
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; }))
    return wrong("a blank in a name", name);
  Name parts;
  for (std::string_view rest = name; !rest.empty();) {
    if (parts.size() == longest_name) return too_long(name);
    Part& part = parts.emplace_back();
    const std::size_t open = rest.find_first_of("[]");
    part.text = rest.substr(0, open);
    if (open == rest.npos) break;
    if (rest[open] == ']') return wrong("a ']' without its '['", name);
    rest.remove_prefix(open + 1);
    const std::size_t close = rest.find_first_of("[]");
    if (close == rest.npos) return wrong("a '[' without its ']'", name);
    if (rest[close] == '[') return wrong("a '[' within brackets", name);
    if (auto read = read_numbers(rest.substr(0, close), name, part); !read) return read.error();
    rest.remove_prefix(close + 1);
  }
  return parts;
}

// Up to the comma that ends the first name; those in brackets do not.
std::size_t end_of_name(std::string_view list) {
  bool within = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') within = true;
    if (list[i] == ']') within = false;
    if (list[i] == ',' && !within) return i;
  }
  return list.size();
}

void expand(const Name& name, std::size_t at, std::string& prefix, std::vector<std::string>& hosts) {
  if (at == name.size()) {
    hosts.push_back(prefix);
    return;
  }
  const std::size_t before = prefix.size();
  prefix += name[at].text;
  if (name[at].numbers.empty()) expand(name, at + 1, prefix, hosts);
  for (const Range& range : name[at].numbers)
    for (std::uint64_t value = range.first; value <= range.last; ++value) {
      const std::size_t stem = prefix.size();
      const std::string digits = std::to_string(value);
      if (digits.size() < range.digits) prefix.append(range.digits - digits.size(), '0');
      prefix += digits;
      expand(name, at + 1, prefix, hosts);
      prefix.resize(stem);
    }
  prefix.resize(before);
}

}  // namespace

Result<std::vector<std::string>> hosts_in(std::string_view list) {
  if (list.size() > longest_host_list) return Error{Errc::too_large, "a list of more than 512 KiB"};
  std::vector<Name> names;
  std::size_t all = 0;
  for (;;) {
    const std::size_t end = end_of_name(list);
    auto name = read_name(list.substr(0, end));
    if (!name) return name.error();
    std::size_t count = 1, longest = 0;
    for (const Part& part : *name) {
      count = std::min(count * part.count, most_hosts + 1);
      longest += part.text.size();
      for (const Range& range : part.numbers) longest += std::max(range.digits, std::to_string(range.last).size());
    }
    if (longest > longest_name) return too_long(list.substr(0, end));
    all += count;
    if (all > most_hosts) return too_many();
    names.push_back(std::move(*name));
    if (end == list.size()) break;
    list.remove_prefix(end + 1);
  }
  std::vector<std::string> hosts;
  hosts.reserve(all);
  std::string prefix;
  for (const Name& name : names) expand(name, 0, prefix, hosts);
  return hosts;
}

std::vector<std::string> nodes_of(const Record& start, Output& out) {
  auto nodes = hosts_in(start.nodes);
  if (nodes) return std::move(*nodes);
  const Reason reason = nodes.error().code == Errc::too_large ? Reason::too_large : Reason::malformed;
  out.left_out({reason, start.place, "the nodes of job " + std::string{start.job} + ": " + nodes.error().message});
  return {};
}

}  // namespace tocsin::adapters::ingest
