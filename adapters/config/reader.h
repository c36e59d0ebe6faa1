#pragma once

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapters/config/config.h"
#include "adapters/config/options.h"
#include "stream/values/nearest.h"

// The inside of read_config() and read_nodes(). Included by their sources alone.
namespace tocsin::adapters::config {

// "a.b" of two parts; a section's own name where there is no option's.
inline std::string joined(std::string_view section, std::string_view name) {
  return section.empty() || name.empty() ? std::string{section} + std::string{name}
                                         : fmt::format("{}.{}", section, name);
}

// Reads a file of options, and gathers what is wrong with it.
class Reader {
 public:
  Reader(std::string file, bool checks_files) : name_(std::move(file)), checks_files_(checks_files) {}
  stream::Result<Config> read(const std::string& text);
  stream::Result<ingest::NodeMap> read_nodes(const std::string& text);

 private:
  void wrong(const YAML::Mark& mark, const std::string& message) {
    problems_.emplace_back(std::pair{mark.line, mark.column},
                           fmt::format("{}:{}:{}: {}", name_, mark.line + 1, mark.column + 1, message));
  }
  void wrong(const YAML::Node& node, const std::string& message) { wrong(node.Mark(), message); }
  // Calls `visit` with the root of the file's one document. What is no YAML is a problem.
  void read_document(const std::string& text, const std::function<void(const YAML::Node& root)>& visit);
  // A line each, by place; not all, if there are very many.
  [[nodiscard]] stream::Error problems();

  // Each key and value of a mapping; keys that are no texts, or that come twice, are problems.
  using Visit = std::function<void(const YAML::Node& key, const YAML::Node& value)>;
  void each(const YAML::Node& map, const std::string& where, const Visit& visit);
  void unknown(const YAML::Node& key, const std::string& section, const std::vector<std::string>& siblings);
  void read_sections(const YAML::Node& root);
  // The values of a mapping into the places of these options.
  template <class Of>
  void read_options(const YAML::Node& map, const std::string& where, std::span<const OptionOf<Of>> options, Of& of) {
    each(map, where, [&](const YAML::Node& key, const YAML::Node& value) {
      Texts names;
      for (const OptionOf<Of>& option : options) {
        if (option.name == key.Scalar()) return read_value(key, value, joined(where, option.name), option, of);
        names.emplace_back(option.name);
      }
      unknown(key, where, names);
    });
  }
  template <class Of>
  void read_value(const YAML::Node& key, const YAML::Node& value, const std::string& name, const OptionOf<Of>& option,
                  Of& of) {
    given_.emplace(name, value.Mark());
    key_ = key.Mark(), option_ = name, traits_ = &option;
    const Place place = option.place(of);
    if (value.IsNull()) no_value(name, type_of(place, option));
    else std::visit([&](auto at) { set(at, value); }, place);
  }
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
  void set(ListsByName* place, const YAML::Node& node);
  // Items of a list that have options of their own.
  template <class Item>
  void set(std::vector<Item>* place, const YAML::Node& node) {
    const auto [options, example] = options_of(Item{});
    if (!node.IsSequence()) return wrong(node, fmt::format("{} is a list: write - {}, a line each", option_, example));
    place->clear();
    const std::string list = option_;
    for (const auto& item : node) {
      if (!item.IsMap()) {
        const std::string_view key = example.substr(0, example.find(' '));
        wrong(item, item.IsScalar() ? fmt::format("{} has a text: write - {} {}", list, key, item.Scalar())
                                    : fmt::format("{} has a text: write - {}", list, example));
        continue;
      }
      Item one;
      read_options(item, list, options, one);
      check(one, item);
      place->push_back(std::move(one));
    }
  }
  void in_limits(std::uint64_t value, const YAML::Node& node, std::string (*shown)(std::uint64_t));
  void check_form(const std::string& text, const YAML::Node& node);
  void check_file(const Path& path, const YAML::Node& node);
  void check_secret(const Path& path, const YAML::Node& node);
  void check_properties(const YAML::Node& node, bool files);
  void check_location(const std::string& property, const Path& path, const YAML::Node& node);
  void check_mapping(const TextsByName& texts, const YAML::Node& node, std::string (*problem)(std::string_view));
  // What holds between options: of an item, of the whole.
  void check(const alertmanager::Instance& instance, const YAML::Node& node);
  void check(const ingest::Source& source, const YAML::Node& node);
  void check(const ingest::MappedGpu&, const YAML::Node&) {}
  void check(const notify::Receiver& receiver, const YAML::Node& node);
  void check(const http::Sender& sender, const YAML::Node& node);
  void check_pairs();

  std::string name_;  // of the file
  bool checks_files_;
  std::vector<std::pair<std::pair<int, int>, std::string>> problems_;  // by place
  Config config_;
  std::map<std::string, YAML::Mark> given_;  // options that the file has

  // Of the option that is read.
  YAML::Mark key_;
  std::string option_;  // its whole name
  const Traits* traits_ = nullptr;
};

}  // namespace tocsin::adapters::config
