#include "stream/rules/meaning.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <vector>

#include "stream/values/digest.h"

namespace tocsin::stream {
namespace {

class Meaning {
 public:
  explicit Meaning(const Pack& pack) : pack_(&pack) {}

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void add(T value) { digest_.add(&value, sizeof value); }
  void add(Duration duration) { add(duration.count()); }
  void add(const std::string& text) {
    add(text.size());
    digest_.add(std::string_view{text});
  }
  void add(const Scalar& value) {
    add(value.index());
    if (const auto* number = std::get_if<double>(&value)) add(*number);
    else add(std::get<std::string>(value));
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values) add(value);
  }
  void add(const EventFilter& filter) { add(filter.field), add(filter.values), add(filter.keep); }
  void add(const SignalDefinition& signal) {
    add(signal.name), add(signal.kind), add(signal.unit), add(signal.owner), add(signal.row), add(signal.points);
  }
  void add(const WindowSpec& window) {
    add(pack_->signals[window.signal]);
    add(window.span), add(window.over), add(window.lag), add(window.points), add(window.lag_points), add(window.least),
        add(window.full), add(window.filters);
  }
  void add(const Attributes& attributes) {
    add(attributes.number), add(attributes.values), add(attributes.field), add(attributes.findings);
    if (attributes.group) add(*attributes.group);
    if (attributes.peers)
      for (const std::string& coordinate : pack_->graph->coordinates(*attributes.peers)) add(coordinate);
    if (attributes.rule) add(pack_->rules[static_cast<std::size_t>(*attributes.rule)].name);
    if (attributes.window) add(*attributes.window);
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return digest_.value(); }

 private:
  const Pack* pack_;
  Digest digest_;
};

}  // namespace

std::uint64_t meaning(const Pack& pack, NodeId root) {
  std::map<NodeId, std::uint64_t> known;
  const NodeId roots[] = {root};
  for (const NodeId id : pack.graph->reach(roots)) {  // arguments come first
    const Node& node = (*pack.graph)[id];
    Meaning of{pack};
    of.add(node.op), of.add(node.type.shape), of.add(node.type.level), of.add(node.type.unit), of.add(node.attributes);
    for (const NodeId argument : node.arguments) of.add(known.at(argument));
    known[id] = of.value();
  }
  return known.at(root);
}

bool unchanged(const Pack& before, const Rule& old, const Pack& now, const Rule& rule) {
  return old.source_hash == rule.source_hash && old.params == rule.params &&
         std::equal(old.needs.begin(), old.needs.end(), rule.needs.begin(), rule.needs.end(),
                    [&](const auto& a, const auto& b) {
                      return a.first == b.first && meaning(before, a.second) == meaning(now, b.second);
                    });
}

}  // namespace tocsin::stream
