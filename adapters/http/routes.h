#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "adapters/http/rate_limit.h"
#include "adapters/http/server.h"

namespace tocsin::adapters::http {

struct Target {
  std::string path;
  std::map<std::string, std::string> query;  // of a name that comes twice, the last
};
// "/api/v1/jobs?limit=10", percent-decoded; nullopt: malformed.
[[nodiscard]] std::optional<Target> parse_target(std::string_view text);

struct Route {
  std::variant<Handler, SlowHandler> handler;
  Access access = Access::authorized;
};

// The handlers by path and method. HEAD goes to the handler of GET.
class Routes {
 public:
  void add(std::string method, std::string path, Route route) {
    routes_[std::move(path)][std::move(method)] = std::move(route);
  }
  // Why there is none: 404, or 405 with the methods that there are.
  struct Missing {
    unsigned status = 404;
    std::string allow;
  };
  [[nodiscard]] std::variant<const Route*, Missing> find(const std::string& method, const std::string& path) const;

 private:
  std::map<std::string, std::map<std::string, Route>> routes_;
};

// Who may ask. The secrets are read again as their files change: the server's own for each request, those of senders
// once a second. While one of the server's own cannot be read, the last one holds; a sender whose token cannot be read,
// or is that of another, is not admitted.
class Gate {
 public:
  using Log = std::function<void(const std::string& line)>;
  [[nodiscard]] static stream::Result<Gate> open(ServerAuth auth, Log log = {});
  [[nodiscard]] bool guarded() const noexcept {
    return !auth_.user.empty() || !auth_.token_file.empty() || !senders_.empty();
  }
  struct KnownSender {
    std::string name;
    std::filesystem::path token_file;
    RateLimit requests;
    std::string token{}, problem{};  // why it is not admitted; empty: it is
  };
  struct Caller {
    bool admitted = false;
    KnownSender* sender = nullptr;  // null: he has the server's own credentials, or none are asked for
  };
  [[nodiscard]] Caller who(std::string_view authorization, std::chrono::steady_clock::time_point now);
  [[nodiscard]] std::string challenge() const;  // of WWW-Authenticate

 private:
  stream::Result<void> read();
  void read_senders();
  [[nodiscard]] std::string problem_of(const KnownSender& sender) const;
  ServerAuth auth_;
  Log log_;
  std::vector<KnownSender> senders_;
  std::string password_, bearer_;
  std::chrono::steady_clock::time_point senders_read_{};  // when they are to be, next
};

// Which names in a Host header are ours. A page whose name was bound anew to our address (DNS rebinding) has its own.
class Names {
 public:
  explicit Names(std::vector<std::string> names);
  // NAME, NAME:PORT, or an address, which nobody can bind anew; empty: no browser asks.
  [[nodiscard]] bool ours(std::string_view host) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace tocsin::adapters::http
