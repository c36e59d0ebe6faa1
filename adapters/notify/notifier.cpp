#include "adapters/notify/notifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <variant>

#include "adapters/formats/json.h"
#include "adapters/notify/artifacts.h"
#include "adapters/notify/sender.h"

namespace tocsin::adapters::notify {

using Steady = std::chrono::steady_clock;
using stream::Time;

namespace {

constexpr std::size_t most_reports = 20'000;  // that wait for the thread

Time wall() { return std::chrono::system_clock::now(); }

}  // namespace

struct Notifier::State {
  struct Reported {
    Owner owner = 0;
    stream::Report report;
    bool restored = false;
  };
  struct Withdrawn {
    Owner owner = 0;
  };
  struct BackOff {
    unsigned failures = 0;
    Time next = stream::long_ago;
    bool hurried = false;  // failed since drain() began
  };

  State(NotifierOptions given, Queue opened)
      : options(std::move(given)), router(options.receivers), queue(std::move(opened)), sender(options.timeout) {}

  // Of the wall clock as it stood at the start: a step of it must neither hold messages back nor hurry them.
  [[nodiscard]] Time now() const { return began + (Steady::now() - began_steadily); }

  void run();
  bool take_inbox();  // true: the router has changed
  void enqueue(Message message);
  void start_due();
  void settle(const std::string& receiver, const Outcome& outcome);
  void restore();
  void keep_state();
  void publish();
  [[nodiscard]] std::chrono::milliseconds until_next() const;
  void say(const std::string& line) const {
    if (options.log) options.log("notify: " + line);
  }
  ReceiverStatus& status_of(const std::string& receiver);  // with the mutex

  NotifierOptions options;
  Time began = wall();
  Steady::time_point began_steadily = Steady::now();

  // Of the notifier's thread.
  Router router;
  Queue queue;
  std::map<std::string, BackOff> back_offs;
  std::mt19937_64 random{std::random_device{}()};
  bool disk_failed = false, drop_reported = false;
  Steady::time_point kept_at{};
  bool dirty = false;

  // Of all threads.
  Sender sender;
  mutable std::mutex mutex;
  std::condition_variable progressed;
  std::vector<std::variant<Reported, Withdrawn>> inbox;
  std::map<Owner, Steady::time_point> permissions;
  NotifierStatus status;
  bool stopping = false, hurrying = false, settled = false;  // settled: after hurrying, all was tried once
  std::thread thread;
};

stream::Result<std::unique_ptr<Notifier>> Notifier::start(NotifierOptions options) {
  Queue queue{options.limits};
  if (!options.root.empty()) {
    auto opened = Queue::open(options.root, options.own, options.limits);
    if (!opened) return opened.error();
    queue = std::move(*opened);
  }
  auto state = std::make_unique<State>(std::move(options), std::move(queue));
  state->queue.adopt(state->options.temporary);
  state->restore();
  for (const Receiver& one : state->options.receivers) state->status.receivers.emplace_back().name = one.name;
  state->publish();
  return std::unique_ptr<Notifier>{new Notifier{std::move(state)}};
}

Notifier::Notifier(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->thread = std::thread{[state = state_.get()] { state->run(); }};
}

Notifier::~Notifier() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->stopping = true;
  }
  state_->sender.wake();
  state_->thread.join();
  if (state_->options.temporary) state_->queue.close();
}

void Notifier::report(Owner owner, const stream::Report& report, bool restored) noexcept {
  if (const auto* t = std::get_if<stream::AlertTransition>(&report);
      t != nullptr && t->severity == stream::Severity::none)
    return;
  try {
    {
      const std::lock_guard lock{state_->mutex};
      if (state_->inbox.size() >= most_reports) return void(++state_->status.dropped);
      state_->inbox.emplace_back(State::Reported{owner, report, restored});
    }
    state_->sender.wake();
  } catch (...) {
    const std::lock_guard lock{state_->mutex};
    ++state_->status.dropped;
  }
}

void Notifier::permit(Owner owner, Steady::time_point until) noexcept {
  try {
    const std::lock_guard lock{state_->mutex};
    state_->permissions[owner] = until;
  } catch (...) {}  // out of memory: the next commit permits again
}

void Notifier::withdraw(Owner owner) noexcept {
  try {
    const std::lock_guard lock{state_->mutex};
    state_->permissions.erase(owner);
    state_->inbox.emplace_back(State::Withdrawn{owner});
  } catch (...) {}
}

std::size_t Notifier::drain(std::chrono::milliseconds at_most) {
  std::unique_lock lock{state_->mutex};
  state_->hurrying = true, state_->settled = false;
  state_->sender.wake();
  state_->progressed.wait_for(lock, at_most, [this] { return state_->settled; });
  std::size_t waiting = 0;
  for (const ReceiverStatus& one : state_->status.receivers) waiting += one.waiting;
  return waiting;
}

NotifierStatus Notifier::status() const {
  const std::lock_guard lock{state_->mutex};
  return state_->status;
}

const std::filesystem::path& Notifier::path() const noexcept { return state_->queue.path(); }

ReceiverStatus& Notifier::State::status_of(const std::string& receiver) {
  for (ReceiverStatus& one : status.receivers)
    if (one.name == receiver) return one;
  return status.receivers.emplace_back(ReceiverStatus{receiver, {}, 0, false, {}});  // of an earlier configuration
}

bool Notifier::State::take_inbox() {
  std::vector<std::variant<Reported, Withdrawn>> reports;
  bool hurry = false, notified = false;
  {
    const std::lock_guard lock{mutex};
    reports.swap(inbox);
    hurry = std::exchange(hurrying, false);
    notified = status.dropped > 0;
  }
  if (notified && !std::exchange(drop_reported, true))
    say("alerts come faster than they can be taken; some are left out");
  const Time now = this->now();
  for (const auto& one : reports) {
    if (const auto* gone = std::get_if<Withdrawn>(&one)) {
      router.withdraw(gone->owner);
      continue;
    }
    const auto& [owner, report, restored] = std::get<Reported>(one);
    if (const auto* transition = std::get_if<stream::AlertTransition>(&report)) {
      router.alert(owner, alert_of(*transition, options.recording), now, restored);
      continue;
    }
    Ended ended = ended_of(std::get<stream::Verdict>(report));
    if (options.last_lines) ended.last_lines = options.last_lines(ended.job);
    router.ended(owner, std::move(ended), now);
  }
  if (hurry) {
    router.hurry(now, options.temporary);
    for (auto& [receiver, back_off] : back_offs) back_off.next = stream::long_ago;
    for (const std::string& receiver : queue.receivers()) back_offs[receiver].hurried = false;
    for (const Receiver& receiver : options.receivers) back_offs[receiver.name].hurried = false;
  }
  return !reports.empty();
}

void Notifier::State::enqueue(Message message) {
  const Receiver& receiver = options.receivers[message.receiver];
  message.at = wall();
  std::vector<Artifact> artifacts;
  if (message.ended && receiver.medium == Medium::mail) artifacts = gather_artifacts(receiver, message.ended->job);
  Payload payload = render(message, receiver, options.links, artifacts);
  const auto kept = queue.add({receiver, message.id, message.at, subject_of(message), std::move(payload.content_type),
                               std::move(payload.body)});
  if (!kept && kept.error().code == stream::Errc::too_large) {
    say(receiver.name + ": " + kept.error().message);
    const std::lock_guard lock{mutex};
    ++status_of(receiver.name).results["dropped"];
  }
  const bool fails = !kept && queue.on_disk();
  if (fails && !std::exchange(disk_failed, true))
    say("messages wait in memory, and are lost if tocsin ends: " + kept.error().message);
  if (!fails && std::exchange(disk_failed, false)) say("messages wait on disk again");
}

void Notifier::State::start_due() {
  const Time now = this->now();
  for (const std::string& name : queue.receivers()) {
    if (sender.busy(name) || back_offs[name].next > now) continue;
    auto message = queue.front(name);
    if (!message) {
      if (message.error().code != stream::Errc::not_found)
        settle(name, {Outcome::Result::failed, message.error().message, {}});
      continue;
    }
    // The secrets and the server of today, also for a message of yesterday.
    for (const Receiver& one : options.receivers)
      if (one.name == name) message->receiver = one;
    sender.start(std::move(*message));
  }
}

void Notifier::State::settle(const std::string& receiver, const Outcome& outcome) {
  using Result = Outcome::Result;
  BackOff& back_off = back_offs[receiver];
  const std::string subject = outcome.result != Result::failed ? queue.pop(receiver) : "";
  std::string before;
  {
    const std::lock_guard lock{mutex};
    ReceiverStatus& shown = status_of(receiver);
    ++shown.results[outcome.result == Result::sent ? "sent" : outcome.result == Result::failed ? "failed" : "refused"];
    before = std::exchange(shown.last_error, outcome.reason);
  }
  if (outcome.result == Result::refused)
    say(fmt::format("{} refuses '{}', which is given up: {}", receiver, subject, outcome.reason));
  else if (outcome.result == Result::failed && before != outcome.reason)
    say(fmt::format("{} cannot be reached and is retried: {}", receiver, outcome.reason));
  else if (outcome.result == Result::sent && !before.empty()) say(receiver + " can be reached again");
  if (outcome.result != Result::failed) {
    back_off.failures = 0, back_off.next = stream::long_ago;
    return;
  }
  // Doubled each time, by at most a quarter more or less, so that many instances do not come at once.
  const auto doubled = options.first_back_off * (1 << std::min(back_off.failures++, 16u));
  const double spread = std::uniform_real_distribution{0.75, 1.25}(random);
  auto wait =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::min(doubled, options.longest_back_off) * spread);
  if (outcome.retry_after) wait = std::max<std::chrono::milliseconds>(wait, *outcome.retry_after);
  back_off.next = now() + wait;
  back_off.hurried = true;
}

void Notifier::State::restore() {
  const std::string text = queue.state();
  const auto json = formats::Json::parse(text, nullptr, false);
  if (!json.is_object()) return;
  try {
    router.restore(json.at("router"), wall(), options.alone);
    for (const auto& [receiver, one] : json.at("back_offs").items())
      back_offs[receiver] = {one.at(0), stream::at_nanoseconds(one.at(1)), false};
  } catch (const std::exception&) {}  // of another program: nothing is known
}

void Notifier::State::keep_state() {
  formats::Json waits = formats::Json::object();
  for (const auto& [receiver, one] : back_offs)
    if (one.failures > 0) waits[receiver] = {one.failures, stream::nanoseconds(one.next)};
  const auto kept = queue.keep_state(formats::dump({{"router", router.state()}, {"back_offs", std::move(waits)}}));
  if (!kept && !std::exchange(disk_failed, true)) say("what was notified is not kept: " + kept.error().message);
  kept_at = Steady::now();
  dirty = false;
}

void Notifier::State::publish() {
  const std::lock_guard lock{mutex};
  for (const std::string& name : queue.receivers()) static_cast<void>(status_of(name));
  bool tried = inbox.empty() && !hurrying && sender.idle();
  for (ReceiverStatus& one : status.receivers) {
    const auto back_off = back_offs.find(one.name);
    const std::size_t messages = queue.waiting(one.name);
    one.backs_off = back_off != back_offs.end() && back_off->second.failures > 0;
    one.waiting = messages;
    for (std::size_t i = 0; i < options.receivers.size(); ++i)
      if (options.receivers[i].name == one.name) one.waiting += router.waiting(i);
    tried = tried && (messages == 0 || (back_off != back_offs.end() && back_off->second.hurried));
  }
  status.bytes = queue.bytes();
  settled = tried;
  if (settled) progressed.notify_all();
}

std::chrono::milliseconds Notifier::State::until_next() const {
  const Time now = this->now();
  Time next = now + std::chrono::minutes{1};
  const Time due = router.next_due();
  // What is due and was not notified waits for permission, which comes with a commit.
  next = std::min(next, due <= now ? now + std::chrono::seconds{1} : due);
  for (const std::string& name : queue.receivers())
    if (!sender.busy(name))
      if (const auto back_off = back_offs.find(name); back_off != back_offs.end())
        next = std::min(next, back_off->second.next);
  if (dirty) next = std::min(next, now + std::chrono::seconds{1});
  return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(next - now), std::chrono::milliseconds{0},
                    std::chrono::milliseconds{60'000});
}

void Notifier::State::run() {
  for (;;) {
    try {
      dirty = take_inbox() || dirty;
      std::map<Owner, Steady::time_point> permitted;
      {
        const std::lock_guard lock{mutex};
        if (stopping) break;
        permitted = permissions;
      }
      const auto now = Steady::now();
      auto messages = router.due(this->now(), [&](Owner owner) {
        const auto found = permitted.find(owner);
        return options.alone || (found != permitted.end() && found->second > now);
      });
      const bool made = !messages.empty();
      for (Message& message : messages) enqueue(std::move(message));
      for (const auto& [receiver, line, dropped] : queue.expire(wall())) {
        say(receiver + ": " + line);
        if (!dropped) continue;
        const std::lock_guard lock{mutex};
        ++status_of(receiver).results["dropped"];
      }
      start_due();
      if (made || (dirty && now - kept_at > std::chrono::seconds{1})) keep_state();
      publish();
      for (const auto& [receiver, outcome] : sender.work(until_next())) {
        settle(receiver, outcome);
        dirty = dirty || outcome.result == Outcome::Result::failed;
      }
      publish();
    } catch (const std::exception& error) {  // out of memory
      say(std::string{"begins again: "} + error.what());
      std::this_thread::sleep_for(std::chrono::seconds{1});
    }
  }
  try {
    keep_state();
  } catch (const std::exception&) {}
}

}  // namespace tocsin::adapters::notify
