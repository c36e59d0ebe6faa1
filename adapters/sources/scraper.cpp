#include "adapters/sources/scraper.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "adapters/formats/json.h"
#include "adapters/journal/directory.h"
#include "adapters/net/client.h"
#include "adapters/net/url.h"

// One co_await a statement: g++ 12 miscompiles those within conditions and conditional expressions.
namespace tocsin::adapters::sources {

namespace asio = boost::asio;
using formats::Json;
using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t most_answer = 16u << 20;
constexpr auto between_looks = 15s;  // at the files that list targets

bool is_file(std::string_view target) { return target.ends_with(".json"); }

}  // namespace

Result<ScrapeTarget> scrape_target(std::string_view text) {
  std::string url{text};
  if (url.find("://") == std::string::npos) url = "http://" + url;
  auto parsed = net::parse_url(url);
  if (!parsed) return Error{parsed.error().code, "'" + std::string{text} + "': " + parsed.error().message};
  if (parsed->prefix.empty()) url = url.substr(0, url.find_last_not_of('/') + 1) + "/metrics";
  return ScrapeTarget{url, {{"instance", parsed->authority()}, {"host", parsed->host}}};
}

Result<std::vector<ScrapeTarget>> read_targets(const std::filesystem::path& file) {
  const auto text = journal::read_whole(file);
  if (!text) return text.error();
  const Json all = Json::parse(*text, nullptr, false);
  const Error wrong{Errc::malformed, file.string() + ": write [{\"targets\": [\"HOST:PORT\"], \"labels\": {}}]"};
  if (!all.is_array()) return wrong;
  std::vector<ScrapeTarget> targets;
  for (const Json& group : all) {
    if (!group.is_object() || !group.contains("targets") || !group["targets"].is_array()) return wrong;
    for (const Json& one : group["targets"]) {
      if (!one.is_string()) return wrong;
      auto target = scrape_target(one.get<std::string>());
      if (!target) return Error{Errc::malformed, file.string() + ": " + target.error().message};
      const Json labels = group.value("labels", Json::object());
      for (const auto& [name, value] : labels.items())
        if (value.is_string()) target->labels[name] = value.get<std::string>();
      targets.push_back(std::move(*target));
    }
  }
  return targets;
}

struct Scraper::State {
  LiveRole& role;
  const std::function<void(const std::string& line)> log;
  asio::io_context context;
  asio::steady_timer timer{context};
  std::map<std::pair<std::size_t, std::string>, std::map<std::string, std::string>> targets;  // labels, by source, URL
  std::set<std::pair<std::size_t, std::string>> running;
  std::map<std::string, std::string> complaints;  // by file
  std::atomic<std::uint64_t> lost = 0;            // answers that the log did not take, since the last line about them
  std::thread thread;

  State(LiveRole& of, std::function<void(const std::string& line)> to) : role(of), log(std::move(to)) {}

  void say(const std::string& line) const {
    if (log) log(line);
  }

  void look() {
    targets.clear();
    for (std::size_t source = 0; source < role.sources().size(); ++source)
      for (const std::string& text : role.sources()[source].scrape) {
        std::vector<ScrapeTarget> found;
        std::string why;
        if (is_file(text)) {
          auto listed = read_targets(text);
          if (listed) found = std::move(*listed);
          else why = listed.error().message;
        } else if (auto one = scrape_target(text)) {
          found.push_back(std::move(*one));
        }
        if (std::exchange(complaints[text], why) != why && !why.empty()) say(why);
        for (ScrapeTarget& target : found) targets[{source, target.url}] = std::move(target.labels);
      }
    for (const auto& [key, labels] : targets)
      if (const auto [at, fresh] = running.insert(key); fresh) asio::co_spawn(context, scrape(*at), asio::detached);
  }
  asio::awaitable<void> look_again_and_again() {
    for (;;) {
      look();
      if (const auto many = lost.exchange(0); many > 0)
        say(std::to_string(many) + " scrapes are lost: the log takes nothing");
      timer.expires_after(between_looks);
      co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }

  struct Asked {
    const std::pair<std::size_t, std::string>* key;
    std::chrono::milliseconds timeout;
    std::unique_ptr<net::Client> client;
    std::string complaint;
  };
  static asio::awaitable<net::Outcome> ask(net::Client& client, Clock::time_point until) {
    auto not_open = co_await client.open();
    if (not_open) co_return std::move(*not_open);
    net::Request request;
    request.method = "GET", request.most_answer = most_answer;
    net::Outcome outcome = co_await client.send(request, until);
    co_return outcome;
  }
  void take(Asked& asked, net::Outcome& outcome) {
    const std::string why = outcome.delivered() ? "" : outcome.message;
    if (std::exchange(asked.complaint, why) != why)
      say("source " + role.sources()[asked.key->first].name + ": " + asked.key->second +
          (why.empty() ? " answers again" : " does not answer: " + why));
    const auto target = targets.find(*asked.key);
    if (!outcome.delivered() || target == targets.end()) return;
    Message message;
    message.source = asked.key->first;
    message.bytes = std::move(outcome.body);
    message.labels = target->second;
    message.done = [this](const Result<void>& done) { lost += done ? 0 : 1; };
    role.take(std::move(message));
  }
  Asked asked_of(const std::pair<std::size_t, std::string>& key) {
    const auto timeout = std::min<std::chrono::milliseconds>(role.sources()[key.first].every, 10s);
    const net::Endpoint endpoint{key.second, {}, {}};
    return {&key, timeout, std::make_unique<net::Client>(context, endpoint, *net::parse_url(key.second), timeout), {}};
  }
  // Until the target is listed no more.
  asio::awaitable<void> scrape(const std::pair<std::size_t, std::string>& key) {
    Asked asked = asked_of(key);
    const auto every = role.sources()[key.first].every;
    asio::steady_timer next{context};
    next.expires_after(every * (std::hash<std::string>{}(key.second) % 1000) / 1000);  // not all targets at once
    while (targets.contains(key)) {
      co_await next.async_wait(asio::as_tuple(asio::use_awaitable));
      const auto begun = Clock::now();
      net::Outcome outcome = co_await ask(*asked.client, begun + asked.timeout);
      if (outcome.code.empty()) continue;  // the connection that was kept open is gone
      take(asked, outcome);
      next.expires_at(begun + every);
    }
    running.erase(running.find(key));
  }
};

Scraper::Scraper(LiveRole& role, std::function<void(const std::string& line)> log)
    : state_(std::make_unique<State>(role, std::move(log))) {
  asio::co_spawn(state_->context, state_->look_again_and_again(), asio::detached);
  state_->thread = std::thread{[this] { state_->context.run(); }};
}
Scraper::~Scraper() { stop(); }

void Scraper::stop() {
  state_->context.stop();
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace tocsin::adapters::sources
