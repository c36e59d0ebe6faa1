#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "adapters/alertmanager/alert_json.h"
#include "adapters/config/config.h"
#include "adapters/config/options.h"
#include "dsl/problems.h"

namespace tocsin::adapters::config {
namespace {

using stream::Errc;
using stream::Error;

// "a.b" of two parts; a section's own name where there is no option's.
std::string joined(std::string_view section, std::string_view name) {
  return section.empty() || name.empty() ? std::string{section} + std::string{name} : fmt::format("{}.{}", section, name);
}

class Reader {
 public:
  Reader(std::string file, bool checks_files) : file_(std::move(file)), checks_files_(checks_files) {}

  stream::Result<Config> read(const std::string& text);

 private:
  void wrong(const YAML::Mark& mark, const std::string& message) {
    problems_.emplace_back(std::pair{mark.line, mark.column}, fmt::format("{}:{}:{}: {}", file_, mark.line + 1, mark.column + 1, message));
  }
  void wrong(const YAML::Node& node, const std::string& message) { wrong(node.Mark(), message); }

  // Each key and value of a mapping; keys that are no texts, or that come twice, are problems.
  template <class Visit>
  void each(const YAML::Node& map, const std::string& where, Visit visit);
  void unknown(const YAML::Node& key, const std::string& section, std::vector<std::string> siblings);
  void read_section(const YAML::Node& map, const std::string& section);
  void read_option(const Option& option, const YAML::Node& key, const YAML::Node& node);
  void no_value(const std::string& name, const std::string& type) {
    wrong(key_, fmt::format("{} has no value: write {}, or leave the option out", name, type));
  }
  bool is_scalar(const YAML::Node& node, const std::string& name, const std::string& type);

  // Into the place of an option, by its type.
  void set(std::string* place, const YAML::Node& node);
  void set(Path* place, const YAML::Node& node);
  void set(bool* place, const YAML::Node& node);
  void set(std::uint64_t* place, const YAML::Node& node);
  void set(Size place, const YAML::Node& node);
  void set(Milliseconds* place, const YAML::Node& node);
  void set(Texts* place, const YAML::Node& node);
  void set(TextsByName* place, const YAML::Node& node);
  void set(PathsByName* place, const YAML::Node& node);
  void set(Instances* place, const YAML::Node& node);
  void in_limits(std::uint64_t value, const YAML::Node& node, std::string (*shown)(std::uint64_t));
  void check_form(const std::string& text, const YAML::Node& node);
  void check_file(const Path& path, const YAML::Node& node);
  void check_properties(const YAML::Node& node, bool files);
  void check_pairs();
  void check_instance(const Config::Alertmanager::Instance& instance, const YAML::Node& node);

  std::string file_;
  bool checks_files_;
  Config config_;
  std::vector<std::pair<std::pair<int, int>, std::string>> problems_;  // by place
  std::map<std::string, YAML::Mark> given_;                            // options that the file has

  // Of the option that is read.
  YAML::Mark key_;
  std::string name_;
  Form form_ = Form::plain;
  const Option* option_ = nullptr;
};

template <class Visit>
void Reader::each(const YAML::Node& map, const std::string& where, Visit visit) {
  std::map<std::string, int> lines;
  for (const auto& pair : map) {
    if (!pair.first.IsScalar()) {
      wrong(pair.first, "a key is a name, and this is a list or a mapping");
      continue;
    }
    const auto [before, fresh] = lines.emplace(pair.first.Scalar(), pair.first.Mark().line + 1);
    if (fresh) visit(pair.first, pair.second);
    else wrong(pair.first, fmt::format("{} is given twice, first in line {}", joined(where, before->first), before->second));
  }
}

void Reader::unknown(const YAML::Node& key, const std::string& section, std::vector<std::string> siblings) {
  const std::string& name = key.Scalar();
  const std::string meant = dsl::nearest(name, siblings);
  std::string elsewhere;
  for (const Option& option : options())
    if (meant.empty() && option.name == name) elsewhere = fmt::format(" ({}?)", joined(option.section, option.name));
  wrong(key, fmt::format("there is no option {}{}{}", joined(section, name), meant, elsewhere));
}

bool Reader::is_scalar(const YAML::Node& node, const std::string& name, const std::string& type) {
  if (node.IsScalar()) return true;
  if (node.IsNull()) no_value(name, type);
  else wrong(node, fmt::format("{} is {}, and this is a {}", name, type, node.IsSequence() ? "list" : "mapping"));
  return false;
}

void Reader::in_limits(std::uint64_t value, const YAML::Node& node, std::string (*shown)(std::uint64_t)) {
  if (value >= option_->least && value <= option_->most) return;
  wrong(node, fmt::format("{} is {} to {}, and not {}", name_, shown(option_->least), shown(option_->most), node.Scalar()));
}

void Reader::set(std::string* place, const YAML::Node& node) {
  const auto& choices = option_ ? option_->choices : Texts{};
  if (!is_scalar(node, name_, type_of(place, form_, choices))) return;
  *place = node.Scalar();
  if (!choices.empty() && std::find(choices.begin(), choices.end(), *place) == choices.end())
    return wrong(node,
                 fmt::format("{} is {}, and not '{}'{}", name_, type_of(place, form_, choices), *place, dsl::nearest(*place, choices)));
  check_form(*place, node);
}

void Reader::check_form(const std::string& text, const YAML::Node& node) {
  if (const std::string problem = problem_of(form_, name_, text); !problem.empty()) wrong(node, problem);
}

void Reader::set(Path* place, const YAML::Node& node) {
  if (!is_scalar(node, name_, "a path")) return;
  *place = node.Scalar();
  check_file(*place, node);
}

void Reader::check_file(const Path& path, const YAML::Node& node) {
  if (!checks_files_ || path.empty()) return;
  if (std::error_code error; std::filesystem::is_directory(path, error))
    return wrong(node, fmt::format("{}: {} is a directory, and not a file", name_, path.string()));
  if (!std::ifstream{path}) wrong(node, fmt::format("{}: cannot read {}: {}", name_, path.string(), std::strerror(errno)));
}

void Reader::set(bool* place, const YAML::Node& node) {
  if (!is_scalar(node, name_, "true or false")) return;
  if (node.Scalar() == "true") *place = true;
  else if (node.Scalar() == "false") *place = false;
  else wrong(node, fmt::format("{} is true or false, and not '{}'", name_, node.Scalar()));
}

void Reader::set(std::uint64_t* place, const YAML::Node& node) {
  if (!is_scalar(node, name_, "a whole number")) return;
  const std::string& text = node.Scalar();
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), *place);
  if (bad != std::errc{} || end != text.data() + text.size())
    return wrong(node, fmt::format("{} is a whole number, and not '{}'", name_, text));
  in_limits(*place, node, [](std::uint64_t value) { return std::to_string(value); });
}

void Reader::set(Size place, const YAML::Node& node) {
  if (!is_scalar(node, name_, "a size (64KiB)")) return;
  const auto size = parse_size(node.Scalar());
  if (!size) return wrong(node, fmt::format("{}: {}", name_, size.error().message));
  *place.bytes = *size;
  in_limits(*size, node, show_size);
}

void Reader::set(Milliseconds* place, const YAML::Node& node) {
  if (!is_scalar(node, name_, "a duration (45s)")) return;
  const auto duration = parse_duration(node.Scalar());
  if (!duration) return wrong(node, fmt::format("{}: {}", name_, duration.error().message));
  *place = *duration;
  in_limits(static_cast<std::uint64_t>(duration->count()), node,
            [](std::uint64_t value) { return show_duration(Milliseconds{static_cast<std::int64_t>(value)}); });
}

void Reader::set(Texts* place, const YAML::Node& node) {
  if (!node.IsSequence())
    return wrong(node,
                 node.IsScalar() ? fmt::format("{} is a list: write [{}]", name_, node.Scalar()) : fmt::format("{} is a list", name_));
  place->clear();
  if (node.size() == 0 && option_ && option_->needed) wrong(node, fmt::format("{} is empty: write {}", name_, type_of(place, form_, {})));
  for (const auto& item : node) {
    if (item.IsNull()) key_ = item.Mark();
    if (!is_scalar(item, "an item of " + name_, "a text")) continue;
    place->push_back(item.Scalar());
    if (item.Scalar().empty()) wrong(item, fmt::format("{} has an empty text", name_));
    check_form(item.Scalar(), item);
    std::error_code error;
    if (name_ == "rules" && checks_files_ && item.Scalar() != "shipped" && !std::filesystem::is_directory(item.Scalar(), error))
      wrong(item, fmt::format("rules: {} is no directory; shipped is the program's own", item.Scalar()));
  }
}

void Reader::set(TextsByName* place, const YAML::Node& node) {
  if (!node.IsMap()) return wrong(node, fmt::format("{} is a mapping: write NAME: TEXT, a line each", name_));
  const bool labels = name_ == "alertmanager.labels";
  each(node, name_, [&](const YAML::Node& key, const YAML::Node& value) {
    key_ = key.Mark();
    if (!is_scalar(value, joined(name_, key.Scalar()), "a text")) return;
    (*place)[key.Scalar()] = value.Scalar();
    if (labels && alertmanager::own_label(key.Scalar()))
      wrong(key, fmt::format("{} is a label that alerts have of their own: choose another name", joined(name_, key.Scalar())));
    else if (labels && !alertmanager::valid_label(key.Scalar()))
      wrong(key, fmt::format("'{}' is no name of a label: letters, digits and '_', no digit first", key.Scalar()));
  });
  if (!labels) check_properties(node, false);
}

void Reader::set(PathsByName* place, const YAML::Node& node) {
  if (!node.IsMap()) return wrong(node, fmt::format("{} is a mapping: write NAME: PATH, a line each", name_));
  each(node, name_, [&](const YAML::Node& key, const YAML::Node& value) {
    key_ = key.Mark();
    if (!is_scalar(value, joined(name_, key.Scalar()), "a path")) return;
    (*place)[key.Scalar()] = value.Scalar();
    check_file(value.Scalar(), value);
  });
  check_properties(node, true);
}

void Reader::check_properties(const YAML::Node& node, bool files) {
  for (const auto& pair : node) {
    if (!pair.first.IsScalar()) continue;
    const std::string& property = pair.first.Scalar();
    for (const auto& [name, ours] : reserved_properties())
      if (name == property)
        wrong(pair.first, ours.empty() ? fmt::format("{} is set by tocsin itself: leave it out", property)
                                       : fmt::format("{} is set by the option {}", property, ours));
    if (!files && secret_property(property))
      wrong(pair.first, fmt::format("{} is a secret: put it into a file, and name that in kafka.property_files", property));
  }
}

void Reader::set(Instances* place, const YAML::Node& node) {
  if (!node.IsSequence()) return wrong(node, fmt::format("{} is a list: write - url: http://HOST:9093, a line each", name_));
  place->clear();
  const std::string whole = name_;
  for (const auto& item : node) {
    if (!item.IsMap()) {
      wrong(item, fmt::format("{} has a text: write - url: {}", whole, item.IsScalar() ? item.Scalar() : "http://HOST:9093"));
      continue;
    }
    Config::Alertmanager::Instance instance;
    each(item, whole, [&](const YAML::Node& key, const YAML::Node& value) {
      Texts names;
      for (const InstanceOption& option : instance_options()) {
        names.emplace_back(option.name);
        if (option.name != key.Scalar()) continue;
        key_ = key.Mark();
        name_ = joined(whole, option.name);
        form_ = option.form;
        const Place there = option.place(instance);
        if (value.IsNull()) no_value(name_, type_of(there, form_, {}));
        else std::visit([&](auto at) { set(at, value); }, there);
        return;
      }
      unknown(key, whole, std::move(names));
    });
    check_instance(instance, item);
    place->push_back(std::move(instance));
  }
}

void Reader::check_instance(const Config::Alertmanager::Instance& instance, const YAML::Node& node) {
  const std::string which = "an instance of alertmanager.instances";
  if (instance.url.empty()) wrong(node, which + " has no url");
  if (instance.user.empty() != instance.password_file.empty()) wrong(node, which + " needs both user and password_file, or none");
  if (!instance.user.empty() && !instance.token_file.empty()) wrong(node, which + " has a user and a token: only one of them can be sent");
  if (instance.certificate_file.empty() != instance.key_file.empty())
    wrong(node, which + " needs both certificate_file and key_file, or none");
  if (instance.url.starts_with("http://") &&
      !(instance.ca_file.empty() && instance.certificate_file.empty() && instance.server_name.empty()))
    wrong(node, which + " has options of TLS and a url with http://: write https://");
}

void Reader::read_option(const Option& option, const YAML::Node& key, const YAML::Node& node) {
  key_ = key.Mark();
  option_ = &option;
  form_ = option.form;
  name_ = joined(option.section, option.name);
  given_.emplace(name_, node.Mark());
  const Place place = option.place(config_);
  if (node.IsNull()) no_value(name_, type_of(place, form_, option.choices));
  else std::visit([&](auto at) { set(at, node); }, place);
  option_ = nullptr;
}

void Reader::read_section(const YAML::Node& map, const std::string& section) {
  each(map, section, [&](const YAML::Node& key, const YAML::Node& value) {
    Texts names;
    for (const Option& option : options()) {
      if (option.section != section) continue;
      if (option.name == key.Scalar()) return read_option(option, key, value);
      names.emplace_back(option.name);
    }
    if (!section.empty()) return unknown(key, section, std::move(names));
    for (const Section& one : sections()) {
      if (one.name != key.Scalar()) {
        names.emplace_back(one.name);
      } else if (value.IsMap()) {
        return read_section(value, key.Scalar());
      } else if (!value.IsNull()) {  // a section whose options are all commented out
        return wrong(value, fmt::format("{} is a section: its options stand below it, indented", key.Scalar()));
      } else {
        return;
      }
    }
    unknown(key, section, std::move(names));
  });
}

// What holds between options.
void Reader::check_pairs() {
  const auto at = [&](const char* name) {
    const auto found = given_.find(name);
    return found == given_.end() ? YAML::Mark{} : found->second;
  };
  const auto& http = config_.http;
  if (http.user.empty() != http.password_file.empty())
    wrong(at(http.user.empty() ? "http.password_file" : "http.user"), "http.user and http.password_file need each other: set both or none");
  if (http.certificate_file.empty() != http.key_file.empty())
    wrong(at(http.key_file.empty() ? "http.certificate_file" : "http.key_file"),
          "http.certificate_file and http.key_file need each other: set both or none");
  if (!http.client_ca_file.empty() && http.certificate_file.empty())
    wrong(at("http.client_ca_file"), "http.client_ca_file needs TLS: set http.certificate_file and http.key_file");
  for (const auto& [name, path] : config_.kafka.property_files)
    if (config_.kafka.properties.contains(name))
      wrong(at("kafka.property_files"), fmt::format("{} stands in kafka.properties and in kafka.property_files: keep one", name));
  for (const Option& option : options()) {
    if (!option.needed) continue;
    const Place place = option.place(config_);
    const auto* list = std::get_if<Texts*>(&place);
    if (list && (*list)->empty() && !given_.contains(joined(option.section, option.name)))
      wrong(YAML::Mark{}, fmt::format("{} is missing, and has no default: write {}", joined(option.section, option.name),
                                      type_of(place, option.form, option.choices)));
  }
}

stream::Result<Config> Reader::read(const std::string& text) {
  try {
    const auto documents = YAML::LoadAll(text);
    if (documents.size() > 1) wrong(documents[1], "the file holds several documents: keep one, without a line ---");
    const YAML::Node root = documents.empty() ? YAML::Node{} : documents.front();
    if (root.IsMap()) read_section(root, "");
    else if (!root.IsNull()) wrong(root, "a configuration is a mapping of sections: kafka, rules, alertmanager, http, log, limits");
    if (root.IsNull() || problems_.empty() || root.IsMap()) check_pairs();
  } catch (const YAML::Exception& error) {
    const bool tab = text.find("\t") != text.npos;
    wrong(error.mark.is_null() ? YAML::Mark{} : error.mark,
          fmt::format("this is no YAML: {}{}", error.msg, tab ? "; YAML is indented with spaces, not tabs" : ""));
  }
  if (problems_.empty()) return std::move(config_);
  std::stable_sort(problems_.begin(), problems_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  constexpr std::size_t most = 50;
  std::string all;
  for (std::size_t i = 0; i < std::min(problems_.size(), most); ++i) all += (i == 0 ? "" : "\n") + problems_[i].second;
  if (problems_.size() > most) all += fmt::format("\n{}: and {} more mistakes", file_, problems_.size() - most);
  return Error{Errc::malformed, all};
}

}  // namespace

stream::Result<Config> parse_config(const std::string& text, const std::string& file_name) { return Reader{file_name, false}.read(text); }

stream::Result<Config> read_config(const Path& file) {
  constexpr std::uintmax_t largest = 4u << 20;
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return Error{Errc::io, file.string() + " is a directory, and not a file"};
  std::ifstream in{file, std::ios::binary};
  if (!in) return Error{Errc::io, fmt::format("cannot read {}: {}", file.string(), std::strerror(errno))};
  if (std::filesystem::file_size(file, error) > largest && !error)
    return Error{Errc::too_large, file.string() + " is too large to be a configuration"};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  return Reader{file.string(), true}.read(text);
}

}  // namespace tocsin::adapters::config
