#include "adapters/alertmanager/poster.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "adapters/alertmanager/alert_store.h"
#include "adapters/net/client.h"

namespace tocsin::adapters::alertmanager {

namespace asio = boost::asio;
using Clock = AlertStore::Clock;
using TimePoint = AlertStore::TimePoint;

namespace {

bool may_post(const std::map<Owner, TimePoint>& permissions, Owner owner, TimePoint now) {
  const auto found = permissions.find(owner);
  return found != permissions.end() && found->second > now;
}

}  // namespace

struct Poster::State {
  struct Withdrawn {
    Owner owner = 0;
  };
  using Message = std::variant<Reported, Withdrawn>;

  // What one instance needs; of the poster's thread.
  struct Sender {
    Sender(asio::io_context& context, std::size_t place, const Instance& instance, net::Url url,
           std::chrono::milliseconds timeout)
        : index(place), client(context, instance, std::move(url), timeout), timer(context) {}
    std::size_t index;
    std::size_t most = SIZE_MAX;  // alerts in a request, where more were too large
    net::Client client;
    asio::steady_timer timer;
    bool wakes_early = false;  // waits for something to do, and not for the end of a back-off
  };

  explicit State(PosterOptions given)
      : options(std::move(given)),
        store(options.instances.size(), {options.resend, options.resolved_for}),
        work(asio::make_work_guard(context)) {}

  void spawn(Sender& sender);
  asio::awaitable<void> send(Sender& sender);
  asio::awaitable<void> wait(Sender& sender, TimePoint until, bool wakes_early);
  void take_inbox();
  void publish(const Sender& sender, bool backs_off);
  void wake() noexcept;
  void count(Sender& sender, const net::Outcome& outcome, std::size_t alerts);
  [[nodiscard]] bool idle() const;  // with the mutex

  PosterOptions options;

  // Of the poster's thread.
  asio::io_context context{1};
  AlertStore store;
  std::vector<std::unique_ptr<Sender>> senders;
  TimePoint expired_at{};

  // Of all threads.
  mutable std::mutex mutex;
  std::condition_variable progressed;
  std::vector<Message> inbox;
  std::size_t inbox_bytes = 0;
  bool taking = false;  // from the inbox, and what is due is not counted yet
  std::map<Owner, TimePoint> permissions;
  bool permitting = false;  // an owner may post again
  PosterStatus status;

  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::thread thread;
};

stream::Result<std::unique_ptr<Poster>> Poster::start(PosterOptions options) {
  for (const auto& [label, value] : options.labels) {
    if (own_label(label))
      return stream::Error{stream::Errc::malformed, "the label " + label + " is set by tocsin; choose another name"};
    if (!valid_label(label))
      return stream::Error{stream::Errc::malformed,
                           "'" + label + "' cannot name a label: write letters, digits and _, and begin with no digit"};
  }
  if (!options.external_url.empty())
    if (auto valid = net::parse_url(options.external_url); !valid) return valid.error();
  std::vector<net::Url> urls;
  for (const Instance& instance : options.instances) {
    auto url = net::parse_url(instance.url);
    if (!url) return url.error();
    urls.push_back(std::move(*url));
  }
  options.batch = std::max<std::size_t>(options.batch, 1);
  auto state = std::make_unique<State>(std::move(options));
  for (std::size_t i = 0; i < urls.size(); ++i) {
    state->status.instances.emplace_back().url = state->options.instances[i].url;
    state->senders.push_back(std::make_unique<State::Sender>(state->context, i, state->options.instances[i], urls[i],
                                                             state->options.request_timeout));
  }
  return std::unique_ptr<Poster>{new Poster{std::move(state)}};
}

Poster::Poster(std::unique_ptr<State> state) : state_(std::move(state)) {
  for (auto& sender : state_->senders) state_->spawn(*sender);
  state_->thread = std::thread{[state = state_.get()] { state->context.run(); }};
}

Poster::~Poster() {
  state_->context.stop();
  state_->thread.join();
}

void Poster::report(Owner owner, const stream::AlertTransition& transition) noexcept {
  const auto mode = transition.mode;
  if (transition.severity == stream::Severity::none || mode == stream::Mode::shadow) return;
  if (mode == stream::Mode::canary && !state_->options.canary) return;
  try {
    Reported reported{owner,
                      transition.id,
                      transition.number,
                      transition.state == stream::AlertState::firing,
                      transition.since,
                      transition.at,
                      render(transition, state_->options)};
    const std::size_t bytes = reported.bytes();
    bool first = false;
    {
      const std::lock_guard lock{state_->mutex};
      // A quarter more for those that resolve: what is posted as firing must be able to end.
      const std::size_t most = state_->options.most_bytes + (reported.firing ? 0 : state_->options.most_bytes / 4);
      if (state_->status.bytes + state_->inbox_bytes + bytes > most) {
        ++state_->status.dropped;
        return;
      }
      first = state_->inbox.empty();
      state_->inbox.emplace_back(std::move(reported));
      state_->inbox_bytes += bytes;
    }
    if (first) state_->wake();
  } catch (...) {
    const std::lock_guard lock{state_->mutex};
    ++state_->status.dropped;
  }
}

void Poster::permit(Owner owner, TimePoint until) noexcept {
  bool again = false;
  try {
    const std::lock_guard lock{state_->mutex};
    auto& permission = state_->permissions[owner];
    again = permission <= Clock::now();
    permission = until;
    if (again) state_->permitting = true;
  } catch (...) { return; }  // out of memory: the next commit tries again
  if (again) state_->wake();
}

void Poster::withdraw(Owner owner) noexcept {
  try {
    const std::lock_guard lock{state_->mutex};
    state_->permissions.erase(owner);
    state_->inbox.emplace_back(State::Withdrawn{owner});
  } catch (...) { return; }  // out of memory: without a permission nothing is posted anyway
  state_->wake();
}

bool Poster::drain(std::chrono::milliseconds at_most) {
  std::unique_lock lock{state_->mutex};
  return state_->progressed.wait_for(lock, at_most, [this] { return state_->idle(); });
}

PosterStatus Poster::status() const {
  const std::lock_guard lock{state_->mutex};
  return state_->status;
}

bool Poster::State::idle() const {
  return !taking && inbox.empty() && !permitting &&
         std::all_of(status.instances.begin(), status.instances.end(),
                     [](const InstanceStatus& i) { return i.waiting == 0 || i.backs_off; });
}

void Poster::State::wake() noexcept {
  try {
    asio::post(context, [this] {
      take_inbox();
      for (auto& sender : senders)
        if (sender->wakes_early) sender->timer.cancel();
    });
  } catch (...) {}  // out of memory: a sender looks again within a minute
}

// What was reported and permitted since.
void Poster::State::take_inbox() {
  const TimePoint now = Clock::now();
  std::vector<Message> messages;
  std::map<Owner, TimePoint> permitted;
  {
    const std::lock_guard lock{mutex};
    messages.swap(inbox);
    permitted = permissions;
    permitting = false;
    taking = true;
  }
  for (Message& message : messages) {
    if (auto* reported = std::get_if<Reported>(&message)) store.apply(std::move(*reported), now);
    else store.withdraw(std::get<Withdrawn>(message).owner);
  }
  for (const Owner owner : store.set_aside())
    if (may_post(permitted, owner, now)) store.permit(owner, now);
  if (now - expired_at >= std::min(std::chrono::milliseconds{1000}, options.resolved_for))
    store.expire(expired_at = now);

  const std::lock_guard lock{mutex};
  taking = false;
  inbox_bytes = 0;
  for (const Message& message : inbox)
    if (const auto* reported = std::get_if<Reported>(&message)) inbox_bytes += reported->bytes();
  status.bytes = store.bytes();
  status.kept = store.kept();
  status.firing = store.firing();
  for (auto& sender : senders) status.instances[sender->index].waiting = store.waiting(sender->index);
}

void Poster::State::publish(const Sender& sender, bool backs_off) {
  const std::lock_guard lock{mutex};
  InstanceStatus& instance = status.instances[sender.index];
  instance.backs_off = backs_off;
  instance.waiting = store.waiting(sender.index);
  progressed.notify_all();
}

void Poster::State::count(Sender& sender, const net::Outcome& outcome, std::size_t alerts) {
  std::string before, url;
  {
    const std::lock_guard lock{mutex};
    InstanceStatus& instance = status.instances[sender.index];
    ++instance.posts[outcome.code];
    if (outcome.delivered()) instance.alerts += alerts;
    before = std::exchange(instance.last_error, outcome.message);
    url = instance.url;
  }
  if (!options.log || before == outcome.message) return;
  options.log("alertmanager " + url +
              (outcome.delivered() ? " takes alerts again" : " does not take alerts: " + outcome.message));
}

asio::awaitable<void> Poster::State::wait(Sender& sender, TimePoint until, bool wakes_early) {
  const TimePoint latest = Clock::now() + std::chrono::minutes{1};
  sender.timer.expires_at(std::min(until, latest));
  sender.wakes_early = wakes_early;
  co_await sender.timer.async_wait(asio::as_tuple(asio::use_awaitable));
  sender.wakes_early = false;
}

// A sender ends only by an exception (out of memory), and then begins again.
void Poster::State::spawn(Sender& sender) {
  asio::co_spawn(context, send(sender), [this, &sender](const std::exception_ptr& ended) {
    if (!ended) return;
    sender.client.close();
    spawn(sender);
  });
}

asio::awaitable<void> Poster::State::send(Sender& sender) {
  auto back_off = options.first_back_off;
  for (;;) {
    take_inbox();
    if (store.next_due(sender.index) > Clock::now()) {
      publish(sender, false);
      co_await wait(sender, store.next_due(sender.index), true);
      continue;
    }
    AlertStore::Batch batch;
    net::Outcome outcome;
    auto not_open = co_await sender.client.open();
    if (not_open) {
      outcome = std::move(*not_open);
    } else {
      take_inbox();
      std::map<Owner, TimePoint> permissions_now;
      {
        const std::lock_guard lock{mutex};
        permissions_now = permissions;
      }
      const TimePoint now = Clock::now();
      TimePoint until = TimePoint::max();  // all owners of the batch may post
      const auto permitted = [&](Owner owner) {
        if (!may_post(permissions_now, owner, now)) return false;
        until = std::min(until, permissions_now.at(owner));
        return true;
      };
      batch = store.next(sender.index, std::min(options.batch, sender.most), now, std::chrono::system_clock::now(),
                         permitted);
      if (batch.alerts.empty()) continue;
      outcome = co_await sender.client.send({"POST", "/api/v2/alerts", "application/json", {}, batch.body}, until);
      if (outcome.code.empty()) continue;
    }
    if (outcome.code == "413" && batch.alerts.size() > 1) {  // at once again, in parts
      sender.most = batch.alerts.size() / 2;
      continue;
    }
    count(sender, outcome, batch.alerts.size());
    if (outcome.delivered() && batch.alerts.size() == sender.most) ++sender.most;
    if (outcome.delivered() || outcome.rejected()) {
      store.acknowledged(sender.index, batch, Clock::now());
      back_off = options.first_back_off;
      publish(sender, false);
      continue;
    }
    publish(sender, true);
    for (const TimePoint end = Clock::now() + back_off; Clock::now() < end;) co_await wait(sender, end, false);
    back_off = std::min(back_off * 2, options.longest_back_off);
  }
}

}  // namespace tocsin::adapters::alertmanager
