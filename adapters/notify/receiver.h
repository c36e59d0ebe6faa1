#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stream/rules/pack.h"
#include "stream/values/result.h"

namespace tocsin::adapters::notify {

enum class Medium : std::uint8_t { mail, slack, teams, discord, pagerduty, webhook, alertmanager, command };
[[nodiscard]] std::string_view name(Medium medium) noexcept;

// Who is notified, by what, and of what. `to` is an address in one of the forms of docs/notify.md; complete() takes the
// rest out of it. Secrets are read from their files each time something is sent.
struct Receiver {
  std::string name;  // in the log, in metrics and in the queue; empty: made of the address
  std::string to;
  std::vector<std::string> command;  // program and arguments, in place of an address

  std::string from;                          // mail: the sender
  std::filesystem::path password_file;       // mail: of the user in the address
  std::filesystem::path url_file;            // HTTP: the address itself, where it is a secret
  std::filesystem::path key_file;            // PagerDuty: the routing key
  std::filesystem::path token_file;          // HTTP: a bearer token
  std::filesystem::path ca_file;             // the authorities of the server's certificate; empty: the system's
  std::vector<std::string> artifacts;        // mail of a verdict: globs of files to attach, with {job}
  std::uint64_t artifact_size = 25u << 20;   // of one file
  std::uint64_t artifacts_size = 45u << 20;  // of all files of a message

  // Conditions. All have to hold; an empty one always does.
  std::string severity = "warning";  // at least
  std::vector<std::string> families, rules, modes{"live"};
  std::map<std::string, std::vector<std::string>> jobs;  // as `jobs` of a rule: label, and the values allowed
  std::string verdicts = "none";                         // of ended jobs: none, failed, all
  bool alerts = true, resolved = true;

  std::chrono::milliseconds group{30'000};         // what comes within this time is one message
  std::chrono::milliseconds repeat{4 * 3600'000};  // while it fires; 0: never
  std::uint64_t limit = 0;                         // messages an hour; 0: usual_limit, and none for PagerDuty

  // What complete() finds in the address.
  Medium medium = Medium::webhook;
  std::string url;                      // of HTTP (empty: in url_file), or of the SMTP server: smtp://HOST:PORT
  std::string user;                     // mail
  std::vector<std::string> recipients;  // mail
};

// Where mail goes out that an address mailto: names: smtp[s]://[USER@]HOST[:PORT]/[?from=…&password_file=…&ca_file=…].
inline constexpr std::string_view usual_relay = "smtp://localhost:25";

inline constexpr std::uint64_t usual_limit = 60;

// Reads the address, whose parameters (?severity=critical&password_file=…) set what the receiver has not set itself.
// The error says what is wrong and what to write; it never contains a secret.
[[nodiscard]] stream::Result<Receiver> complete(Receiver receiver, const std::string& relay = std::string{usual_relay});
// Gives receivers of the same name names of their own: slack, slack-2.
void number_names(std::vector<Receiver>& receivers);

[[nodiscard]] stream::Result<stream::Severity> severity_named(std::string_view text);

}  // namespace tocsin::adapters::notify
