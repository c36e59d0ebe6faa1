#include <fmt/format.h>

#include <algorithm>

#include "adapters/config/options.h"
#include "adapters/net/url.h"

namespace tocsin::adapters::config {
namespace {

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool host_and_port(const std::string& text) {
  const auto url = net::parse_url("http://" + text);
  const auto colon = text.rfind(':'), bracket = text.rfind(']');
  return url && url->prefix.empty() && colon != text.npos && (bracket == text.npos || colon > bracket);
}

}  // namespace

std::string problem_of(Form form, const std::string& name, const std::string& text) {
  if (text.empty())
    return form == Form::name ? fmt::format("{} is empty: write a name of letters, digits, '.', '_' and '-'", name)
                              : std::string{};
  switch (form) {
    case Form::url: {
      const auto url = net::parse_url(text);
      return url ? std::string{} : fmt::format("{}: {}", name, url.error().message);
    }
    case Form::url_template:
      if (text.starts_with("http://") || text.starts_with("https://")) return {};
      return fmt::format("{} is a URL: write https://HOST/PATH, and not '{}'", name, text);
    case Form::listen: {
      const auto listen = net::parse_listen(text);
      return listen ? std::string{} : fmt::format("{}: {}", name, listen.error().message);
    }
    case Form::host_port:
      if (text.find('@') != text.npos)
        return fmt::format("{} has a user or password in it: write HOST:PORT, and the user in kafka.properties", name);
      if (host_and_port(text)) return {};
      return fmt::format("{} has '{}', which is no HOST:PORT: write broker1.example:9092", name, text);
    case Form::name:
    case Form::name_or_none:
      if (text.size() <= 200 && std::all_of(text.begin(), text.end(), name_character)) return {};
      return fmt::format("{} is a name of letters, digits, '.', '_' and '-', and not '{}'", name, text);
    case Form::plain: break;
  }
  return {};
}

}  // namespace tocsin::adapters::config
