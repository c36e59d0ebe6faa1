// Posts alerts as the lines of its standard input say, for the tests in Python.
//
//   fire ID RANK | resolve ID REASON | flood N | permit OWNER always|MS | withdraw OWNER | owner OWNER | drain MS |
//   status
//
// Each line is answered by one line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "adapters/alertmanager/poster.h"
#include "adapters/formats/json.h"
#include "tests/alertmanager/transitions.h"

namespace {

using namespace tocsin;
using namespace tocsin::adapters;
using Clock = std::chrono::steady_clock;

// Lines of the poster's log.
struct Lines {
  std::mutex mutex;
  std::string all;
};

std::string json(const alertmanager::PosterStatus& status, Lines& log) {
  formats::Json instances = formats::Json::array();
  for (const auto& instance : status.instances) {
    instances.push_back({{"alerts", instance.alerts},
                         {"waiting", instance.waiting},
                         {"backs_off", instance.backs_off},
                         {"url", instance.url},
                         {"error", instance.last_error},
                         {"posts", formats::Json::object()}});
    for (const auto& [code, count] : instance.posts) instances.back()["posts"][std::string{code}] = count;
  }
  const std::lock_guard lock{log.mutex};
  return formats::dump({{"firing", status.firing},
                        {"kept", status.kept},
                        {"bytes", status.bytes},
                        {"dropped", status.dropped},
                        {"log", log.all},
                        {"instances", instances}});
}

class Session {
 public:
  Session(alertmanager::Poster& poster, Lines& log) : poster_(&poster), log_(&log) {}

  std::string answer(const std::string& line) {
    std::istringstream words{line};
    std::string command;
    words >> command;
    if (command == "fire") {
      std::uint64_t id = 0;
      std::uint32_t rank = 0;
      words >> id >> rank;
      fired_[id] = test::slow_rank(id, rank);
      fired_[id].since = fired_[id].at = std::chrono::system_clock::now();
      return report(fired_[id]);
    }
    if (command == "resolve") {
      std::uint64_t id = 0;
      words >> id;
      auto transition = test::resolved(fired_.at(id));
      transition.at = std::chrono::system_clock::now();
      return report(transition);
    }
    if (command == "flood") return flood(words);
    if (command == "owner") return words >> owner_ ? "ok" : "wrong";
    if (command == "permit") {
      std::uint32_t owner = 0;
      std::string until;
      words >> owner >> until;
      poster_->permit(owner, until == "always" ? alertmanager::Poster::always
                                               : Clock::now() + std::chrono::milliseconds{std::stoi(until)});
      return "ok";
    }
    if (command == "withdraw") {
      std::uint32_t owner = 0;
      words >> owner;
      poster_->withdraw(owner);
      return "ok";
    }
    if (command == "drain") {
      int ms = 0;
      words >> ms;
      return poster_->drain(std::chrono::milliseconds{ms}) ? "drained" : "waits";
    }
    return command == "status" ? json(poster_->status(), *log_) : "unknown command";
  }

 private:
  std::string report(const stream::AlertTransition& transition) {
    poster_->report(owner_, transition);
    return "ok";
  }
  std::string flood(std::istringstream& words) {
    std::uint32_t count = 0;
    words >> count;
    Clock::duration longest{};
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      auto transition = test::slow_rank(1'000'000 + rank, rank);
      transition.since = std::chrono::system_clock::now();
      const auto begin = Clock::now();
      report(transition);
      longest = std::max(longest, Clock::now() - begin);
    }
    return fmt::format("{:.6f}", std::chrono::duration<double>(longest).count());
  }

  alertmanager::Poster* poster_;
  Lines* log_;
  alertmanager::Owner owner_ = 0;
  std::map<std::uint64_t, stream::AlertTransition> fired_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Posts alerts as its standard input says"};
  alertmanager::PosterOptions options;
  std::vector<std::string> urls, labels;
  alertmanager::Instance instance;
  long resend = 60'000, resolved_for = 900'000, time_out = 2000;
  bool always = true;
  app.add_option("URL", urls)->required();
  app.add_option("--label", labels);
  app.add_option("--external-url", options.external_url);
  app.add_option("--runbook-url", options.runbook_url);
  app.add_option("--resend", resend);
  app.add_option("--resolved-for", resolved_for);
  app.add_option("--time-out", time_out);
  app.add_option("--batch", options.batch);
  app.add_option("--most-bytes", options.most_bytes);
  app.add_option("--user", instance.auth.user);
  app.add_option("--password-file", instance.auth.password_file);
  app.add_option("--token-file", instance.auth.token_file);
  app.add_option("--ca-file", instance.tls.ca_file);
  app.add_option("--server-name", instance.tls.server_name);
  app.add_flag("!--not-permitted", always);
  CLI11_PARSE(app, argc, argv);
  for (const auto& url : urls) {
    instance.url = url;
    options.instances.push_back(instance);
  }
  for (const auto& label : labels) options.labels[label.substr(0, label.find('='))] = label.substr(label.find('=') + 1);
  options.resend = std::chrono::milliseconds{resend};
  options.resolved_for = std::chrono::milliseconds{resolved_for};
  options.request_timeout = std::chrono::milliseconds{time_out};
  options.first_back_off = std::chrono::milliseconds{100};
  options.longest_back_off = std::chrono::milliseconds{400};
  Lines log;
  options.log = [&log](const std::string& line) {
    const std::lock_guard lock{log.mutex};
    log.all += line + '\n';
  };
  auto poster = alertmanager::Poster::start(std::move(options));
  if (!poster) {
    fmt::print(stderr, "{}\n", poster.error().message);
    return 2;
  }
  if (always) (*poster)->permit(0, alertmanager::Poster::always);
  Session session{**poster, log};
  for (std::string line; std::getline(std::cin, line);) std::cout << session.answer(line) << std::endl;
}
