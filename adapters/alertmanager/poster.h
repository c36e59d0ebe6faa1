#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/net/credentials.h"
#include "stream/rules/alert.h"
#include "stream/values/result.h"

namespace tocsin::adapters::alertmanager {

using Instance = net::Endpoint;

struct PosterOptions {
  std::vector<Instance> instances;
  std::map<std::string, std::string> labels;  // put on each alert: cluster, instance_group, the site's own
  std::string external_url;  // of this program, as its readers reach it; generatorURL leads to an alert on its page
  std::string runbook_url;   // {rule} and {family} are filled in; empty: no annotation
  bool canary = false;       // posts alerts of canary rules too, with the label mode="canary"
  std::chrono::milliseconds resend{60'000};  // firing alerts; four of them are their endsAt
  std::chrono::milliseconds resolved_for{900'000};
  std::chrono::milliseconds request_timeout{10'000};
  std::chrono::milliseconds first_back_off{500}, longest_back_off{30'000};
  std::size_t batch = 64;              // alerts a request
  std::size_t most_bytes = 64u << 20;  // of alerts that are kept; beyond, new ones are dropped and counted
  // A line where posts to an instance begin to fail, fail for another reason, or pass again. Called by the poster's
  // thread; may be empty.
  std::function<void(const std::string& line)> log;
};

// Whose alerts: a partition, or the one journal. What is no longer ours must not be posted.
using Owner = std::uint32_t;

struct InstanceStatus {
  std::string url;
  std::map<std::string, std::uint64_t>
      posts;                 // requests by result: 200, 400, timeout, unreachable, tls, credentials, protocol
  std::uint64_t alerts = 0;  // acknowledged, repeats included
  std::size_t waiting = 0;   // alerts whose last transition it has not acknowledged
  bool backs_off = false;
  std::string last_error;  // empty after a success
};
struct PosterStatus {
  std::vector<InstanceStatus> instances;
  std::size_t firing = 0, kept = 0, bytes = 0;  // alerts
  std::uint64_t dropped = 0;                    // transitions beyond most_bytes
};

// Posts alerts to every Alertmanager (API v2) and repeats them while they fire. Each instance has its own queue and
// back-off, so that one that is slow or gone delays neither the others nor the engine. It works on a thread of its own;
// every function may be called by any thread, and none waits for the network.
class Poster {
 public:
  // An error: an address that is none.
  [[nodiscard]] static stream::Result<std::unique_ptr<Poster>> start(PosterOptions options);
  ~Poster();  // posts nothing more; Alertmanager ends what fires at its endsAt
  Poster(const Poster&) = delete;
  Poster& operator=(const Poster&) = delete;

  // A transition that was kept (after the commit). Repeats, and those that came out of order, change nothing. Shadow
  // rules' are left out.
  void report(Owner owner, const stream::AlertTransition& transition) noexcept;

  // The owner's alerts may be posted until then; nothing is posted before the first permission. Each commit extends it.
  void permit(Owner owner, std::chrono::steady_clock::time_point until) noexcept;
  static constexpr auto always = std::chrono::steady_clock::time_point::max();
  // The owner's alerts belong to someone else now: they are forgotten, and not resolved.
  void withdraw(Owner owner) noexcept;

  // Waits until all that is due is acknowledged by each instance that does not back off, at most so long. True: it is.
  bool drain(std::chrono::milliseconds at_most);
  [[nodiscard]] PosterStatus status() const;

 private:
  struct State;
  explicit Poster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::alertmanager
