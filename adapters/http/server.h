#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stream/values/result.h"

namespace tocsin::adapters::http {

struct Request {
  std::string method, path;  // GET, /api/v1/jobs
  std::map<std::string, std::string> query;
  std::string body;
  std::string type{}, encoding{};  // Content-Type and Content-Encoding, as they came
  std::string sender{};            // the name of the sender whose token it has; empty: it has the server's credentials
};
struct Response {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string cache = "no-store";                              // Cache-Control
  std::vector<std::pair<std::string, std::string>> headers{};  // more than every answer has
};

// On the server's thread: a handler is quick and takes no lock for long.
using Handler = std::function<Response(const Request&)>;
// For what takes long: the answer may come later and from any thread; the first one counts.
using Answer = std::function<void(Response)>;
using SlowHandler = std::function<void(Request, Answer)>;

struct ServerTls {
  std::filesystem::path certificate_file, key_file;  // PEM; both or none
  std::filesystem::path client_ca_file;              // given: clients need a certificate of it
};
// A client that may send records, and nothing else.
struct Sender {
  std::string name;
  std::filesystem::path token_file;
  std::vector<std::string> jobs, users;  // patterns as stream::allows() has them; empty: any
  std::uint64_t requests_per_second = 1000, bytes_per_second = 16u << 20;  // bytes of records, not compressed
};
// None: whoever reaches the port may ask. Several: any one of them.
struct ServerAuth {
  std::string user;
  std::filesystem::path password_file;
  std::filesystem::path token_file;
  std::vector<Sender> senders;
};
struct ServerOptions {
  std::string listen = "127.0.0.1:9464";  // port 0: any that is free
  // Names of this server besides localhost and its host's; requests to addresses need none. A page of another site
  // whose name was bound to our address is known by its Host. Where clients prove who they are, no name is asked for.
  std::vector<std::string> names{};
  ServerTls tls;
  ServerAuth auth;
  std::function<void(const std::string& line)> log{};  // by the server's thread
  std::size_t header_bytes = 8u << 10, body_bytes = 1u << 20, connections = 256;
  std::chrono::milliseconds read_time{10'000}, write_time{10'000}, idle_time{60'000};
  std::uint64_t requests_per_second = 1000;  // of all clients; beyond: 429
};
struct ServerStatus {
  std::uint64_t requests = 0, unauthorized = 0, refused = 0;  // refused: malformed, too large, too many
  std::uint64_t timed_out = 0, evicted = 0;  // connections; evicted: the oldest that waited, for a new one
  std::size_t connections = 0;
  std::map<std::pair<std::string, unsigned>, std::uint64_t> by_route;  // path of the route, status
};

// open: without credentials, for probes. records: with credentials, as often as the log takes them: who takes them says
// when too many wait.
enum class Access { authorized, open, records };

// Serves HTTP/1.1 by one thread of its own. Routes are added before start(); all else may be called by any thread.
class Server {
 public:
  // Binds the address; the error says why it cannot be had and what to do.
  [[nodiscard]] static stream::Result<std::unique_ptr<Server>> bind(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void route(std::string method, std::string path, Handler handler, Access access = Access::authorized);
  void route_slow(std::string method, std::string path, SlowHandler handler, Access access = Access::authorized);
  void start();
  void stop();  // twice is harmless

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] ServerStatus status() const;

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::http
