#include "adapters/ingest/labels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "adapters/ingest/item.h"
#include "stream/topology/gpu_names.h"
#include "stream/values/utf8.h"

namespace tocsin::adapters::ingest {
namespace {

constexpr std::array targets{std::string_view{"job"}, std::string_view{"attempt"}, std::string_view{"rank"},
                             std::string_view{"node"}, std::string_view{"gpu"}};

}  // namespace

const DefaultLabels& default_labels() {
  static const DefaultLabels labels{
      .job = {"job_id", "jobid", "hpc_job", "slurm_job_id", "slurm_jobid", "SLURM_JOB_ID", "slurm.job.id",
              "k8s.job.name", "kubernetes.labels.batch.kubernetes.io/job-name",
              "kubernetes.labels.training.kubeflow.org/job-name", "kubernetes.labels.job-name"},
      .attempt = {"attempt"},
      .rank = {"rank", "RANK", "global_rank", "slurm_procid", "SLURM_PROCID"},
      .node = {"Hostname", "hostname", "node", "nodename", "host", "host.name", "k8s.node.name", "kubernetes.host",
               "kubernetes.node_name", "kubernetes.node.name", "agent.hostname", "agent.name"},
      .gpu = {"pci_bus_id", "UUID", "uuid", "gpu_uuid", "gpu"},
      .time = {"@timestamp", "timestamp", "time", "ts", "date"},
      .text = {"message", "log", "msg", "MESSAGE"}};
  return labels;
}

std::string_view name(Reason reason) noexcept {
  constexpr std::array<std::string_view, 7> names{"malformed", "too_large", "unsupported", "no_job",
                                                  "no_node",   "bad_rank",  "part_of_gpu"};  // in the order of Reason
  return names[static_cast<std::size_t>(reason)];
}

std::string short_name(std::string_view name) {
  constexpr std::size_t most = 60;
  std::string out = stream::as_utf8(name.substr(0, most)) + (name.size() > most ? "…" : "");
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return out;
}

std::string shortened(std::string_view text) { return "'" + short_name(text) + "'"; }

std::optional<double> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 64) return std::nullopt;
  double number = 0;
  const auto [end, wrong] =
      std::from_chars(text.data(), text.data() + text.size(), number);  // inf and nan too, in any case
  if (end != text.data() + text.size()) return std::nullopt;
  if (wrong == std::errc::result_out_of_range) {
    const bool small = text.find("e-") != text.npos || text.find("E-") != text.npos;
    return small ? 0.0 : text.starts_with('-') ? -HUGE_VAL : HUGE_VAL;
  }
  if (wrong != std::errc{}) return std::nullopt;
  return number;
}

std::string shortest(double number) {
  std::array<char, 32> digits{};
  const auto [end, wrong] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), end};
}

bool blank(std::string_view value) {
  static constexpr std::string_view nothing[] = {"", "unknown", "none", "null", "N/A", "-"};
  return std::find(std::begin(nothing), std::end(nothing), value) != std::end(nothing);
}

std::optional<std::string_view> gpu_name(std::string_view value) {
  const stream::GpuName name{value};
  if (name.is_pci() || name.is_uuid()) return value;
  for (const std::string_view prefix : {"GPU", "gpu", "nvidia"})
    if (value.starts_with(prefix)) {
      value.remove_prefix(prefix.size());
      break;
    }
  const bool digits = !value.empty() && value.size() <= 4 &&
                      std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? std::optional{value} : std::nullopt;
}

bool matches(std::string_view pattern, std::string_view text) {
  // Linear in the length of the text for each star: the part behind a star is looked for once, from left to right.
  std::size_t star = pattern.npos, from = 0, p = 0, t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != pattern.npos) {
      p = star + 1, t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

stream::Result<Template> Template::parse(std::string_view text) {
  using stream::Errc;
  using stream::Error;
  Template made;
  std::string literal;
  bool any = false;
  const auto add = [&](int target) -> bool {
    if (literal.empty() && !made.parts_.empty()) return false;  // where one ends and the next begins could not be known
    made.parts_.push_back({std::move(literal), target});
    literal.clear();
    return true;
  };
  const std::string example = ": write /var/log/{job}/*-rank{rank}.log";
  for (std::size_t i = 0; i < text.size(); ++i) {
    int target = varies;
    if (text[i] == '{') {
      const std::size_t end = text.find('}', i);
      if (end == text.npos) return Error{Errc::malformed, "a { has no }" + example};
      const std::string_view name = text.substr(i + 1, end - i - 1);
      const auto found = std::find(targets.begin(), targets.end(), name);
      if (found == targets.end())
        return Error{Errc::malformed,
                     "{" + std::string{name} + "} is none of {job}, {attempt}, {rank}, {node} and {gpu}"};
      target = static_cast<int>(found - targets.begin());
      for (const Part& part : made.parts_)
        if (part.target == target) return Error{Errc::malformed, "{" + std::string{name} + "} stands there twice"};
      any = true;
      i = end;
    } else if (text[i] != '*') {
      literal += text[i];
      continue;
    }
    if (!add(target)) return Error{Errc::malformed, "two parts that vary need a text between them" + example};
  }
  if (!any) return Error{Errc::malformed, "has no {job}, {attempt}, {rank}, {node} or {gpu}" + example};
  made.end_ = std::move(literal);
  return made;
}

// What varies between the texts, part by part: where one ends is tried place by place, and what led nowhere is not
// tried again.
class Template::Division {
 public:
  Division(const Template& form, std::string_view text, bool ranks_are_digits)
      : form_(form),
        text_(text),
        ranks_are_digits_(ranks_are_digits),
        failed_(form.parts_.size() * (text.size() + 1)) {}

  // Divides what stands from `at` on, in front of the text before part `i`.
  bool divide(std::size_t i, std::size_t at, Found& found) {
    const Part& part = form_.parts_[i];
    const bool last = i + 1 == form_.parts_.size();
    if (!text_.substr(at).starts_with(part.before)) return false;
    const std::size_t from = at + part.before.size();
    const std::size_t place = i * (text_.size() + 1) + at;
    if (failed_[place]) return false;
    failed_[place] = true;
    const std::string_view behind = last ? std::string_view{form_.end_} : std::string_view{form_.parts_[i + 1].before};
    const bool digits = part.target == rank && ranks_are_digits_;
    std::size_t end = from;  // where the part ends at the latest
    while (end < text_.size() && text_[end] != '/' && (!digits || (text_[end] >= '0' && text_[end] <= '9'))) ++end;
    const auto ends_at = [&](std::size_t to) {
      if (last ? text_.substr(to) != behind : !divide(i + 1, to, found)) return false;
      if (part.target != varies) found[static_cast<std::size_t>(part.target)] = text_.substr(from, to - from);
      return true;
    };
    if (part.target == varies) {
      for (std::size_t to = end; to > from; --to)
        if (ends_at(to)) return true;
    } else {
      for (std::size_t to = from + 1; to <= end; ++to)
        if (ends_at(to)) return true;
    }
    return false;
  }

 private:
  const Template& form_;
  std::string_view text_;
  const bool ranks_are_digits_;
  std::vector<bool> failed_;  // by part and place
};

bool Template::match(std::string_view text, Found& found) const {
  constexpr std::size_t longest = 4096;  // of a path
  if (parts_.empty() || text.size() > longest || !text.starts_with(parts_.front().before)) return false;
  Found mine;
  // A rank that can only be something else is reported as one that is none.
  if (!Division{*this, text, true}.divide(0, 0, mine) && !Division{*this, text, false}.divide(0, 0, mine)) return false;
  for (std::size_t i = 0; i < mine.size(); ++i)
    if (!mine[i].empty()) found[i] = mine[i];
  return true;
}

std::string problem_of_template(std::string_view text) {
  const auto made = Template::parse(text);
  return made ? std::string{} : made.error().message;
}

std::string problem_of_signal(std::string_view text) {
  const std::size_t blank_at = text.find(' ');
  const std::string_view signal = text.substr(0, blank_at);
  const bool second = blank_at != text.npos && text.find(' ', blank_at + 1) != text.npos;
  if (signal.empty() || signal.size() > longest_name || second || text.ends_with(' '))
    return "write the name of a signal, or its name and the unit of the values: gpu_memory_used MiB";
  return {};
}

}  // namespace tocsin::adapters::ingest
