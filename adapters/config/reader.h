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

// The inside of read_config(). Included by its sources alone.
namespace tocsin::adapters::config {

// "a.b" of two parts; a section's own name where there is no option's.
inline std::string joined(std::string_view section, std::string_view name) {
  return section.empty() || name.empty() ? std::string{section} + std::string{name}
                                         : fmt::format("{}.{}", section, name);
}

// A file of YAML that is read, and what is wrong with it. Owned by whoever reads it.
class YamlFile {
 public:
  YamlFile(std::string name) : name_(std::move(name)) {}

 protected:
  void wrong(const YAML::Mark& mark, const std::string& message) {
    problems_.emplace_back(std::pair{mark.line, mark.column},
                           fmt::format("{}:{}:{}: {}", name_, mark.line + 1, mark.column + 1, message));
  }
  void wrong(const YAML::Node& node, const std::string& message) { wrong(node.Mark(), message); }
  // Calls `visit` with the root of the file's one document. What is no YAML is a problem.
  void read(const std::string& text, const std::function<void(const YAML::Node& root)>& visit);
  // A line each, by place; not all, if there are very many.
  [[nodiscard]] stream::Error problems();

  std::string name_;
  std::vector<std::pair<std::pair<int, int>, std::string>> problems_;  // by place
};
[[nodiscard]] stream::Result<std::string> read_text(const Path& file);

// Reads a configuration, and gathers what is wrong with it.
class Reader : YamlFile {
 public:
  Reader(std::string file, bool checks_files) : YamlFile(std::move(file)), checks_files_(checks_files) {}
  stream::Result<Config> read(const std::string& text);

 private:
  // Each key and value of a mapping; keys that are no texts, or that come twice, are problems.
  template <class Visit>
  void each(const YAML::Node& map, const std::string& where, Visit visit);
  void unknown(const YAML::Node& key, const std::string& section, std::vector<std::string> siblings);
  void read_sections(const YAML::Node& root);
  void read_section(const Section& section, const YAML::Node& map);
  void read_option(const Section& section, const Option& option, const YAML::Node& key, const YAML::Node& node);
  // The value of the option into its place.
  template <class Of>
  void read_value(const OptionOf<Of>& option, const std::string& name, Of& of, const YAML::Node& key,
                  const YAML::Node& node);
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
  void set(Sources* place, const YAML::Node& node);
  // Items of a list that have options of their own.
  template <class One>
  void set_items(std::vector<One>* place, std::span<const OptionOf<One>> options, const char* example,
                 const YAML::Node& node, void (Reader::*check)(const One&, const YAML::Node&));
  void in_limits(std::uint64_t value, const YAML::Node& node, std::string (*shown)(std::uint64_t));
  void check_form(const std::string& text, const YAML::Node& node);
  void check_file(const Path& path, const YAML::Node& node);
  void check_secret(const Path& path, const YAML::Node& node);
  void check_properties(const YAML::Node& node, bool files);
  void check_location(const std::string& property, const Path& path, const YAML::Node& node);
  void check_pairs();
  void check_instance(const alertmanager::Instance& instance, const YAML::Node& node);
  void check_source(const ingest::Source& source, const YAML::Node& node);
  void check_mapping(const std::map<std::string, std::string>& texts, const YAML::Node& node,
                     std::string (*problem)(std::string_view));

  bool checks_files_;
  Config config_;
  std::map<std::string, YAML::Mark> given_;  // options that the file has

  // Of the option that is read.
  YAML::Mark key_;
  std::string option_;  // its whole name
  Form form_ = Form::plain;
  std::uint64_t least_ = 0, most_ = no_limit;
  bool needed_ = false;
  Texts choices_;
};

template <class Of>
void Reader::read_value(const OptionOf<Of>& option, const std::string& name, Of& of, const YAML::Node& key,
                        const YAML::Node& node) {
  key_ = key.Mark();
  option_ = name;
  form_ = option.form, least_ = option.least, most_ = option.most;
  needed_ = option.needed, choices_ = option.choices;
  const Place place = option.place(of);
  if (node.IsNull()) no_value(name, type_of(place, form_, choices_));
  else std::visit([&](auto at) { set(at, node); }, place);
}

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
    else
      wrong(pair.first,
            fmt::format("{} is given twice, first in line {}", joined(where, before->first), before->second));
  }
}

}  // namespace tocsin::adapters::config
