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
#include "adapters/ingest/mapping.h"
#include "adapters/kafka/address.h"
#include "adapters/net/credentials.h"
#include "adapters/net/url.h"

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
    return property_of_file(name) ? "" : fmt::format("{} is not a secret: write its value in kafka.properties", name);
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
  const auto [least, most] = std::pair{traits_->least, traits_->most};
  if (value < least || value > most)
    wrong(node, fmt::format("{} is {} to {}, and not {}", option_, shown(least), shown(most), node.Scalar()));
}

void Reader::set(std::string* place, const YAML::Node& node) {
  if (!is_scalar(node, option_, type_of(place, *traits_))) return;
  *place = node.Scalar();
  const auto& choices = traits_->choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), *place) == choices.end())
    return wrong(node, fmt::format("{} is {}, and not '{}'{}", option_, type_of(place, *traits_), *place,
                                   stream::nearest(*place, choices)));
  check_form(*place, node);
}

void Reader::check_form(const std::string& text, const YAML::Node& node) {
  if (const std::string problem = problem_of(traits_->form, option_, text); !problem.empty()) wrong(node, problem);
}

void Reader::set(Path* place, const YAML::Node& node) {
  if (!is_scalar(node, option_, "a path")) return;
  *place = node.Scalar();
  if (option_.ends_with("password_file") || option_.ends_with("token_file") || option_.starts_with("notify.receivers."))
    check_secret(*place, node);
  else if (!option_.ends_with("directory")) check_file(*place, node);
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
  in_limits(static_cast<std::uint64_t>(duration->count()), node, show_duration);
}

void Reader::set(Texts* place, const YAML::Node& node) {
  if (!node.IsSequence())
    return wrong(node, node.IsScalar() ? fmt::format("{} is a list: write [{}]", option_, node.Scalar())
                                       : fmt::format("{} is a list", option_));
  place->clear();
  if (node.size() == 0 && traits_->needed)
    wrong(node, fmt::format("{} is empty: write {}", option_, type_of(place, *traits_)));
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
      wrong(item, fmt::format("rules: {} is not a directory; shipped is the program's own", item.Scalar()));
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
      wrong(key, fmt::format("'{}' cannot name a label: write letters, digits and '_', and begin with no digit",
                             key.Scalar()));
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

void Reader::set(ListsByName* place, const YAML::Node& node) {
  if (!node.IsMap())
    return wrong(node, fmt::format("{} is a mapping: write NAME: [VALUE, VALUE], a line each", option_));
  const std::string option = option_;
  each(node, option, [&](const YAML::Node& key, const YAML::Node& value) {
    key_ = key.Mark(), option_ = joined(option, key.Scalar());
    Texts& texts = (*place)[key.Scalar()];
    if (value.IsScalar()) texts = {value.Scalar()};
    else set(&texts, value);
  });
  option_ = option;
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

void Reader::check(const alertmanager::Instance& instance, const YAML::Node& node) {
  const std::string which = "an instance of alertmanager.instances";
  const auto& [ca, certificate, key, server_name] = instance.tls;
  const auto& [user, password, token] = instance.auth;
  if (instance.url.empty()) wrong(node, which + " has no url");
  if (user.empty() != password.empty()) wrong(node, which + " needs both user and password_file, or none");
  if (!user.empty() && !token.empty()) wrong(node, which + " has a user and a token: only one of them can be sent");
  if (certificate.empty() != key.empty()) wrong(node, which + " needs both certificate_file and key_file, or none");
  if (instance.url.starts_with("http://") && !(ca.empty() && certificate.empty() && server_name.empty()))
    wrong(node, which + " has options of TLS and a url with http://: write https://");
  if (checks_files_ && problems_.empty())
    if (const auto fit = net::check_certificates(certificate, key, ca); !fit)
      wrong(node, which + ": " + fit.error().message);
}

void Reader::check(const notify::Receiver& receiver, const YAML::Node& node) {
  if (receiver.to.empty() && receiver.command.empty())
    return wrong(node, "a receiver of notify.receivers has neither to nor command");
  if (const auto complete = notify::complete(receiver, config_.notify.relay); !complete)
    return wrong(node, "notify.receivers: " + complete.error().message);
  for (const auto& other : config_.notify.receivers)
    if (!receiver.name.empty() && receiver.name == other.name)
      wrong(node, fmt::format("two of notify.receivers have the name {}: give each its own", receiver.name));
}

void Reader::check(const http::Sender& sender, const YAML::Node& node) {
  if (sender.name.empty()) wrong(node, "a sender of http.senders has no name");
  if (sender.token_file.empty()) wrong(node, fmt::format("the sender {} has no token_file", sender.name));
  for (const http::Sender& other : config_.http.auth.senders)
    if (!sender.name.empty() && sender.name == other.name)
      wrong(node, fmt::format("two of http.senders have the name {}: give each its own", sender.name));
}

void Reader::check(const ingest::Source& source, const YAML::Node& node) {
  for (const auto& [name, value] : {std::pair{"name", &source.name}, {"format", &source.format}})
    if (value->empty()) wrong(node, fmt::format("a source of ingest.sources has no {}", name));
  const int places = !source.topic.empty() + !source.scrape.empty() + !source.files.empty() + source.post;
  if (places != 1)
    wrong(node, fmt::format("the source {} needs one of topic, scrape, files and post: true", source.name));
  for (const std::string& target : source.scrape)
    if (!target.ends_with(".json"))
      if (const auto parsed = net::parse_url(target.find("://") == target.npos ? "http://" + target : target); !parsed)
        wrong(node["scrape"], fmt::format("ingest.sources.scrape: '{}': {}", target, parsed.error().message));
  if (!source.scrape.empty() && source.format != "prometheus_text")
    wrong(node, fmt::format("what is scraped is prometheus_text, and the source {} is {}", source.name, source.format));
  if (source.post && source.format != "otlp_metrics" && source.format != "otlp_logs" &&
      source.format != "prometheus_remote_write")
    wrong(node,
          fmt::format("what is posted is otlp_metrics, otlp_logs or prometheus_remote_write, and the source {} is {}",
                      source.name, source.format));
  for (const std::string& place : source.files)
    if (const std::string problem = ingest::problem_of_template(place);
        place.find('{') != place.npos && !problem.empty())
      wrong(node["files"], fmt::format("ingest.sources.files: '{}': {}", place, problem));
  for (const ingest::Source& other : config_.ingest.sources) {
    if (!source.name.empty() && source.name == other.name)
      wrong(node, fmt::format("two of ingest.sources have the name {}: give each its own", source.name));
    if (!source.topic.empty() && source.topic == other.topic)
      wrong(node, fmt::format("topic {} is read by the source {} already: a record would count twice", source.topic,
                              other.name));
  }
  const auto given = [&](const char* name) { return node[name].IsDefined(); };
  const bool logs = source.format.starts_with("logs_") || source.format == "otlp_logs" || source.format == "kernel_log",
             events = source.format == "slurm_jobcomp";
  const char* const kind = logs ? "logs" : events ? "events" : "metrics";
  for (const char* name : {"signals", "keep", "time", "text", "covers"}) {
    const bool of_metrics = name == std::string_view{"signals"} || name == std::string_view{"keep"};
    if (!source.format.empty() && given(name) && (events || of_metrics == logs))
      wrong(node[name], fmt::format("ingest.sources.{} is of {}, and {} is a format of {}", name,
                                    of_metrics ? "metrics" : "logs", source.format, kind));
  }
  check_mapping(source.extract, node["extract"], ingest::problem_of_template);
  check_mapping(source.signals, node["signals"], ingest::problem_of_signal);
}

void Reader::check_mapping(const TextsByName& texts, const YAML::Node& node,
                           std::string (*problem_of)(std::string_view)) {
  for (const auto& [name, text] : texts)
    if (const std::string problem = problem_of(text); !problem.empty())
      wrong(node[name], fmt::format("'{}': {}", text, problem));
}

}  // namespace tocsin::adapters::config
