// Tells of alerts as the lines of its standard input say, for the tests in Python.
//
//   fire ID | resolve ID | end JOB | flood N | permit OWNER always|MS | withdraw OWNER | drain MS | status
//
// Each line is answered by one line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "adapters/formats/json.h"
#include "adapters/notify/notifier.h"
#include "tests/notify/notices.h"

namespace {

using namespace tocsin;
using namespace tocsin::adapters;
using Clock = std::chrono::steady_clock;

// Lines of the log.
struct Lines {
  std::mutex mutex;
  std::string all;
};

std::string json(const notify::NotifierStatus& status, Lines& log) {
  formats::Json receivers = formats::Json::object();
  for (const auto& one : status.receivers)
    receivers[one.name] = {
        {"results", one.results}, {"waiting", one.waiting}, {"backs_off", one.backs_off}, {"error", one.last_error}};
  const std::lock_guard lock{log.mutex};
  return formats::dump(
      {{"receivers", receivers}, {"bytes", status.bytes}, {"dropped", status.dropped}, {"log", log.all}});
}

std::string answer(notify::Notifier& notifier, Lines& log, const std::string& line) {
  std::istringstream words{line};
  std::string command, text;
  words >> command;
  if (command == "status") return json(notifier.status(), log);
  words >> text;
  const auto now = std::chrono::system_clock::now();
  if (command == "fire" || command == "resolve") {
    auto t = test::hang(std::stoull(text));
    t.since = t.at = now;
    if (command == "resolve") t = test::resolved(t);
    notifier.report(0, t);
  } else if (command == "end") {
    auto verdict = test::failure(text);
    verdict.ended = now;
    notifier.report(0, verdict);
  } else if (command == "flood") {
    Clock::duration longest{};
    for (int id = 0; id < std::stoi(text); ++id) {
      auto t = test::hang(1'000'000 + static_cast<std::uint64_t>(id));
      t.at = now;
      const auto begin = Clock::now();
      notifier.report(0, t);
      longest = std::max(longest, Clock::now() - begin);
    }
    return fmt::format("{:.6f}", std::chrono::duration<double>(longest).count());
  } else if (command == "permit") {
    std::string until;
    words >> until;
    notifier.permit(
        static_cast<notify::Owner>(std::stoul(text)),
        until == "always" ? Clock::time_point::max() : Clock::now() + std::chrono::milliseconds{std::stoi(until)});
  } else if (command == "withdraw") {
    notifier.withdraw(static_cast<notify::Owner>(std::stoul(text)));
  } else if (command == "drain") {
    return std::to_string(notifier.drain(std::chrono::milliseconds{std::stoi(text)}));
  } else {
    return "unknown command";
  }
  return "ok";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Tells of alerts as its standard input says"};
  notify::NotifierOptions options;
  std::vector<std::string> addresses;
  std::string relay{notify::usual_relay};
  long group = 50, repeat = 0, time_out = 3000, limit = 1000, first = 50, longest = 200;
  app.add_option("ADDRESS", addresses)->required();
  app.add_option("--relay", relay);
  app.add_option("--root", options.root);
  app.add_option("--own", options.own);
  app.add_option("--group", group);
  app.add_option("--repeat", repeat);
  app.add_option("--limit", limit);
  app.add_option("--time-out", time_out);
  app.add_option("--first-back-off", first);
  app.add_option("--longest-back-off", longest);
  app.add_option("--queue-bytes", options.limits.bytes);
  app.add_flag("--alone,!--not-alone", options.alone);
  options.own = "test", options.alone = true;
  CLI11_PARSE(app, argc, argv);
  options.links.host = "n1.example";
  options.timeout = std::chrono::milliseconds{time_out};
  options.first_back_off = std::chrono::milliseconds{first},
  options.longest_back_off = std::chrono::milliseconds{longest};
  for (const std::string& address : addresses) {
    notify::Receiver receiver;
    receiver.to = address;
    auto completed = notify::complete(receiver, relay);
    if (!completed) {
      fmt::print(stderr, "{}\n", completed.error().message);
      return 2;
    }
    completed->group = std::chrono::milliseconds{group}, completed->repeat = std::chrono::milliseconds{repeat};
    completed->limit = static_cast<std::uint64_t>(limit);
    options.receivers.push_back(std::move(*completed));
  }
  notify::number_names(options.receivers);
  Lines log;
  options.log = [&log](const std::string& line) {
    const std::lock_guard lock{log.mutex};
    log.all += line + '\n';
  };
  auto notifier = notify::Notifier::start(std::move(options));
  if (!notifier) {
    fmt::print(stderr, "{}\n", notifier.error().message);
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(**notifier, log, line) << std::endl;
}
