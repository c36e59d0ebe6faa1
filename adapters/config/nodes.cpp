#include "adapters/config/nodes.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <set>

#include "adapters/config/reader.h"
#include "stream/values/nearest.h"

namespace tocsin::adapters::config {
namespace {

class NodesReader : YamlFile {
 public:
  using YamlFile::YamlFile;

  stream::Result<ingest::NodeMap> read(const std::string& text) {
    ingest::NodeMap nodes;
    YamlFile::read(text, [&](const YAML::Node& root) {
      if (!root.IsMap() && !root.IsNull())
        return wrong(root, "this is a map of nodes: write NODE: {rack: NAME, gpus: […]}, a line each");
      for (const auto& pair : root) {
        if (!pair.first.IsScalar()) wrong(pair.first, "the name of a node is a text");
        else if (!nodes.emplace(pair.first.Scalar(), read_node(pair.second)).second)
          wrong(pair.first, fmt::format("the node {} is given twice", pair.first.Scalar()));
      }
    });
    if (!problems_.empty()) return problems();
    return nodes;
  }

 private:
  // A place for the value of a key, by its name.
  using Places = std::vector<std::pair<std::string, std::string*>>;
  void read_texts(const YAML::Node& map, const Places& places, const std::string& more) {
    std::set<std::string> given;
    for (const auto& pair : map) {
      const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "";
      if (!given.insert(key).second) wrong(pair.first, key + " is given twice");
      std::vector<std::string> names;
      bool known = key == more && !more.empty();
      for (const auto& [name, place] : places) {
        names.push_back(name);
        if (name != key) continue;
        known = true;
        if (pair.second.IsScalar()) *place = pair.second.Scalar();
        else wrong(pair.second, key + " is a text");
      }
      if (!more.empty()) names.push_back(more);
      if (!known) wrong(pair.first, fmt::format("there is no '{}' here{}", key, stream::nearest(key, names)));
    }
  }

  ingest::MappedNode read_node(const YAML::Node& node) {
    ingest::MappedNode made;
    if (!node.IsMap()) {
      wrong(node, "a node is written {rack: NAME, gpus: […]}");
      return made;
    }
    read_texts(node, {{"rack", &made.rack}}, "gpus");
    const YAML::Node gpus = node["gpus"];
    if (!gpus.IsDefined()) return made;
    if (!gpus.IsSequence())
      wrong(gpus, "gpus is a list: write - {index: 0, pci: \"00000000:1B:00.0\", uuid: GPU-…}, a line each");
    for (const auto& gpu : gpus) {
      auto& one = made.gpus.emplace_back();
      if (gpu.IsMap()) read_texts(gpu, {{"index", &one.index}, {"pci", &one.pci}, {"uuid", &one.uuid}}, "");
      else wrong(gpu, "a GPU is written {index: 0, pci: \"00000000:1B:00.0\", uuid: GPU-…}");
    }
    return made;
  }
};

}  // namespace

stream::Result<ingest::NodeMap> parse_nodes(const std::string& text, const std::string& file_name) {
  return NodesReader{file_name}.read(text);
}

stream::Result<ingest::NodeMap> read_nodes(const std::filesystem::path& file) {
  const auto text = read_text(file);
  if (!text) return text.error();
  return parse_nodes(*text, file.string());
}

}  // namespace tocsin::adapters::config
