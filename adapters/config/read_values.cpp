// Values of options, by their types.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "adapters/alertmanager/alert_json.h"
#include "adapters/config/reader.h"
#include "adapters/kafka/address.h"
#include "adapters/net/certificates.h"
#include "adapters/net/credentials.h"
#include "stream/values/nearest.h"

namespace tocsin::adapters::config {
namespace {

// What is wrong with a property of librdkafka at its place; empty: nothing.
std::string problem_of_property(const std::string& name, const std::string& value, bool in_a_file) {
  for (const auto& [reserved, ours] : reserved_properties())
    if (reserved == name)
      return ours.empty() ? fmt::format("{} is set by tocsin itself: leave it out", name)
                          : fmt::format("{} is set by the option {}", name, ours);
  if (!in_a_file && secret_property(name))
    return fmt::format("{} is a secret: put it into a file, and name that in kafka.property_files", name);
  if (!kafka::is_option(name))
    return fmt::format("librdkafka has no property {}{}", name, stream::nearest(name, kafka::option_names()));
  if (in_a_file)
    return property_of_file(name) ? "" : fmt::format("{} is no secret: write its value in kafka.properties", name);
  const std::string problem = kafka::problem_of_option(name, value);
  return problem.empty() ? "" : fmt::format("kafka.properties: {}", problem);
}

}  // namespace

bool Reader::is_scalar(const YAML::Node& node, const std::string& name, const std::string& type) {
  if (node.IsScalar()) return true;
  if (node.IsNull()) no_value(name, type);
  else wrong(node, fmt::format("{} is {}, and this is a {}", name, type, node.IsSequence() ? "list" : "mapping"));
  return false;
}

void Reader::in_limits(std::uint64_t value, const YAML::Node& node, std::string (*shown)(std::uint64_t)) {
  if (value >= least_ && value <= most_) return;
  wrong(node, fmt::format("{} is {} to {}, and not {}", option_, shown(least_), shown(most_), node.Scalar()));
}

void Reader::set(std::string* place, const YAML::Node& node) {
  if (!is_scalar(node, option_, type_of(place, form_, choices_))) return;
  *place = node.Scalar();
  if (!choices_.empty() && std::find(choices_.begin(), choices_.end(), *place) == choices_.end())
    return wrong(node, fmt::format("{} is {}, and not '{}'{}", option_, type_of(place, form_, choices_), *place,
                                   stream::nearest(*place, choices_)));
  check_form(*place, node);
}

void Reader::check_form(const std::string& text, const YAML::Node& node) {
  if (const std::string problem = problem_of(form_, option_, text); !problem.empty()) wrong(node, problem);
}

void Reader::set(Path* place, const YAML::Node& node) {
  if (!is_scalar(node, option_, "a path")) return;
  *place = node.Scalar();
  if (option_.ends_with("password_file") || option_.ends_with("token_file")) check_secret(*place, node);
  else check_file(*place, node);
}

void Reader::check_file(const Path& path, const YAML::Node& node) {
  if (!checks_files_ || path.empty()) return;
  if (std::error_code error; std::filesystem::is_directory(path, error))
    return wrong(node, fmt::format("{}: {} is a directory, and not a file", option_, path.string()));
  if (!std::ifstream{path})
    wrong(node, fmt::format("{}: cannot read {}: {}", option_, path.string(), std::strerror(errno)));
}

void Reader::check_secret(const Path& path, const YAML::Node& node) {
  if (!checks_files_ || path.empty()) return;
  const std::size_t before = problems_.size();
  check_file(path, node);
  if (problems_.size() != before) return;
  if (const auto secret = net::read_secret(path); !secret)
    wrong(node, fmt::format("{}: {}", option_, secret.error().message));
}

void Reader::set(bool* place, const YAML::Node& node) {
  if (!is_scalar(node, option_, "true or false")) return;
  if (node.Scalar() == "true") *place = true;
  else if (node.Scalar() == "false") *place = false;
  else wrong(node, fmt::format("{} is true or false, and not '{}'", option_, node.Scalar()));
}

void Reader::set(std::uint64_t* place, const YAML::Node& node) {
  if (!is_scalar(node, option_, "a whole number")) return;
  const std::string& text = node.Scalar();
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), *place);
  if (bad != std::errc{} || end != text.data() + text.size())
    return wrong(node, fmt::format("{} is a whole number, and not '{}'", option_, text));
  in_limits(*place, node, [](std::uint64_t value) { return std::to_string(value); });
}

void Reader::set(Size place, const YAML::Node& node) {
  if (!is_scalar(node, option_, "a size (64KiB)")) return;
  const auto size = parse_size(node.Scalar());
  if (!size) return wrong(node, fmt::format("{}: {}", option_, size.error().message));
  *place.bytes = *size;
  in_limits(*size, node, show_size);
}

void Reader::set(Milliseconds* place, const YAML::Node& node) {
  if (!is_scalar(node, option_, "a duration (45s)")) return;
  const auto duration = parse_duration(node.Scalar());
  if (!duration) return wrong(node, fmt::format("{}: {}", option_, duration.error().message));
  *place = *duration;
  in_limits(static_cast<std::uint64_t>(duration->count()), node,
            [](std::uint64_t value) { return show_duration(Milliseconds{static_cast<std::int64_t>(value)}); });
}

void Reader::set(Texts* place, const YAML::Node& node) {
  if (!node.IsSequence())
    return wrong(node, node.IsScalar() ? fmt::format("{} is a list: write [{}]", option_, node.Scalar())
                                       : fmt::format("{} is a list", option_));
  place->clear();
  if (node.size() == 0 && needed_)
    wrong(node, fmt::format("{} is empty: write {}", option_, type_of(place, form_, {})));
  if (node.size() == 0 && option_ == "rules")
    wrong(node, "rules is empty, and nothing would be judged: write [shipped]");
  for (const auto& item : node) {
    if (item.IsNull()) key_ = item.Mark();
    if (!is_scalar(item, "an item of " + option_, "a text")) continue;
    place->push_back(item.Scalar());
    if (item.Scalar().empty()) wrong(item, fmt::format("{} has an empty text", option_));
    check_form(item.Scalar(), item);
    std::error_code error;
    if (option_ == "rules" && checks_files_ && item.Scalar() != "shipped" &&
        !std::filesystem::is_directory(item.Scalar(), error))
      wrong(item, fmt::format("rules: {} is no directory; shipped is the program's own", item.Scalar()));
  }
}

void Reader::set(TextsByName* place, const YAML::Node& node) {
  if (!node.IsMap()) return wrong(node, fmt::format("{} is a mapping: write NAME: TEXT, a line each", option_));
  const bool labels = option_ == "alertmanager.labels";
  each(node, option_, [&](const YAML::Node& key, const YAML::Node& value) {
    key_ = key.Mark();
    if (!is_scalar(value, joined(option_, key.Scalar()), "a text")) return;
    (*place)[key.Scalar()] = value.Scalar();
    if (labels && alertmanager::own_label(key.Scalar()))
      wrong(key, fmt::format("{} is a label that alerts have of their own: choose another name",
                             joined(option_, key.Scalar())));
    else if (labels && !alertmanager::valid_label(key.Scalar()))
      wrong(key, fmt::format("'{}' is no name of a label: letters, digits and '_', no digit first", key.Scalar()));
  });
  if (option_ == "kafka.properties") check_properties(node, false);
}

void Reader::set(PathsByName* place, const YAML::Node& node) {
  if (!node.IsMap()) return wrong(node, fmt::format("{} is a mapping: write NAME: PATH, a line each", option_));
  each(node, option_, [&](const YAML::Node& key, const YAML::Node& value) {
    key_ = key.Mark();
    if (!is_scalar(value, joined(option_, key.Scalar()), "a path")) return;
    (*place)[key.Scalar()] = value.Scalar();
    check_secret(value.Scalar(), value);
  });
  check_properties(node, true);
}

void Reader::check_properties(const YAML::Node& node, bool files) {
  for (const auto& pair : node) {
    if (!pair.first.IsScalar() || !pair.second.IsScalar()) continue;
    const std::string &property = pair.first.Scalar(), &value = pair.second.Scalar();
    if (const std::string problem = problem_of_property(property, value, files); !problem.empty())
      wrong(pair.first, problem);
    else if (!files && property.ends_with(".location")) check_location(property, value, pair.second);
  }
}

// Files of certificates that librdkafka reads. The authorities may be a directory, or "probe".
void Reader::check_location(const std::string& property, const Path& path, const YAML::Node& node) {
  const bool authorities = property == "ssl.ca.location";
  std::error_code error;
  if (!checks_files_ || (authorities && (path == "probe" || std::filesystem::is_directory(path, error)))) return;
  const std::size_t before = problems_.size();
  check_file(path, node);
  if (problems_.size() != before || (!authorities && property != "ssl.certificate.location")) return;
  if (const auto fit = net::check_certificates(authorities ? Path{} : path, {}, authorities ? path : Path{}); !fit)
    wrong(node, fmt::format("{}: {}", option_, fit.error().message));
}

}  // namespace tocsin::adapters::config
