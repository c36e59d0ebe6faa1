#include "adapters/forward/forward.h"

#include <fmt/format.h>

#include <memory>

#include "adapters/cli/commands.h"
#include "adapters/cli/forward.h"
#include "adapters/cli/recordings.h"
#include "adapters/cli/say.h"
#include "adapters/cli/service_commands.h"
#include "adapters/cli/usage.h"
#include "adapters/forward/http_destination.h"
#include "adapters/kafka/journal_destination.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Result;

Result<forward::HttpAddress> service_of(const SendTo& to) {
  return forward::parse_http_address(to.address, {to.ca_file, {}, {}, {}}, {{}, {}, to.token_file});
}

Result<std::unique_ptr<forward::Destination>> destination_of(const SendTo& to) {
  if (forward::is_http_address(to.address)) {
    auto service = service_of(to);
    if (!service) return service.error();
    return std::unique_ptr<forward::Destination>{
        std::make_unique<forward::HttpDestination>(std::move(*service), write_line)};
  }
  const auto cluster = cluster_of(to.address);
  if (!cluster) return cluster.error();
  auto opened = kafka::JournalDestination::open(*cluster);
  if (!opened) return opened.error();
  return std::unique_ptr<forward::Destination>{std::move(*opened)};
}

}  // namespace

Result<forward::Forwarded> send(const std::filesystem::path& directory, const SendTo& to, bool follow,
                                int stop_when_readable) {
  forward::Forwarded all;
  for (const std::filesystem::path& journal : journals_in(directory)) {
    const auto destination = destination_of(to);
    if (!destination) return destination.error();
    const auto sent = forward::forward(
        {.journal = journal, .follow = follow, .stop_when_readable = stop_when_readable, .log = write_line},
        **destination);
    if (!sent) return sent.error();
    all.sent += sent->sent, all.left += sent->left;
  }
  return all;
}

void add_send_to(CLI::App& command, SendTo& to, bool needed) {
  constexpr auto text =
      "Where `tocsin run` judges the records: http://HOST[:PORT][,HOST…] or https of a service, "
      "kafka://HOST:PORT[/PREFIX], or a "
      "configuration that names brokers, FILE.yml";
  auto* option = needed ? add_needed(command, "--to", to.address, "ADDRESS", text)
                        : add_option(command, "--to", to.address, "ADDRESS", text);
  const CLI::Validator known{[brokers = is_kafka_address()](const std::string& address) {
                               if (address.find("://") == address.npos && address.ends_with(":9464"))
                                 return "write http://" + address + " for a service, kafka://HOST:PORT for brokers";
                               if (!forward::is_http_address(address)) {
                                 const std::string why = brokers(address);
                                 return why.empty() ? why : why + ", or http://HOST:PORT of a service";
                               }
                               const auto service = forward::parse_http_address(address);
                               return service ? std::string{} : service.error().message;
                             },
                             ""};
  option->check(known);
  add_option(command, "--token", to.token_file, "FILE", "A file with the token that the service asks for")
      ->check(CLI::ExistingFile);
  add_option(command, "--ca", to.ca_file, "FILE",
             "Certificates, in PEM, that sign the service's own (default: those of the system)")
      ->check(CLI::ExistingFile);
}

wrap::EngineEntry forwarding_engine(const SendTo& to) {
  return [to](const std::filesystem::path& journal, const wrap::EngineOptions& engine) {
    const auto sent = send(journal, to, true, engine.parent);
    if (!sent) return cannot(sent.error());
    if (sent->left > 0)
      write_line(fmt::format("{} entries are not sent; later: tocsin forward {} --to {}{}{}", sent->left,
                             journal.string(), to.address,
                             to.token_file.empty() ? "" : " --token " + to.token_file.string(),
                             to.ca_file.empty() ? "" : " --ca " + to.ca_file.string()));
    return 0;
  };
}

void add_forward_command(CLI::App& app, int& status) {
  auto journal = std::make_shared<std::filesystem::path>();
  auto to = std::make_shared<SendTo>();
  auto follow = std::make_shared<bool>(false);
  auto* command =
      app.add_subcommand("forward", "Send a journal's records to a service, from where the last run stopped");
  add_needed(*command, "JOURNAL", *journal, "",
             "The directory of a journal, as wrap made it, or of the log of a service");
  add_send_to(*command, *to, true);
  command->add_flag("--follow", *follow, "Keep sending until the run has ended");
  command->callback([journal, to, follow, &status] {
    if (*follow && journals_in(*journal).size() > 1)
      throw CLI::ValidationError("--follow is for one journal: name a partition of the log");
    const auto sent = send(*journal, *to, *follow);
    if (!sent) return void(status = cannot(sent.error()));
    fmt::print("{} entries sent, {} left\n", sent->sent, sent->left);
    status = sent->left == 0 ? 0 : 3;
  });
}

}  // namespace tocsin::adapters::cli
