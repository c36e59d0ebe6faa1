#include "adapters/cli/commands.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "adapters/cli/service_commands.h"
#include "adapters/cli/usage.h"
#include "adapters/formats/alert_form.h"
#include "adapters/kafka_service/kafka_backend.h"
#include "adapters/packs/compile.h"
#include "adapters/service/pack_history.h"

namespace tocsin::adapters::cli {
namespace {

using service::KnownPack;
using service::PackHistory;
using stream::Errc;
using stream::Error;
using stream::Result;

constexpr std::size_t least_digits = 4;

// As this program would run it.
Result<std::size_t> number_of_rules(const KnownPack& known) {
  const auto files = dsl::pack_files(known.pack.text);
  if (!files) return files.error();
  const auto outcome = packs::compile(*files, {}, packs::Origin::log);
  if (outcome.pack) return outcome.pack->pack->rules.size();
  const auto errors = outcome.errors();
  return Error{Errc::refused, errors.empty() ? "it does not load" : dsl::describe(errors.front())};
}

// What is announced in a cluster.
struct Announced {
  std::unique_ptr<kafka_service::PacksTopic> topic;
  PackHistory history;
};
Result<Announced> announced_in(const kafka::Address& address) {
  auto topic = kafka_service::PacksTopic::open(address, address.prefix + "-packs");
  if (!topic) return topic.error();
  PackHistory history{**topic};
  if (auto read = history.read(); !read) return read.error();
  return Announced{std::move(*topic), std::move(history)};
}

std::string state_of(const PackHistory& history, const KnownPack& known) {
  const auto& announced = history.announced();
  if (!announced || announced->hash != known.pack.hash) return "-";
  return announced->from > std::chrono::system_clock::now() ? "in force soon" : "in force";
}

int list(const kafka::Address& address) {
  const auto there = announced_in(address);
  if (!there) return cannot(there.error());
  const PackHistory& history = there->history;
  const auto all = history.newest_first();
  if (all.empty())
    return cannot({Errc::refused, "no instance of tocsin has run with these topics yet: there are no packs"});
  fmt::print("{:<32}  {:<20}  {:>5}  {}\n", "PACK", "ANNOUNCED", "RULES", "STATE");
  for (const KnownPack* known : all) {
    const auto rules = number_of_rules(*known);
    fmt::print("{}  {}  {:>5}  {}{}\n", known->pack.hash,
               formats::typed_time(std::chrono::floor<std::chrono::seconds>(known->announced)),
               rules ? std::to_string(*rules) : "-", state_of(history, *known), rules ? "" : ", does not load here");
  }
  return 0;
}

// The one pack whose hash begins so.
Result<const KnownPack*> find(const PackHistory& history, const std::string& hash) {
  std::vector<const KnownPack*> meant;
  for (const KnownPack* known : history.newest_first())
    if (known->pack.hash.starts_with(hash)) meant.push_back(known);
  if (meant.empty())
    return Error{Errc::refused, "no pack of this cluster begins with " + hash + ": `tocsin packs` lists them"};
  if (meant.size() > 1)
    return Error{Errc::refused, std::to_string(meant.size()) + " packs begin with " + hash + ": give more digits"};
  return meant.front();
}

int use(const kafka::Address& address, const std::string& hash) {
  auto there = announced_in(address);
  if (!there) return cannot(there.error());
  PackHistory& history = there->history;
  const auto found = find(history, hash);
  if (!found) return cannot(found.error());
  const stream::PackText pack = (*found)->pack;
  if (const auto rules = number_of_rules(**found); !rules)
    return cannot({Errc::refused, "pack " + pack.hash + " does not load here: " + rules.error().message});
  const auto announced = history.announced();
  if (announced && announced->hash == pack.hash && history.in_all_logs()) {
    fmt::print("pack {} is in force already\n", pack.hash);
    return 0;
  }
  std::set<std::string> left;
  if (announced) {
    left = announced->left;
    left.insert(announced->hash);
  }
  left.erase(pack.hash);
  auto appender = kafka_service::TelemetryAppender::open(address);
  if (!appender) return cannot(appender.error());
  if (auto done = history.announce(pack, std::move(left), **appender); !done) return cannot(done.error());
  fmt::print("pack {} judges from {} on\n", pack.hash,
             formats::typed_time(std::chrono::floor<std::chrono::seconds>(history.announced()->from)));
  return 0;
}

// Digits of a hash, as `packs` prints them.
CLI::Validator is_hash() {
  return CLI::Validator{
      [](const std::string& text) -> std::string {
        if (text.size() >= least_digits && text.size() <= 32 && text.find_first_not_of("0123456789abcdef") == text.npos)
          return {};
        return "'" + text + "' is not the hash of a pack: write at least four of the digits that `tocsin packs` prints";
      },
      ""};
}

}  // namespace

void add_pack_commands(CLI::App& app, int& status) {
  auto address = std::make_shared<std::string>();
  auto hash = std::make_shared<std::string>();
  auto* packs =
      app.add_subcommand("packs", "List the newest packs of rules in a cluster's logs, or return to one of them");
  packs->require_subcommand(0, 1);
  add_cluster(*packs, "--kafka", *address);
  auto* use_command =
      packs->add_subcommand("use", "Judge by this pack from now on, until the configured rules change or are reloaded");
  use_command->fallthrough();
  add_needed(*use_command, "HASH", *hash, "", "Which, as `tocsin packs` lists it; the first digits will do")
      ->check(is_hash());
  packs->callback([address, hash, use_command, &status] {
    const auto cluster = cluster_of(*address);
    if (!cluster) status = cannot(cluster.error());
    else status = use_command->parsed() ? use(*cluster, *hash) : list(*cluster);
  });
}

}  // namespace tocsin::adapters::cli
