#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "adapters/config/reader.h"
#include "adapters/http/routes.h"
#include "adapters/net/credentials.h"

namespace tocsin::adapters::config {

using stream::Errc;
using stream::Error;

void Reader::read_document(const std::string& text, const std::function<void(const YAML::Node& root)>& visit) {
  try {
    const auto documents = YAML::LoadAll(text);
    if (documents.size() > 1) wrong(documents[1], "the file holds several documents: keep one, without a line ---");
    visit(documents.empty() ? YAML::Node{} : documents.front());
  } catch (const YAML::Exception& error) {
    const bool tab = text.find("\t") != text.npos;
    wrong(error.mark.is_null() ? YAML::Mark{} : error.mark,
          fmt::format("not valid YAML: {}{}", error.msg, tab ? "; YAML is indented with spaces, not tabs" : ""));
  }
}

Error Reader::problems() {
  std::stable_sort(problems_.begin(), problems_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  constexpr std::size_t most = 50;
  std::string all;
  for (std::size_t i = 0; i < std::min(problems_.size(), most); ++i) all += (i == 0 ? "" : "\n") + problems_[i].second;
  if (problems_.size() > most) all += fmt::format("\n{}: and {} more mistakes", name_, problems_.size() - most);
  return {Errc::malformed, all};
}

void Reader::each(const YAML::Node& map, const std::string& where, const Visit& visit) {
  std::map<std::string, int> lines;
  for (const auto& pair : map) {
    if (!pair.first.IsScalar()) {
      wrong(pair.first, "a key is a name, and this is a list or a mapping");
      continue;
    }
    const auto [before, fresh] = lines.emplace(pair.first.Scalar(), pair.first.Mark().line + 1);
    if (fresh) visit(pair.first, pair.second);
    else
      wrong(pair.first,
            fmt::format("{} is given twice, first in line {}", joined(where, before->first), before->second));
  }
}

void Reader::unknown(const YAML::Node& key, const std::string& section, const std::vector<std::string>& siblings) {
  const std::string& name = key.Scalar();
  const std::string meant = stream::nearest(name, siblings);
  std::string elsewhere;
  if (section == "limits" && name == "subjects")
    elsewhere = ": limit the jobs' state by limits.state_size instead, 250KiB for each small job";
  for (const Section& other : sections())
    for (const Option& option : other.options)
      if (meant.empty() && option.name == name) elsewhere = fmt::format(" ({}?)", joined(other.name, option.name));
  wrong(key, fmt::format("there is no option {}{}{}", joined(section, name), meant, elsewhere));
}

void Reader::read_sections(const YAML::Node& root) {
  each(root, "", [&](const YAML::Node& key, const YAML::Node& value) {
    Texts names;
    for (const Section& section : sections()) {
      names.emplace_back(section.title());
      if (names.back() != key.Scalar()) continue;
      if (section.name.empty()) return read_value(key, value, names.back(), section.options.front(), config_);
      if (value.IsMap()) return read_options(value, names.back(), section.options, config_);
      if (!value.IsNull())  // null: a section whose options are all commented out
        wrong(value, fmt::format("{} is a section: its options stand below it, indented", names.back()));
      return;
    }
    unknown(key, "", names);
  });
}

// What holds between options.
void Reader::check_pairs() {
  const auto at = [&](const char* name) {
    const auto found = given_.find(name);
    return found == given_.end() ? YAML::Mark{} : found->second;
  };
  const auto& [certificate, key, client_ca] = config_.http.tls;
  const auto& user = config_.http.auth.user;
  const auto both = [&](bool first, const char* one, bool second, const char* other) {
    if (first != second)
      wrong(at(first ? one : other), fmt::format("{} and {} need each other: set both or none", one, other));
  };
  both(!user.empty(), "http.user", !config_.http.auth.password_file.empty(), "http.password_file");
  both(!certificate.empty(), "http.certificate_file", !key.empty(), "http.key_file");
  if (user.find(':') != user.npos)
    wrong(at("http.user"), "http.user has a colon in it, which ends the name: choose another");
  if (!config_.http.auth.senders.empty() && user.empty() && config_.http.auth.token_file.empty())
    wrong(at("http.senders"),
          "http.senders may send records alone: set http.token_file, or http.user and http.password_file, for readers");
  for (const http::Sender& sender : config_.http.auth.senders)
    if (!sender.users.empty() && !config_.kafka.brokers.empty())
      wrong(at("http.senders"), fmt::format("the sender {} has users, which needs a service without Kafka: of several "
                                            "instances none knows all jobs; write jobs",
                                            sender.name));
  if (checks_files_ && problems_.empty())
    if (const auto gate = http::Gate::open(config_.http.auth); !gate)
      wrong(at("http.senders"), "http: " + gate.error().message);
  if (!client_ca.empty() && certificate.empty())
    wrong(at("http.client_ca_file"), "http.client_ca_file needs TLS: set http.certificate_file and http.key_file");
  if (checks_files_ && problems_.empty())
    if (const auto fit = net::check_certificates(certificate, key, client_ca); !fit)
      wrong(at("http.certificate_file"), "http: " + fit.error().message);
  for (const auto& [name, path] : config_.kafka.property_files)
    if (config_.kafka.properties.contains(name))
      wrong(at("kafka.property_files"),
            fmt::format("{} stands in kafka.properties and in kafka.property_files: keep one", name));
  for (const auto& source : config_.ingest.sources)
    if (source.topic.starts_with(config_.kafka.prefix + '.'))
      wrong(at("ingest.sources"),
            fmt::format("ingest.sources reads {}, which is one of tocsin's own topics: name one of another program",
                        source.topic));
  for (const auto& source : config_.ingest.sources)
    if (!source.topic.empty() && config_.kafka.brokers.empty())
      wrong(at("ingest.sources"),
            fmt::format("the source {} is a topic of Kafka: name its brokers in kafka.brokers", source.name));
  if (checks_files_ && !config_.ingest.nodes.empty() && problems_.empty())
    if (const auto nodes = config::read_nodes(config_.ingest.nodes); !nodes)
      problems_.emplace_back(std::pair{0, 0}, nodes.error().message);
  for (const Section& section : sections())
    for (const Option& option : section.options) {
      const Place place = option.place(config_);
      const std::string name = joined(section.name, option.name);
      const auto* list = std::get_if<Texts*>(&place);
      const auto in_section = given_.lower_bound(joined(section.name, ""));
      const bool used = in_section != given_.end() && in_section->first.starts_with(joined(section.name, ""));
      if (option.needed && used && list && (*list)->empty() && !given_.contains(name))
        wrong(YAML::Mark{}, fmt::format("{} is missing, and has no default: write {}", name, type_of(place, option)));
    }
}

stream::Result<Config> Reader::read(const std::string& text) {
  read_document(text, [&](const YAML::Node& root) {
    if (root.IsMap()) read_sections(root);
    else if (!root.IsNull())
      wrong(root,
            "a configuration is a mapping of sections: kafka, rules, alertmanager, notify, http, ingest, log, "
            "limits");
    if (root.IsNull() || problems_.empty() || root.IsMap()) check_pairs();
  });
  if (problems_.empty()) return std::move(config_);
  return problems();
}

stream::Result<ingest::NodeMap> Reader::read_nodes(const std::string& text) {
  ingest::NodeMap nodes;
  read_document(text, [&](const YAML::Node& root) {
    if (!root.IsMap() && !root.IsNull())
      return wrong(root, "this is a map of nodes: write NODE: {rack: NAME, gpus: […]}, a line each");
    each(root, "", [&](const YAML::Node& key, const YAML::Node& value) {
      if (value.IsMap()) read_options(value, key.Scalar(), node_options(), nodes[key.Scalar()]);
      else wrong(value, "a node is written {rack: NAME, gpus: […]}");
    });
  });
  if (problems_.empty()) return nodes;
  return problems();
}

namespace {

stream::Result<std::string> read_text(const Path& file) {
  constexpr std::uintmax_t largest = 64u << 20;
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    return Error{Errc::io, file.string() + " is a directory, and not a file"};
  if (std::filesystem::file_size(file, error) > largest && !error)
    return Error{Errc::too_large, file.string() + " is too large to be a configuration"};
  std::ifstream in{file, std::ios::binary};
  if (!in) return Error{Errc::io, fmt::format("cannot read {}: {}", file.string(), std::strerror(errno))};
  return std::string{std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

stream::Result<Config> parse_config(const std::string& text, const std::string& file_name) {
  return Reader{file_name, false}.read(text);
}
stream::Result<Config> read_config(const Path& file) {
  const auto text = read_text(file);
  return text ? Reader{file.string(), true}.read(*text) : text.error();
}
stream::Result<ingest::NodeMap> parse_nodes(const std::string& text, const std::string& file_name) {
  return Reader{file_name, false}.read_nodes(text);
}
stream::Result<ingest::NodeMap> read_nodes(const Path& file) {
  const auto text = read_text(file);
  return text ? parse_nodes(*text, file.string()) : text.error();
}

}  // namespace tocsin::adapters::config
