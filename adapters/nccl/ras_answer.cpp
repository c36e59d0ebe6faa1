#include <charconv>
#include <nlohmann/json.hpp>

#include "adapters/nccl/names.h"
#include "adapters/nccl/ras.h"

namespace tocsin::adapters::nccl {

namespace {

using Json = nlohmann::json;
using stream::Errc, stream::Error, stream::Result;

template <class Number>
std::optional<Number> number_at(std::string_view text, int base = 10) {
  Number result{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result, base);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return result;
}

// What stands after `before`, up to `until`; nothing where `before` does not stand there.
std::optional<std::string_view> after(std::string_view line, std::string_view before, std::string_view until = {}) {
  const auto at = line.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + before.size());
  return until.empty() ? line : line.substr(0, line.find(until));
}

std::string_view next_line(std::string_view& text) {
  const auto end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trimmed(std::string_view line) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  while (line.ends_with(' ')) line.remove_suffix(1);
  return line;
}

// A comma after each line that ends a value while the next begins a member.
std::string with_commas(std::string_view answer) {
  std::string result;
  for (std::string_view line = next_line(answer); !answer.empty() || !line.empty(); line = next_line(answer)) {
    result += line;
    const auto this_one = trimmed(line), next = trimmed(answer.substr(0, answer.find('\n')));
    if (!this_one.empty() && std::string_view{",{[:"}.find(this_one.back()) == std::string_view::npos &&
        next.starts_with('"'))
      result += ',';
    result += '\n';
  }
  return result;
}

template <class T>
T get(const Json& object, const char* key, T otherwise) {
  if (!object.is_object()) return otherwise;
  const auto it = object.find(key);
  if (it == object.end()) return otherwise;
  if constexpr (std::is_same_v<T, bool>) return it->is_boolean() ? it->template get<bool>() : otherwise;
  else if constexpr (std::is_same_v<T, std::string>)
    return it->is_string() ? it->template get<std::string>() : otherwise;
  else return it->is_number_integer() ? it->template get<T>() : otherwise;
}
const Json& member(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto it = object.find(key);
  return it == object.end() ? none : *it;
}

RasRank json_rank(const Json& from) {
  RasRank to;
  to.rank = get<std::uint32_t>(from, "rank", 0);
  to.host = get<std::string>(from, "host", "");
  if (to.host == "unknown") to.host.clear();
  to.pid = std::max(get<pid_t>(from, "pid", 0), 0);
  const Json& status = member(from, "status");
  to.init_error = get<int>(status, "init_state", 0), to.async_error = get<int>(status, "async_error", 0);
  constexpr int in_progress = 7;
  const bool initializing = to.init_error == in_progress;
  if (initializing) to.init_error = 0;
  if (to.async_error == in_progress) to.async_error = 0;
  const bool ends = get(status, "finalize_called", false) || get(status, "destroy_flag", false);
  to.status = get(status, "abort_flag", false) ? "ABORT" : ends ? "FINALIZE" : initializing ? "INIT" : "RUNNING";
  const Json& counts = member(from, "collective_counts");
  if (counts.is_object())
    for (const auto& [name, count] : counts.items())
      if (count.is_number_integer()) to.launched[function_name(name)] = count.get<std::uint64_t>();
  return to;
}

RasRank json_missing(const Json& from) {
  RasRank to = json_rank(from);
  to.missing = true;
  to.status.clear();
  to.unresponsive = get(member(from, "status"), "unresponsive", false);
  to.dead = get(member(from, "status"), "considered_dead", false);
  return to;
}

Result<RasStatus> parse_json(std::string_view answer) {
  Json json = Json::parse(answer, nullptr, false);
  if (json.is_discarded()) json = Json::parse(with_commas(answer), nullptr, false);
  if (!json.is_object() || !member(json, "communicators").is_array())
    return Error{Errc::malformed,
                 "the answer of NCCL's RAS is not the JSON that NCCL 2.28 to 2.32 writes, or it was cut off"};
  RasStatus result;
  result.nccl_version = get<std::string>(json, "nccl_version", "");
  result.complete = get<int>(member(json, "ras"), "timeouts_count", 0) == 0;
  for (const Json& from : member(json, "communicators")) {
    RasCommunicator to;
    auto hash = get<std::string>(from, "hash", "");
    if (hash.starts_with("0x")) hash.erase(0, 2);
    to.hash = number_at<std::uint64_t>(hash, 16).value_or(0);
    to.size = get<std::uint32_t>(from, "size", 0);
    const Json &ranks = member(from, "ranks"), &missing = member(from, "missing_ranks");
    if (ranks.is_array())
      for (const Json& rank : ranks) to.ranks.push_back(json_rank(rank));
    std::map<std::string, std::map<std::uint64_t, std::uint32_t>> counts;
    for (const RasRank& rank : to.ranks)
      for (const auto& [function, count] : rank.launched) ++counts[function][count];
    for (auto& [function, by_count] : counts)
      if (by_count.size() > 1) to.differing[function] = std::move(by_count);
    if (missing.is_array())
      for (const Json& rank : missing) to.ranks.push_back(json_missing(rank));
    result.communicators.push_back(std::move(to));
  }
  return result;
}

// The text, which lists what differs under headings: "#0-0 (HASH) MISMATCH".
class TextReader {
 public:
  RasStatus read(std::string_view answer) {
    while (!answer.empty()) line(next_line(answer));
    result_.complete = result_.complete && whole_;
    return std::move(result_);
  }

 private:
  void line(std::string_view line) {
    if (const auto version = after(line, "NCCL version ", " "); version && result_.nccl_version.empty())
      result_.nccl_version = *version;
    if (line.starts_with("Warnings")) whole_ = true;
    if (line.starts_with('#')) return heading(line);
    if (!line.starts_with(' ')) {
      of_ = nullptr;
      processes_ = line == "DEAD" ? &result_.dead : line == "INCOMPLETE" ? &result_.unresponsive : nullptr;
      if (line == "INCOMPLETE" || line == "TIMEOUT") result_.complete = false;
      return;
    }
    line = trimmed(line);
    if (const auto pid = after(line, "Process ", " on node ");
        pid && line.starts_with("Process ") && processes_ != nullptr)
      processes_->push_back(
          {number_at<pid_t>(*pid).value_or(0), std::string{after(line, " on node ", " ").value_or("")}});
    else if (of_ == nullptr) return;
    else if (line.starts_with("Rank ")) rank(line);
    else about(line);
  }

  void heading(std::string_view line) {
    processes_ = nullptr;
    const auto hash = number_at<std::uint64_t>(after(line, "(", ")").value_or(""), 16);
    if (!hash) return void(of_ = nullptr);
    of_ = nullptr;
    for (auto& there : result_.communicators)
      if (there.hash == *hash) of_ = &there;
    if (of_ == nullptr)
      of_ =
          &result_.communicators.emplace_back(RasCommunicator{.hash = *hash, .size = 0, .ranks = {}, .differing = {}});
    missing_ = line.ends_with("INCOMPLETE");
    function_.clear(), status_.clear(), count_.reset();
  }

  // "3 ranks have launched up to operation 12", and what begins such a list.
  void about(std::string_view line) {
    if (const auto function = after(line, "ranks have different ", " operation counts")) {
      // 2.24 has one count of all functions.
      function_ = *function == "collective" ? "" : function_name(*function);
      return;
    }
    const auto ranks = number_at<std::uint32_t>(line);
    if (const auto status = after(line, "ranks have status ")) status_ = *status;
    count_ = count_in(line);
    if (count_ && ranks) of_->differing[function_][*count_] = *ranks;
  }

  void rank(std::string_view line) {
    const auto number = number_at<std::uint32_t>(line.substr(5));
    if (!number) return;
    RasRank* it = nullptr;
    for (RasRank& there : of_->ranks)
      if (there.rank == *number) it = &there;
    if (it == nullptr) it = &of_->ranks.emplace_back(RasRank{.rank = *number, .host = {}});
    it->pid = number_at<pid_t>(after(line, "managed by process ", " ").value_or("")).value_or(it->pid);
    if (const auto host = after(line, " on node ", " ")) it->host = *host;
    if (missing_) it->missing = it->unresponsive = true;
    else if (const auto own = count_in(line)) it->launched[function_] = *own, of_->differing[function_][*own] = 1;
    else if (const auto status = after(line, " has status ", " ")) it->status = *status;
    else if (count_) it->launched[function_] = *count_;
    else if (!status_.empty()) it->status = status_;
  }

  static std::optional<std::uint64_t> count_in(std::string_view line) {
    if (const auto count = after(line, "launched up to operation ", " ")) return number_at<std::uint64_t>(*count);
    return line.find("not launched any operations") == std::string_view::npos ? std::nullopt
                                                                              : std::optional<std::uint64_t>{0};
  }

  RasStatus result_;
  RasCommunicator* of_ = nullptr;
  std::vector<RasStatus::Process>* processes_ = nullptr;
  bool missing_ = false, whole_ = false;
  std::string function_, status_;
  std::optional<std::uint64_t> count_{};
};

}  // namespace

Result<RasStatus> parse_ras(std::string_view answer) {
  const auto begin = answer.find_first_not_of(" \r\n");
  if (begin == std::string_view::npos) return Error{Errc::torn, "NCCL's RAS closed the connection without an answer"};
  answer.remove_prefix(begin);
  if (answer.starts_with('{')) return parse_json(answer);
  if (answer.starts_with("ERROR")) return Error{Errc::refused, "NCCL's RAS answers: " + std::string{next_line(answer)}};
  if (!answer.starts_with("NCCL version ")) return Error{Errc::malformed, "this is not an answer of NCCL's RAS"};
  return TextReader{}.read(answer);
}

bool RasStatus::includes(const std::function<bool(pid_t, const std::string&)>& ours) const {
  for (const auto& communicator : communicators)
    for (const auto& rank : communicator.ranks)
      if (rank.pid != 0 && ours(rank.pid, rank.host)) return true;
  for (const auto* processes : {&unresponsive, &dead})
    for (const auto& process : *processes)
      if (ours(process.pid, process.host)) return true;
  return false;
}

}  // namespace tocsin::adapters::nccl
