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

// "name:format" between braces.
stream::Result<Place> read_place(const std::string& inside, stream::Level per,
                                 const std::function<bool(const std::string&)>& is_output) {
  const auto colon = inside.find(':');
  Place place;
  place.name = inside.substr(0, colon);
  if (place.name.empty()) return wrong("{" + inside + "} names nothing: write {name} or {name:.2f}");
  if (colon != std::string::npos && !read_format(std::string_view{inside}.substr(colon + 1), place))
    return wrong("{" + inside + "}: write {" + place.name + ":.2f}, {" + place.name + ":.0%}, {" + place.name +
                 ":d} or {" + place.name + "}");
  const auto members = member_names(per);
  if (place.name.starts_with("p.")) {
    place.kind = Place::Kind::parameter;
    place.name.erase(0, 2);
  } else if (place.name.starts_with("job.")) {
    place.kind = Place::Kind::label;
    place.name.erase(0, 4);
  } else if (place.name == "who") {
    place.kind = Place::Kind::who;
  } else if (!is_output(place.name) && std::find(members.begin(), members.end(), place.name) != members.end()) {
    place.kind = Place::Kind::member;
  } else if (!is_output(place.name) && stream::level_named(place.name).value_or(stream::Level::job) > per &&
             place.name != "job") {
    place.kind = Place::Kind::culprit;
  }
  return place;
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
  using Part = stream::TextTemplate::Part;
  stream::TextTemplate result;
  std::vector<Part>& parts = result.parts;
  parts.push_back({.clause = true});
  std::size_t opened = 0;  // where the bracket began
  int parentheses = 0;     // a clause does not end within them
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& literal = parts.back().literals.back();
    const bool optional = parts.back().optional;
    if (std::string_view{"{}[]"}.find(c) == std::string_view::npos) {
      if (!optional) parentheses += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (!optional && parentheses == 0 && (c == ';' || c == ',') && i + 1 < text.size() && text[i + 1] == ' ')
        parts.push_back({.clause = true, .literals = {std::string{c}}});
      else literal += c;
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      literal += c;
      ++i;
    } else if (c == '{') {
      const auto end = text.find('}', i);
      if (end == std::string::npos)
        return wrong("'" + text.substr(i, 20) + "' is not closed: write {name}, or '{{' for the brace itself");
      auto place = read_place(text.substr(i + 1, end - i - 1), per, is_output);
      if (!place) return place.error();
      parts.back().places.push_back(std::move(*place));
      parts.back().literals.emplace_back();
      i = end;
    } else if (c == '}') {
      return wrong("a '}' without its '{': write '}}' for the brace itself");
    } else if (c == '[') {
      if (optional) return wrong("a '[' within brackets, in '" + text.substr(opened, 20) + "': brackets do not nest");
      opened = i;
      parts.push_back({.optional = true});
    } else {
      if (!optional) return wrong("a ']' without its '[': write ']]' for the bracket itself");
      if (parts.back().places.empty())
        return wrong("'" + text.substr(opened, i + 1 - opened) +
                     "' has no value that could be unknown: write '[[' and ']]' for the brackets themselves");
      parts.emplace_back();
    }
  }
  if (parts.back().optional)
    return wrong("'" + text.substr(opened, 20) + "' is not closed: write [ of {name}], or '[[' for the bracket itself");
  return result;
}

stream::Texts parse_texts(const std::vector<std::string>& written, stream::Level per,
                          const std::function<bool(const std::string&)>& is_output,
                          const std::function<void(const std::string&)>& problem) {
  stream::Texts texts;
  for (const std::string& text : written) {
    if (auto parsed = parse_template(text, per, is_output)) texts.push_back(std::move(*parsed));
    else problem(parsed.error().message);
  }
  return texts;
}

}  // namespace tocsin::dsl
