#include "adapters/forward/http_destination.h"

#include <zstd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstring>
#include <deque>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "adapters/net/client.h"
#include "adapters/net/url.h"

namespace tocsin::adapters::forward {

using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t most_batch = 1u << 20;  // bytes before compression, unless one message has more
constexpr std::chrono::milliseconds request_timeout{8'000}, first_back_off{250}, longest_back_off{15'000};
constexpr std::string_view default_port = ":9464";
constexpr int compression = 3;

struct Batch {
  std::string frames;
  std::size_t messages = 0;
};

std::string compressed(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), compression);
  if (ZSTD_isError(size) != 0) throw std::bad_alloc{};  // it fails for want of memory alone
  out.resize(size);
  return out;
}

}  // namespace

bool is_http_address(std::string_view text) { return text.starts_with("http://") || text.starts_with("https://"); }

Result<HttpAddress> parse_http_address(std::string_view text, const net::ClientTls& tls, const net::ClientAuth& auth) {
  const std::string scheme{text.substr(0, text.find("://") + 3)};
  std::string_view hosts = text.substr(scheme.size());
  const std::size_t slash = std::min(hosts.find('/'), hosts.size());
  const std::string prefix{hosts.substr(slash)};
  hosts = hosts.substr(0, slash);
  HttpAddress address;
  for (;;) {
    const std::size_t comma = std::min(hosts.find(','), hosts.size());
    std::string host{hosts.substr(0, comma)};
    const std::size_t bracket = host.rfind(']');
    if (host.find(':', bracket == std::string::npos ? 0 : bracket) == std::string::npos) host += default_port;
    const std::string url = scheme + host + prefix;
    if (const auto parsed = net::parse_url(url); !parsed) return parsed.error();
    address.servers.push_back({url, tls, auth});
    if (comma == hosts.size()) return address;
    hosts.remove_prefix(comma + 1);
  }
}

struct HttpDestination::State {
  State(HttpAddress where, Log to) : address(std::move(where)), log(std::move(to)) {}

  HttpAddress address;
  Log log;
  boost::asio::io_context context;
  std::unique_ptr<net::Client> client;  // of the server in use; null: none yet
  std::size_t server = 0;
  std::deque<Batch> batches;
  std::size_t waiting = 0;  // messages
  std::string problem;
  std::chrono::milliseconds back_off{0};
  Clock::time_point next_try{};
  std::size_t failed_in_a_row = 0;

  void add(std::span<const std::byte> message) {
    if (batches.empty() || batches.back().frames.size() + message.size() > most_batch) batches.emplace_back();
    const auto size = static_cast<std::uint32_t>(message.size());
    for (int shift = 0; shift < 32; shift += 8) batches.back().frames += static_cast<char>(size >> shift & 0xff);
    batches.back().frames.append(reinterpret_cast<const char*>(message.data()), message.size());
    ++batches.back().messages;
    ++waiting;
  }
  boost::asio::awaitable<net::Outcome> post(const std::string& body) {
    for (;;) {
      auto not_open = co_await client->open();
      if (not_open) co_return std::move(*not_open);
      net::Outcome outcome = co_await client->send(
          {"POST", "/api/v1/push", "application/vnd.tocsin.telemetry", "zstd", body}, Clock::now() + 1h);
      if (!outcome.code.empty()) co_return outcome;
    }
  }
  net::Outcome send(const std::string& body) {
    if (!client) {
      const net::Endpoint& endpoint = address.servers[server];
      client = std::make_unique<net::Client>(context, endpoint, *net::parse_url(endpoint.url), request_timeout);
    }
    net::Outcome outcome;
    boost::asio::co_spawn(context, post(body), [&](const std::exception_ptr& thrown, net::Outcome ended) {
      outcome = thrown ? net::Outcome{"unreachable", "out of memory", {}, {}} : std::move(ended);
    });
    context.restart();
    context.run();
    return outcome;
  }
  // The service will never take it as it is: in halves, down to the message that is to blame, which is left out.
  void refused(const net::Outcome& outcome) {
    Batch all = std::move(batches.front());
    batches.pop_front();
    if (all.messages == 1) {
      --waiting;
      if (log) log("a record is left out: " + address.servers[server].url + ": " + outcome.message);
      return;
    }
    const std::size_t half = all.messages / 2;
    std::size_t at = 0;
    for (std::size_t message = 0; message < half; ++message) {
      std::uint32_t size = 0;
      std::memcpy(&size, all.frames.data() + at, sizeof size);
      at += sizeof size + size;
    }
    batches.push_front({all.frames.substr(at), all.messages - half});
    batches.push_front({all.frames.substr(0, at), half});
  }
  void failed(const net::Outcome& outcome) {
    problem = "not sent to " + address.servers[server].url + ": " + outcome.message;
    client.reset();
    server = (server + 1) % address.servers.size();
    // The next server is asked at once.
    if (++failed_in_a_row % address.servers.size() != 0) return;
    back_off = std::clamp(back_off * 2, first_back_off, longest_back_off);
    next_try = Clock::now() + std::max<std::chrono::milliseconds>(back_off, outcome.retry_after);
  }
};

HttpDestination::HttpDestination(HttpAddress address, Log log)
    : state_(std::make_unique<State>(std::move(address), std::move(log))) {}
HttpDestination::~HttpDestination() = default;

std::string HttpDestination::name() const {
  std::string all;
  for (const net::Endpoint& server : state_->address.servers) all += (all.empty() ? "" : ",") + server.url;
  return all;
}

std::size_t HttpDestination::waiting() const { return state_->waiting; }
std::string HttpDestination::problem() const { return state_->problem; }

Result<void> HttpDestination::append(const stream::Entry&, std::span<const std::byte> message) {
  state_->add(message);
  return {};
}
Result<void> HttpDestination::control(std::span<const std::byte> message) {
  state_->add(message);
  return {};
}

Result<bool> HttpDestination::flush(std::chrono::milliseconds wait) {
  State& s = *state_;
  const auto until = Clock::now() + wait;
  while (!s.batches.empty()) {
    if (s.next_try > until) {
      std::this_thread::sleep_until(until);
      return false;
    }
    std::this_thread::sleep_until(s.next_try);
    const net::Outcome outcome = s.send(compressed(s.batches.front().frames));
    // A refusal by a proxy may be temporary.
    const bool by_service = outcome.message.find("\"status\":\"error\"") != std::string::npos;
    if (outcome.code == "413" || (outcome.rejected() && by_service)) {
      s.refused(outcome);
      continue;
    }
    if (!outcome.delivered()) {
      s.failed(outcome);
      if (Clock::now() >= until) return false;
      continue;
    }
    s.waiting -= s.batches.front().messages;
    s.batches.pop_front();
    s.problem.clear();
    s.back_off = {}, s.next_try = {}, s.failed_in_a_row = 0;
  }
  return true;
}

}  // namespace tocsin::adapters::forward
