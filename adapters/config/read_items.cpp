// Lists whose items have options of their own: instances of Alertmanager, sources of ingest.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "adapters/config/reader.h"
#include "adapters/ingest/mapping.h"
#include "adapters/net/certificates.h"

namespace tocsin::adapters::config {

template <class One>
void Reader::set_items(std::vector<One>* place, std::span<const OptionOf<One>> options, const char* example,
                       const YAML::Node& node, void (Reader::*check)(const One&, const YAML::Node&)) {
  if (!node.IsSequence()) return wrong(node, fmt::format("{} is a list: write - {}, a line each", option_, example));
  place->clear();
  const std::string whole = option_;
  for (const auto& item : node) {
    if (!item.IsMap()) {
      const std::string key{std::string_view{example}.substr(0, std::string_view{example}.find(' '))};
      wrong(item,
            fmt::format("{} has a text: write - {}", whole, item.IsScalar() ? key + ' ' + item.Scalar() : example));
      continue;
    }
    One one;
    each(item, whole, [&](const YAML::Node& key, const YAML::Node& value) {
      Texts names;
      for (const OptionOf<One>& option : options) {
        if (option.name == key.Scalar()) return read_value(option, joined(whole, option.name), one, key, value);
        names.emplace_back(option.name);
      }
      unknown(key, whole, std::move(names));
    });
    (this->*check)(one, item);
    place->push_back(std::move(one));
  }
}

void Reader::set(Instances* place, const YAML::Node& node) {
  set_items(place, instance_options(), "url: http://HOST:9093", node, &Reader::check_instance);
}

void Reader::check_instance(const alertmanager::Instance& instance, const YAML::Node& node) {
  const std::string which = "an instance of alertmanager.instances";
  if (instance.url.empty()) wrong(node, which + " has no url");
  if (instance.auth.user.empty() != instance.auth.password_file.empty())
    wrong(node, which + " needs both user and password_file, or none");
  if (!instance.auth.user.empty() && !instance.auth.token_file.empty())
    wrong(node, which + " has a user and a token: only one of them can be sent");
  if (instance.tls.certificate_file.empty() != instance.tls.key_file.empty())
    wrong(node, which + " needs both certificate_file and key_file, or none");
  if (instance.url.starts_with("http://") &&
      !(instance.tls.ca_file.empty() && instance.tls.certificate_file.empty() && instance.tls.server_name.empty()))
    wrong(node, which + " has options of TLS and a url with http://: write https://");
  if (checks_files_ && problems_.empty())
    if (const auto fit =
            net::check_certificates(instance.tls.certificate_file, instance.tls.key_file, instance.tls.ca_file);
        !fit)
      wrong(node, which + ": " + fit.error().message);
}

void Reader::set(Sources* place, const YAML::Node& node) {
  set_items(place, source_options(), "name: NAME", node, &Reader::check_source);
  std::map<std::string, std::string> names, topics;
  for (std::size_t i = 0; i < place->size() && i < node.size(); ++i) {
    const auto& source = (*place)[i];
    if (!source.name.empty() && !names.emplace(source.name, source.topic).second)
      wrong(node[i], fmt::format("two of ingest.sources have the name {}: give each its own", source.name));
    const auto [first, fresh] = topics.emplace(source.topic, source.name);
    if (!source.topic.empty() && !fresh)
      wrong(node[i], fmt::format("topic {} is read by the source {} already: a record would count twice", source.topic,
                                 first->second));
  }
}

void Reader::check_source(const ingest::Source& source, const YAML::Node& node) {
  for (const auto& [name, value] :
       {std::pair{"name", &source.name}, {"topic", &source.topic}, {"format", &source.format}})
    if (value->empty()) wrong(node, fmt::format("a source of ingest.sources has no {}", name));
  const auto given = [&](const char* name) { return node[name].IsDefined(); };
  const bool logs = source.format.starts_with("logs_") || source.format == "otlp_logs",
             events = source.format == "slurm_jobcomp";
  const char* const kind = logs ? "logs" : events ? "events" : "metrics";
  for (const char* name : {"signals", "keep", "time", "text", "covers"}) {
    const bool of_metrics = name == std::string_view{"signals"} || name == std::string_view{"keep"};
    if (!source.format.empty() && given(name) && (events || of_metrics == logs))
      wrong(node[name], fmt::format("ingest.sources.{} is of {}, and {} is a format of {}", name,
                                    of_metrics ? "metrics" : "logs", source.format, kind));
  }
  if (given("extract")) check_mapping(source.extract, node["extract"], ingest::problem_of_template);
  if (given("signals")) check_mapping(source.signals, node["signals"], ingest::problem_of_signal);
}

void Reader::check_mapping(const std::map<std::string, std::string>& texts, const YAML::Node& node,
                           std::string (*problem_of_text)(std::string_view)) {
  for (const auto& [name, text] : texts)
    if (const std::string problem = problem_of_text(text); !problem.empty())
      wrong(node[name], fmt::format("'{}': {}", text, problem));
}

}  // namespace tocsin::adapters::config
