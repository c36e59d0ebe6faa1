#include "adapters/evidence/flight_recorder.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "adapters/evidence/library_frames.h"
#include "adapters/evidence/pickle.h"
#include "adapters/formats/json.h"

namespace tocsin::adapters::evidence {

namespace fs = std::filesystem;
using formats::Json;
using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

constexpr std::uintmax_t most_bytes_of_dump = 128u << 20;
constexpr std::uint32_t most_ranks = 1u << 20;

// Absent, null and of another kind are alike: dumps of ten versions differ in what they have.
const Json& member(const Json& in, const char* key) {
  static const Json none;
  const auto at = in.is_object() ? in.find(key) : in.end();
  return in.is_object() && at != in.end() ? *at : none;
}
std::string string_of(const Json& in) { return in.is_string() ? in.get<std::string>() : std::string{}; }
// JSON has some counts as texts, and -1 for none.
std::uint64_t count_of(const Json& in) {
  std::int64_t count = 0;
  if (in.is_number_integer()) count = in.get<std::int64_t>();
  if (const std::string text = string_of(in); !text.empty())
    std::from_chars(text.data(), text.data() + text.size(), count);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
}

// "[0, 1, 2]", or a list.
std::vector<std::uint32_t> ranks_in(const Json& in) {
  const std::string text = in.is_string() ? in.get<std::string>() : in.is_array() ? in.dump() : std::string{};
  std::vector<std::uint32_t> ranks;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t rank = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
    if (error == std::errc{} && rank < most_ranks) ranks.push_back(rank);
    at = std::max(static_cast<std::size_t>(end - text.data()), at + 1);
  }
  return ranks;
}

// "nccl:_all_gather_base" is all_gather_into_tensor, "nccl:send 0->1" is send.
std::string function_of(std::string name) {
  name.erase(0, name.find(':') == std::string::npos ? 0 : name.find(':') + 1);
  name.resize(std::min(name.find(' '), name.size()));
  if (name == "_all_gather_base") return "all_gather_into_tensor";
  if (name == "_reduce_scatter_base") return "reduce_scatter_tensor";
  return name;
}

std::string arguments_of(const Json& entry) {
  const Json &sizes = member(entry, "input_sizes"), &types = member(entry, "input_dtypes");
  if (!sizes.is_array() || sizes.empty()) return {};
  return sizes.front().dump() + (types.is_array() && !types.empty() ? " " + string_of(types.front()) : "");
}

std::string place_in(const Json& frames) {
  if (!frames.is_array()) return {};
  for (const Json& one : frames) {
    const Frame frame{string_of(member(one, "name")), string_of(member(one, "filename")),
                      static_cast<std::uint32_t>(count_of(member(one, "line")))};
    if (owner_of(frame) == Owner::program && !frame.function.empty())
      return frame.function + " (" + fs::path{frame.file}.filename().string() + ":" + std::to_string(frame.line) + ")";
  }
  return {};
}

DumpedCall dumped_call(const Json& entry) {
  DumpedCall call;
  const Json& group = member(entry, "process_group");
  if (group.is_array() && !group.empty()) call.group = string_of(group.front());
  call.function = function_of(string_of(member(entry, "profiling_name")));
  call.pairwise = member(entry, "is_p2p") == true;
  call.number = count_of(member(entry, call.pairwise ? "p2p_seq_id" : "collective_seq_id"));
  const std::string state = string_of(member(entry, "state"));
  call.open = state != "completed" && member(entry, "retired") != true;
  call.started = state == "started";
  call.arguments = arguments_of(entry);
  call.place = place_in(member(entry, "frames"));
  call.created = stream::at_nanoseconds(static_cast<std::int64_t>(count_of(member(entry, "time_created_ns"))));
  return call;
}

// 2 before 10, and numbers before names.
bool before(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& one) {
    return !one.empty() && one.find_first_not_of("0123456789") == std::string::npos;
  };
  if (digits(a) != digits(b)) return digits(a);
  return digits(a) && a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::vector<std::string> keys_of(const Json& in) {
  std::vector<std::string> keys;
  if (in.is_object())
    for (const auto& item : in.items()) keys.push_back(item.key());
  std::sort(keys.begin(), keys.end(), before);
  return keys;
}

// Counts go by a number of the rank's own, in the order in which the groups were made; entries have both.
std::map<std::string, std::string> names_by_number(const Json& status, const Json& config, const Json& entries) {
  std::map<std::string, std::string> names;
  const auto numbers = keys_of(status), named = keys_of(config);
  if (numbers.size() == named.size())
    for (std::size_t i = 0; i < numbers.size(); ++i) names[numbers[i]] = named[i];
  if (entries.is_array())
    for (const Json& entry : entries) {
      const Json &number = member(entry, "pg_id"), &group = member(entry, "process_group");
      if (number.is_number_integer() && group.is_array() && !group.empty())
        names[number.dump()] = string_of(group.front());
    }
  return names;
}

// The last number in the name.
std::optional<std::uint32_t> rank_in(const std::string& name) {
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string::npos) return std::nullopt;
  const std::size_t before_it = name.find_last_not_of("0123456789", end);
  const std::size_t begin = before_it == std::string::npos ? 0 : before_it + 1;
  std::uint32_t rank = 0;
  const auto [at, error] = std::from_chars(name.data() + begin, name.data() + end + 1, rank);
  return error == std::errc{} && rank < most_ranks ? std::optional{rank} : std::nullopt;
}

Result<std::string> bytes_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return Error{Errc::not_found, "not a file"};
  if (fs::file_size(path, error) > most_bytes_of_dump) return Error{Errc::too_large, "larger than 128 MiB"};
  std::ifstream file{path, std::ios::binary};
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file) return Error{Errc::io, "cannot be read"};
  return bytes.str();
}

}  // namespace

Result<FlightDump> read_flight_dump(std::string_view bytes, std::uint32_t rank) {
  Json in;
  if (bytes.starts_with('\x80')) {
    auto pickle = read_pickle(bytes);
    if (!pickle) return pickle.error();
    in = std::move(*pickle);
  } else {
    in = Json::parse(bytes, nullptr, false);
  }
  if (!in.is_object() || (!in.contains("entries") && !in.contains("pg_status")))
    return Error{Errc::malformed, "neither a pickle nor JSON of PyTorch's flight recorder"};
  FlightDump dump;
  dump.rank = rank;
  const Json &config = member(in, "pg_config"), &status = member(in, "pg_status"), &entries = member(in, "entries");
  for (const std::string& name : keys_of(config)) {
    const Json& one = config.at(name);
    if (name.empty()) continue;  // Gloo's groups have their names in the entries alone
    dump.groups[name].description = string_of(member(one, "desc"));
    dump.groups[name].members = ranks_in(member(one, "ranks"));
  }
  for (const auto& [number, name] : names_by_number(status, config, entries)) {
    const Json& counts = member(status, number.c_str());
    if (name.empty() || !counts.is_object()) continue;
    DumpedGroup& group = dump.groups[name];
    group.counted = true;
    group.launched = count_of(member(counts, "last_enqueued_collective"));
    group.completed = count_of(member(counts, "last_completed_collective"));
  }
  if (entries.is_array())
    for (const Json& entry : entries)
      if (entry.is_object()) dump.calls.push_back(dumped_call(entry));
  for (const DumpedCall& call : dump.calls) {
    DumpedGroup& group = dump.groups[call.group];
    group.pairwise |= call.pairwise;
    if (call.pairwise || group.counted) continue;  // old dumps have no counts
    group.launched = std::max(group.launched, call.number);
    if (!call.open) group.completed = std::max(group.completed, call.number);
  }
  std::stable_sort(dump.calls.begin(), dump.calls.end(),
                   [](const DumpedCall& a, const DumpedCall& b) { return a.created < b.created; });
  return dump;
}

FlightDumps read_flight_dumps(const std::vector<fs::path>& paths) {
  FlightDumps out;
  std::map<std::uint32_t, FlightDump> by_rank;
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    for (auto at = fs::directory_iterator(path, error); !error && at != fs::directory_iterator{}; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (rank_in(name) && (name.find("dump") != std::string::npos || name.find("trace") != std::string::npos ||
                            name.find("flight") != std::string::npos))
        files.push_back(at->path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const auto rank = rank_in(file.filename().string());
    const auto bytes = bytes_of(file);
    auto dump = !bytes  ? Result<FlightDump>{bytes.error()}
                : !rank ? Result<FlightDump>{Error{Errc::malformed, "its name has no rank: call it dump_RANK"}}
                        : read_flight_dump(*bytes, *rank);
    if (!dump) out.problems.push_back(file.string() + ": " + dump.error().message);
    else if (!by_rank.emplace(*rank, std::move(*dump)).second)
      out.problems.push_back(file.string() + ": there is another dump of rank " + std::to_string(*rank));
  }
  for (auto& [rank, dump] : by_rank) out.dumps.push_back(std::move(dump));
  return out;
}

}  // namespace tocsin::adapters::evidence
