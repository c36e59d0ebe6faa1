#include "adapters/http/routes.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/address_v4.hpp>
#include <charconv>
#include <utility>

#include "adapters/net/credentials.h"

namespace tocsin::adapters::http {
namespace {

using stream::Errc;
using stream::Error;

std::optional<std::string> decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] == '%') {
      unsigned char byte = 0;  // none is NUL
      const std::string_view digits = text.substr(i + 1, 2);
      const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16).ptr;
      if (digits.size() < 2 || end != digits.data() + 2 || byte == 0) return std::nullopt;
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::optional<Target> parse_target(std::string_view text) {
  if (!text.starts_with('/')) return std::nullopt;
  const auto mark = text.find('?');
  auto path = decoded(text.substr(0, mark), false);
  if (!path) return std::nullopt;
  Target target{std::move(*path), {}};
  if (mark == text.npos) return target;
  text.remove_prefix(mark + 1);
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const auto part = text.substr(0, end);
    const auto equals = std::min(part.find('='), part.size());
    auto name = decoded(part.substr(0, equals), true);
    auto value = decoded(part.substr(std::min(equals + 1, part.size())), true);
    if (!name || !value) return std::nullopt;
    if (!name->empty()) target.query[*name] = std::move(*value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return target;
}

std::variant<const Route*, Routes::Missing> Routes::find(const std::string& method, const std::string& path) const {
  const auto here = routes_.find(path);
  if (here == routes_.end()) return Missing{};
  const auto route = here->second.find(method == "HEAD" ? "GET" : method);
  if (route != here->second.end()) return &route->second;
  Missing missing{405, {}};
  for (const auto& [name, unused] : here->second) missing.allow += (missing.allow.empty() ? "" : ", ") + name;
  return missing;
}

stream::Result<Gate> Gate::open(ServerAuth auth, Log log) {
  if (auth.user.empty() != auth.password_file.empty())
    return Error{Errc::malformed,
                 "the HTTP server has a user without a password file, or the other way round; set both or none"};
  if (auth.user.find(':') != auth.user.npos)
    return Error{Errc::malformed, "the user of the HTTP server has a colon in it; choose another"};
  Gate gate;
  for (const Sender& sender : auth.senders)
    gate.senders_.push_back({sender.name, sender.token_file, RateLimit{sender.requests_per_second}});
  gate.auth_ = std::move(auth);
  if (auto read = gate.read(); !read) return read.error();
  gate.read_senders();
  for (const KnownSender& sender : gate.senders_)
    if (!sender.problem.empty()) return Error{Errc::malformed, sender.problem};
  gate.log_ = std::move(log);
  return gate;
}

stream::Result<void> Gate::read() {
  stream::Result<void> all;
  const auto read_into = [&all](const std::filesystem::path& file, std::string& secret) {
    if (file.empty()) return;
    auto read = net::read_secret(file);
    if (read) secret = std::move(*read);
    else all = read.error();
  };
  read_into(auth_.password_file, password_);
  read_into(auth_.token_file, bearer_);
  return all;
}

void Gate::read_senders() {
  std::vector<std::string> before;
  for (KnownSender& sender : senders_) {
    before.push_back(std::exchange(sender.problem, {}));
    auto token = net::read_secret(sender.token_file);
    sender.token = token ? std::move(*token) : std::string{};
    if (!token) sender.problem = "the sender " + sender.name + " is not admitted: " + token.error().message;
  }
  for (std::size_t i = 0; i < senders_.size(); ++i) {
    KnownSender& sender = senders_[i];
    if (sender.problem.empty()) sender.problem = problem_of(sender);
    if (!sender.problem.empty() && sender.problem != before[i] && log_) log_(sender.problem);
  }
}

std::string Gate::problem_of(const KnownSender& sender) const {
  const auto same = [&](std::string_view whose) {
    return "the sender " + sender.name + " is not admitted: it has the token of " + std::string{whose} +
           "; give each its own";
  };
  if (sender.token == bearer_) return same("the server itself");
  for (const KnownSender& other : senders_)
    if (&other != &sender && other.token == sender.token) return same("the sender " + other.name);
  return {};
}

Gate::Caller Gate::who(std::string_view authorization, std::chrono::steady_clock::time_point now) {
  if (!guarded()) return {true};
  const auto space = authorization.find(' ');
  if (space == authorization.npos) return {};
  (void)read();  // an error: the last ones hold
  if (now >= senders_read_) {
    senders_read_ = now + std::chrono::seconds{1};
    read_senders();
  }
  const auto scheme = authorization.substr(0, space);
  const auto secret = authorization.substr(std::min(authorization.find_first_not_of(' ', space), authorization.size()));
  if (same_word(scheme, "basic") && !auth_.user.empty())
    return {net::same_secret(secret, net::base64(auth_.user + ":" + password_))};
  if (!same_word(scheme, "bearer")) return {};
  if (!bearer_.empty() && net::same_secret(secret, bearer_)) return {true};
  for (KnownSender& sender : senders_)
    if (sender.problem.empty() && net::same_secret(secret, sender.token)) return {true, &sender};
  return {};
}

std::string Gate::challenge() const {
  return auth_.user.empty() ? "Bearer" : R"(Basic realm="tocsin", charset="UTF-8")";
}

Names::Names(std::vector<std::string> names) : names_(std::move(names)) {
  char own[256] = {};
  names_.emplace_back("localhost");
  if (::gethostname(own, sizeof own - 1) == 0) names_.emplace_back(own);
}

bool Names::ours(std::string_view host) const {
  if (host.empty() || host.starts_with('[')) return true;  // [::1]:9464
  host = host.substr(0, host.find(':'));
  boost::system::error_code no_address;
  boost::asio::ip::make_address_v4(std::string{host}, no_address);
  return !no_address ||
         std::any_of(names_.begin(), names_.end(), [host](const std::string& name) { return same_word(host, name); });
}

}  // namespace tocsin::adapters::http
