#include "adapters/notify/receiver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "adapters/net/url.h"
#include "stream/values/nearest.h"

namespace tocsin::adapters::notify {
namespace {

using stream::Errc;
using stream::Error;
using stream::Result;
using Texts = std::vector<std::string>;

constexpr std::array media{"mail",   "slack", "teams", "discord", "pagerduty", "webhook", "alertmanager-webhook",
                           "command"};
constexpr const char* usual_pagerduty = "https://events.pagerduty.com/v2/enqueue";
constexpr const char* forms =
    "write mailto:NAME@HOST, smtps://USER@HOST/?from=…&to=…&password_file=…, slack:?url_file=…, teams:?url_file=…, "
    "discord:?url_file=…, pagerduty:?key_file=…, webhook:https://…, alertmanager-webhook:https://… or command:PROGRAM";

Error wrong(const std::string& why) { return {Errc::malformed, why}; }

Texts split(std::string_view text, char at) {
  Texts parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

int hex(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

// %40 as @; a control character is none of an address.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
      c = static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    out += c;
  }
  return out;
}

bool is_address(std::string_view text) {
  const auto at = text.find('@');
  return at != text.npos && at > 0 && at + 1 < text.size() && text.find_first_of(" <>\",;:", 0) == text.npos;
}

// 250ms, 45s, 5m, 4h.
std::optional<std::chrono::milliseconds> duration_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  for (const auto& [name, factor] : {std::pair{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}})
    if (bad == std::errc{} && unit == name) return std::chrono::milliseconds{std::int64_t{number} * factor};
  return std::nullopt;
}

// Sets what the receiver has not set itself; false: no parameter of ours.
class Parameters {
 public:
  explicit Parameters(Receiver& receiver) : receiver_(&receiver) {}

  Result<bool> set(const std::string& name, const std::string& value) {
    Receiver& r = *receiver_;
    const Receiver usual;
    for (const auto& [key, place] : {std::pair{"password_file", &r.password_file},
                                     {"url_file", &r.url_file},
                                     {"key_file", &r.key_file},
                                     {"token_file", &r.token_file},
                                     {"ca_file", &r.ca_file}})
      if (name == key) return place->empty() ? (*place = value, true) : true;
    if (name == "from") return r.from.empty() ? (r.from = value, true) : true;
    if (name == "name") return r.name.empty() ? (r.name = value, true) : true;
    if (name == "to") return add(r.recipients, value);
    if (name == "artifacts") return add(r.artifacts, value);
    if (name == "rule") return add(r.rules, value);
    if (name == "family") return add(r.families, value);
    if (name == "severity") return r.severity == usual.severity ? choose(r.severity, name, value) : true;
    if (name == "verdicts") return r.verdicts == usual.verdicts ? choose(r.verdicts, name, value) : true;
    for (const auto& [key, place] : {std::pair{"group", &r.group}, {"repeat", &r.repeat}})
      if (name == key) {
        const auto duration = duration_of(value);
        if (!duration) return wrong(fmt::format("{} is a duration, 30s or 4h, and not '{}'", name, value));
        *place = *duration;
        return true;
      }
    if (name == "limit") {
      const auto [end, bad] = std::from_chars(value.data(), value.data() + value.size(), r.limit);
      if (bad != std::errc{} || end != value.data() + value.size() || r.limit == 0)
        return wrong(fmt::format("limit is a number of messages an hour, and not '{}'", value));
      return true;
    }
    for (const auto& [key, place] : {std::pair{"alerts", &r.alerts}, {"resolved", &r.resolved}})
      if (name == key) {
        if (value != "true" && value != "false")
          return wrong(fmt::format("{} is true or false, and not '{}'", name, value));
        *place = value == "true";
        return true;
      }
    return false;
  }

 private:
  static bool add(Texts& place, const std::string& value) {
    for (std::string& one : split(value, ',')) place.push_back(std::move(one));
    return true;
  }
  static Result<bool> choose(std::string& place, const std::string& name, const std::string& value) {
    const Texts choices = name == "severity" ? Texts{"info", "warning", "critical"} : Texts{"none", "failed", "all"};
    if (std::find(choices.begin(), choices.end(), value) == choices.end())
      return wrong(fmt::format("{} is {}, and not '{}'", name, fmt::join(choices, ", "), value));
    place = value;
    return true;
  }
  Receiver* receiver_;
};

// The parameters behind "?"; those that are not ours are returned: an HTTP server may want them.
Result<std::string> take_parameters(Receiver& receiver, std::string_view query, bool keeps_others) {
  std::string others;
  Parameters parameters{receiver};
  for (const std::string& one : split(query, '&')) {
    const auto equals = std::min(one.find('='), one.size());
    const std::string key = one.substr(0, equals);
    const auto value = decoded(std::string_view{one}.substr(std::min(equals + 1, one.size())));
    if (!value) return wrong("a control character in its parameter " + key);
    const auto ours = parameters.set(key, *value);
    if (!ours) return ours.error();
    if (*ours) continue;
    if (!keeps_others)
      return wrong(
          fmt::format("there is no parameter '{}'{}", key,
                      stream::nearest(key, Texts{"to", "from", "name", "password_file", "url_file", "key_file",
                                                 "token_file", "ca_file", "artifacts", "severity", "rule", "family",
                                                 "verdicts", "alerts", "resolved", "group", "repeat", "limit"})));
    others += (others.empty() ? "?" : "&") + one;
  }
  return others;
}

// smtp[s]://[USER@]HOST[:PORT][/][?…]
Result<void> read_smtp(Receiver& receiver, std::string_view text) {
  const bool tls = text.starts_with("smtps://");
  std::string_view rest = text.substr(tls ? 8 : 7);
  const auto question = std::min(rest.find('?'), rest.size());
  if (auto taken = take_parameters(receiver, rest.substr(std::min(question + 1, rest.size())), false); !taken)
    return taken.error();
  rest = rest.substr(0, question);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (const auto at = rest.rfind('@'); at != rest.npos) {
    const auto user = decoded(rest.substr(0, at));
    if (!user || user->find(':') != user->npos)
      return wrong("the user of a mail server stands in front of @ without a password: name a password_file");
    receiver.user = *user;
    rest.remove_prefix(at + 1);
  }
  const std::string authority{rest};
  const auto host = net::parse_url((tls ? "https://" : "http://") + authority);
  if (!host || !host->prefix.empty())
    return wrong(fmt::format("'{}' names no mail server: write smtp://HOST:587 or smtps://HOST:465", authority));
  const bool port_given = authority.rfind(':') != authority.npos && authority.back() != ']';
  const std::string bracketed = host->host.find(':') != host->host.npos ? "[" + host->host + "]" : host->host;
  receiver.url = fmt::format("{}://{}:{}", tls ? "smtps" : "smtp", bracketed,
                             port_given ? host->port
                             : tls      ? 465
                                        : 587);
  return {};
}

Result<void> read_mail(Receiver& receiver, const std::string& relay) {
  std::string_view to = receiver.to;
  if (to.starts_with("mailto:")) {
    to.remove_prefix(7);
    const auto question = std::min(to.find('?'), to.size());
    const auto names = decoded(to.substr(0, question));
    if (!names) return wrong("a control character in an address");
    receiver.recipients = split(*names, ',');
    if (auto taken = take_parameters(receiver, to.substr(std::min(question + 1, to.size())), false); !taken)
      return taken.error();
    if (!relay.starts_with("smtp://") && !relay.starts_with("smtps://"))
      return wrong("'" + relay.substr(0, relay.find('?')) +
                   "' is not a mail server: write smtp://HOST:PORT or smtps://HOST:PORT");
    if (auto read = read_smtp(receiver, relay); !read) return read;
  } else if (auto read = read_smtp(receiver, to); !read) {
    return read;
  }
  if (receiver.recipients.empty()) return wrong("nobody to write to: add ?to=NAME@HOST");
  for (const std::string& one : receiver.recipients)
    if (!is_address(one)) return wrong("'" + one + "' is not a mail address: write NAME@HOST");
  if (!receiver.from.empty() && !is_address(receiver.from))
    return wrong("from is '" + receiver.from + "', which is not a mail address: write NAME@HOST");
  if (receiver.user.empty() != receiver.password_file.empty())
    return wrong(receiver.user.empty() ? "password_file without a user: write smtp://USER@HOST:PORT"
                                       : "a user without a password: add password_file=FILE");
  return {};
}

Result<void> read_http(Receiver& receiver, std::string_view text) {
  const auto question = std::min(text.find('?'), text.size());
  const auto others = take_parameters(receiver, text.substr(std::min(question + 1, text.size())), true);
  if (!others) return others.error();
  receiver.url = text.substr(0, question);
  if (receiver.url.empty() && receiver.medium == Medium::pagerduty) receiver.url = usual_pagerduty;
  if (receiver.medium == Medium::pagerduty && receiver.key_file.empty())
    return wrong("PagerDuty needs a routing key: add key_file=FILE");
  if (receiver.url.empty()) {
    if (!others->empty())
      return wrong("parameters without an address: write " + std::string{name(receiver.medium)} + ":https://…");
    if (receiver.url_file.empty())
      return wrong("it has no address: add url_file=FILE, whose first line is the webhook's URL");
    return {};
  }
  if (!receiver.url_file.empty()) return wrong("it has an address and a url_file: keep one");
  if (const auto url = net::parse_url(receiver.url); !url) return url.error();
  receiver.url += *others;
  return {};
}

std::string name_of(const Receiver& receiver) {
  if (receiver.medium == Medium::mail) return "mailto:" + receiver.recipients.front();
  if (receiver.medium == Medium::command) {
    const std::string& program = receiver.command.front();
    return "command:" + program.substr(program.rfind('/') + 1);
  }
  if (receiver.medium == Medium::webhook || receiver.medium == Medium::alertmanager)
    if (const auto url = net::parse_url(receiver.url.substr(0, receiver.url.find('?'))))
      return fmt::format("{}:{}", name(receiver.medium), url->authority());
  return std::string{name(receiver.medium)};
}

Result<void> read_address(Receiver& receiver, const std::string& relay) {
  if (!receiver.command.empty()) {
    if (!receiver.to.empty()) return wrong("it has an address and a command: keep one");
    receiver.medium = Medium::command;
    return {};
  }
  const std::string_view to = receiver.to;
  if (to.starts_with("mailto:") || to.starts_with("smtp://") || to.starts_with("smtps://")) {
    receiver.medium = Medium::mail;
    return read_mail(receiver, relay);
  }
  if (to.starts_with("http://") || to.starts_with("https://")) return read_http(receiver, to);
  const std::string_view scheme = to.substr(0, to.find(':'));
  const auto medium = std::find(media.begin() + 1, media.end(), scheme);
  if (medium == media.end())
    return wrong(fmt::format("'{}' is not an address of a receiver: {}", to.substr(0, to.find_first_of("?@")), forms));
  receiver.medium = static_cast<Medium>(medium - media.begin());
  const std::string_view rest = to.substr(std::min(scheme.size() + 1, to.size()));
  if (receiver.medium != Medium::command) return read_http(receiver, rest);
  const auto question = std::min(rest.find('?'), rest.size());
  receiver.command = split(rest.substr(0, question), ' ');
  if (receiver.command.empty()) return wrong("it has no program: write command:PROGRAM");
  const auto taken = take_parameters(receiver, rest.substr(std::min(question + 1, rest.size())), false);
  return taken ? Result<void>{} : taken.error();
}

}  // namespace

std::string_view name(Medium medium) noexcept { return media[static_cast<std::size_t>(medium)]; }

Result<stream::Severity> severity_named(std::string_view text) {
  for (const auto severity : {stream::Severity::info, stream::Severity::warning, stream::Severity::critical})
    if (text == stream::name(severity)) return severity;
  return wrong(fmt::format("severity is info, warning or critical, and not '{}'", text));
}

Result<Receiver> complete(Receiver receiver, const std::string& relay) {
  if (auto read = read_address(receiver, relay); !read) return read.error();
  if (receiver.from.empty() && receiver.medium == Medium::mail && is_address(receiver.user))
    receiver.from = receiver.user;
  if (receiver.name.empty()) receiver.name = name_of(receiver);
  if (receiver.limit == 0 && receiver.medium != Medium::pagerduty) receiver.limit = usual_limit;
  return receiver;
}

void number_names(std::vector<Receiver>& receivers) {
  std::set<std::string> taken;
  for (Receiver& one : receivers) {
    const std::string base = one.name;
    for (int number = 2; !taken.insert(one.name).second; ++number) one.name = fmt::format("{}-{}", base, number);
  }
}

}  // namespace tocsin::adapters::notify
