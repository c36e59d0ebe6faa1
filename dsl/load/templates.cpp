#include "dsl/load/templates.h"

#include <algorithm>

namespace tocsin::dsl {
namespace {

using Place = stream::TextTemplate::Place;

stream::Error wrong(std::string message) { return {stream::Errc::refused, std::move(message)}; }

// ".2f", ".0%", "d", "".
bool read_format(std::string_view spec, Place& place) {
  if (spec.empty()) return true;
  std::size_t i = 0;
  if (spec[i] == '.') {
    ++i;
    int precision = 0, digits = 0;
    while (i < spec.size() && spec[i] >= '0' && spec[i] <= '9' && digits < 2)
      precision = precision * 10 + (spec[i++] - '0'), ++digits;
    if (digits == 0) return false;
    place.precision = precision;
  }
  if (i + 1 != spec.size() || std::string_view{"fged%s"}.find(spec[i]) == std::string_view::npos) return false;
  place.conversion = spec[i];
  return true;
}

}  // namespace

std::vector<std::string> member_names(stream::Level per) {
  using enum stream::Level;
  switch (per) {
    case rank: return {"rank", "gpu", "node", "rack"};
    case gpu: return {"gpu", "node", "rack"};
    case node: return {"node", "rack"};
    case rack: return {"rack"};
    default: return {};
  }
}

stream::Result<stream::TextTemplate> parse_template(const std::string& text, stream::Level per,
                                                    const std::function<bool(const std::string&)>& is_output) {
  stream::TextTemplate result;
  result.source = text;
  result.literals.emplace_back();
  const auto members = member_names(per);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      result.literals.back() += c;
      ++i;
      continue;
    }
    if (c == '}') return wrong("a '}' without its '{': write '}}' for the brace itself");
    if (c != '{') {
      result.literals.back() += c;
      continue;
    }
    const auto end = text.find('}', i);
    if (end == std::string::npos)
      return wrong("'" + text.substr(i, 20) + "' is not closed: write {name}, or '{{' for the brace itself");
    const std::string inside = text.substr(i + 1, end - i - 1);
    const auto colon = inside.find(':');
    Place place;
    place.name = inside.substr(0, colon);
    if (place.name.empty()) return wrong("{" + inside + "} names nothing: write {name} or {name:.2f}");
    if (colon != std::string::npos && !read_format(std::string_view{inside}.substr(colon + 1), place))
      return wrong("{" + inside + "}: write {" + place.name + ":.2f}, {" + place.name + ":.0%}, {" + place.name +
                   ":d} or {" + place.name + "}");
    if (place.name.starts_with("p.")) {
      place.kind = Place::Kind::parameter;
      place.name.erase(0, 2);
    } else if (place.name == "who") {
      place.kind = Place::Kind::who;
    } else if (!is_output(place.name) && std::find(members.begin(), members.end(), place.name) != members.end()) {
      place.kind = Place::Kind::member;
    } else if (!is_output(place.name) && stream::level_named(place.name).value_or(stream::Level::job) > per &&
               place.name != "job") {
      place.kind = Place::Kind::culprit;
    }
    result.places.push_back(std::move(place));
    result.literals.emplace_back();
    i = end;
  }
  return result;
}

}  // namespace tocsin::dsl
