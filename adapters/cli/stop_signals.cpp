#include "adapters/cli/stop_signals.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "adapters/kafka/client.h"
#include "adapters/service/service.h"

namespace tocsin::adapters::cli {

using namespace std::chrono_literals;

namespace {

// systemd kills 60 s after its SIGTERM (deploy/systemd). Behind the brokers come the last posts to Alertmanager, five
// seconds at most.
constexpr auto for_brokers = 15s;
constexpr timespec for_all{25, 0};

constexpr const char* what_stays =
    ": what was judged after the last commit may not be committed; the next instance judges it again";

}  // namespace

StopSignals::StopSignals(std::function<void(const std::string&)> log) : log_(std::move(log)) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  for (const int number : {SIGTERM, SIGINT})
    ::signal(number, SIG_DFL);  // who started it may have ignored them: they would never come
  thread_ = std::thread{[this] { run(); }};
}

StopSignals::~StopSignals() {
  over_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);  // wakes it
  thread_.join();
}

void StopSignals::run() {
  if (int number = 0; sigwait(&signals_, &number) != 0 || over_) return;
  kafka::wait_until_at_most(std::chrono::steady_clock::now() + for_brokers);
  asked_ = true;
  const int again = sigtimedwait(&signals_, nullptr, &for_all);
  if (over_) return;
  log_((again > 0 ? "ended at once by a second signal" : "not drained in time") + std::string{what_stays});
  ::_exit(static_cast<int>(service::Ended::failed));
}

}  // namespace tocsin::adapters::cli
