#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/cli/wrap_notices.h"
#include "adapters/config/config.h"
#include "adapters/formats/printable.h"
#include "adapters/notify/render.h"
#include "adapters/notify/sender.h"
#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::cli {
namespace {

struct NotifyArguments {
  std::vector<std::string> addresses;
  std::string config;
  bool test = false, flush = false;
};

notify::Outgoing test_message(const notify::Receiver& receiver) {
  notify::Message message;
  message.test = true;
  message.at = std::chrono::system_clock::now();
  message.id = static_cast<std::uint64_t>(stream::nanoseconds(message.at));
  notify::Payload payload = notify::render(message, receiver, {"", "", "", wrap::host()});
  return {receiver,
          message.id,
          message.at,
          notify::subject_of(message),
          std::move(payload.content_type),
          std::move(payload.body)};
}

stream::Result<std::vector<notify::Receiver>> receivers_of(const NotifyArguments& arguments) {
  if (arguments.config.empty()) return wrap_receivers(arguments.addresses);
  const auto config = config::read_config(arguments.config);
  if (!config) return config.error();
  return config::receivers(*config);
}

void print(const std::string& receiver, const std::string& what) {
  fmt::print("{}: {}\n", receiver, formats::printable(what));
}

int send_tests(const NotifyArguments& arguments) {
  const auto receivers = receivers_of(arguments);
  if (!receivers) return cannot("notify", receivers.error().message);
  if (receivers->empty())
    return cannot("notify",
                  "there is no receiver: name addresses, or a configuration with notify.receivers by --config");
  notify::Sender sender;
  for (const notify::Receiver& one : *receivers) sender.start(test_message(one));
  int status = 0;
  while (!sender.idle())
    for (const auto& [receiver, outcome] : sender.work(std::chrono::seconds{1})) {
      const bool sent = outcome.result == notify::Outcome::Result::sent;
      print(receiver, sent ? "sent" : outcome.reason);
      if (!sent) status = 1;
    }
  return status;
}

// Everything that ended runs have left, each receiver's until one of its messages fails.
int flush() {
  auto queue = notify::Queue::open(wrap_queue(), fmt::format("flush-{}", ::getpid()), {});
  if (!queue) return cannot("notify", queue.error().message);
  queue->adopt(true);
  notify::Sender sender;
  std::map<std::string, std::string> failures;
  std::size_t sent = 0;
  for (;;) {
    for (const std::string& receiver : queue->receivers())
      if (!sender.busy(receiver) && !failures.contains(receiver))
        if (auto message = queue->front(receiver)) sender.start(std::move(*message));
    if (sender.idle()) break;
    for (const auto& [receiver, outcome] : sender.work(std::chrono::seconds{1})) {
      if (outcome.result == notify::Outcome::Result::failed) {
        failures[receiver] = outcome.reason;
        continue;
      }
      if (outcome.result == notify::Outcome::Result::sent) ++sent;
      else print(receiver, "gives up a message: " + outcome.reason);
      queue->pop(receiver);
    }
  }
  for (const auto& [receiver, reason] : failures)
    print(receiver, fmt::format("{} left: {}", queue->waiting(receiver), reason));
  const std::size_t left = queue->waiting();
  fmt::print("{} sent, {} left\n", sent, left);
  queue->close();
  return left == 0 ? 0 : 1;
}

}  // namespace

void add_notify_command(CLI::App& app, int& status) {
  auto arguments = std::make_shared<NotifyArguments>();
  auto* command =
      app.add_subcommand("notify", "Send a test to the receivers of notifications, or what could not be sent before");
  add_option(*command, "ADDRESS", arguments->addresses, "", "Receivers, as `tocsin wrap --notify` has them");
  add_option(*command, "--config", arguments->config, "FILE", "The receivers of this configuration (notify.receivers)");
  auto* test =
      command->add_flag("--test", arguments->test, "Send a test message to each receiver, and print the results");
  command->add_flag("--flush", arguments->flush, "Send what runs of `tocsin wrap --notify` could not send")
      ->excludes(test);
  command->callback([arguments, &status] {
    if (!arguments->test && !arguments->flush) throw CLI::ValidationError("notify: write --test or --flush");
    status = arguments->test ? send_tests(*arguments) : flush();
  });
}

}  // namespace tocsin::adapters::cli
