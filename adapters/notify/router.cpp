#include "adapters/notify/router.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "stream/values/digest.h"

namespace tocsin::adapters::notify {
namespace {

using stream::Time;

constexpr std::chrono::hours hour{1}, forgotten_after{24 * 7};
constexpr std::size_t most_ended = 1000, most_finished = 2000;

bool fits(const std::vector<std::string>& patterns, const std::string& text) {
  return patterns.empty() || stream::allows(patterns, &text);
}

bool fits(const std::map<std::string, std::vector<std::string>>& wanted,
          const std::map<std::string, std::string>& labels, const std::string& job) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
    const auto found = labels.find(one.first);
    const std::string* value = found != labels.end() ? &found->second : one.first == "name" ? &job : nullptr;
    return stream::allows(one.second, value);
  });
}

// One message for each alert, and none for the ends of jobs.
bool one_by_one(const Receiver& receiver) { return receiver.medium == Medium::pagerduty; }

// What goes first: beginnings, the most severe, the newest.
std::tuple<bool, stream::Severity, Time> urgency(const Alert& alert) {
  return {alert.firing, alert.severity, alert.at};
}

// The end of an alert whose beginning was notified goes whatever the limit is.
bool only_resolves(const Alert& alert, bool first) { return !alert.firing && !first; }

std::uint64_t id_of(const Message& message, const Receiver& receiver) {
  std::uint64_t id = stream::hash_text(receiver.name);
  const auto add = [&id](std::uint64_t number) { id = stream::hash_text(std::to_string(number), id); };
  for (const Message::Item& item : message.items) add(item.alert.id), add(item.alert.number), add(item.first ? 1 : 0);
  if (message.ended) add(message.ended->id);
  // A repeat says the same again, and is another message.
  if (!message.ended && std::none_of(message.items.begin(), message.items.end(),
                                     [](const auto& item) { return item.first || !item.alert.firing; }))
    add(static_cast<std::uint64_t>(stream::nanoseconds(message.at)));
  return id;
}

}  // namespace

Router::Router(std::vector<Receiver> receivers) : receivers_(std::move(receivers)), lines_(receivers_.size()) {
  for (std::size_t i = 0; i < receivers_.size(); ++i)
    if (const auto severity = severity_named(receivers_[i].severity)) lines_[i].least = *severity;
}

bool Router::wants(const Receiver& r, const Line& line, const Alert& alert) const {
  return r.alerts && alert.severity >= line.least && fits(r.families, alert.family) && fits(r.rules, alert.rule) &&
         fits(r.modes, alert.mode) && fits(r.jobs, alert.labels, alert.job);
}

void Router::alert(Owner owner, const Alert& alert, Time now, bool restored) {
  if (alert.severity == stream::Severity::none) return;
  auto found = alerts_.find(alert.id);
  if (found == alerts_.end()) {
    const auto before =
        std::find_if(finished_.rbegin(), finished_.rend(), [&](const auto& one) { return one.first == alert.id; });
    if (!alert.firing || (before != finished_.rend() && before->second >= alert.number)) return;
    if (alerts_.size() >= most_alerts) return void(++dropped_);
    found = alerts_.emplace(alert.id, Known{}).first;
  }
  Known& known = found->second;
  known.owner = owner;
  if (std::exchange(known.away, false))  // it is notified here again
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (const auto notified = lines_[i].notified.find(alert.id);
          notified != lines_[i].notified.end() && notified->second.pending)
        lines_[i].group_due = std::min(lines_[i].group_due, now + receivers_[i].group);
  if (known.alert.number >= alert.number) return;
  const bool notified_elsewhere = restored && known.alert.number == 0 && now - alert.at > new_for;
  known.alert = alert;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    Line& line = lines_[i];
    const Receiver& receiver = receivers_[i];
    auto notified = line.notified.find(alert.id);
    if (notified == line.notified.end()) {
      if (!alert.firing || !wants(receiver, line, alert)) continue;
      notified = line.notified.emplace(alert.id, Notified{}).first;
    }
    if (notified_elsewhere) {
      notified->second = {alert.number, alert.at, false};
      continue;
    }
    const bool unseen = notified->second.number == 0;
    if (!alert.firing && unseen && held_until(i, now) > now) {
      ++line.left_out;
      line.notified.erase(notified);
      continue;
    }
    notified->second.pending = alert.firing || unseen || receiver.resolved;
    if (!notified->second.pending) line.notified.erase(notified);
    else line.group_due = std::min(line.group_due, now + receiver.group);
  }
}

void Router::ended(Owner owner, Ended ended, Time) {
  if (std::find(ended_.begin(), ended_.end(), ended.id) != ended_.end()) return;
  ended_.push_back(ended.id);
  if (ended_.size() > most_ended) ended_.pop_front();
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Receiver& r = receivers_[i];
    if (one_by_one(r) || r.verdicts == "none" || (r.verdicts == "failed" && !ended.failed)) continue;
    if (fits(r.jobs, ended.labels, ended.job)) lines_[i].ended.emplace_back(owner, ended);
  }
}

void Router::withdraw(Owner owner) {
  for (auto& [id, known] : alerts_)
    if (known.owner == owner) known.away = true;
  for (Line& line : lines_) std::erase_if(line.ended, [owner](const auto& one) { return one.first == owner; });
}

void Router::hurry(Time now, bool last) {
  for (Line& line : lines_) {
    if (line.group_due != stream::never) line.group_due = std::min(line.group_due, now);
    if (last) line.sent.clear();
  }
}

Time Router::held_until(std::size_t receiver, Time now) const {
  const auto& sent = lines_[receiver].sent;
  const auto within = std::find_if(sent.begin(), sent.end(), [now](Time at) { return at > now - hour; });
  const auto count = static_cast<std::size_t>(sent.end() - within);
  const auto limit = static_cast<std::size_t>(receivers_[receiver].limit);
  return limit == 0 || count < limit ? stream::long_ago : *(sent.end() - static_cast<std::ptrdiff_t>(limit)) + hour;
}

Time Router::repeat_due(std::size_t receiver, const Notified& notified, const Known& known) const {
  if (receivers_[receiver].repeat.count() == 0 || one_by_one(receivers_[receiver]) || known.away ||
      notified.number == 0 || !known.alert.firing || notified.pending)
    return stream::never;
  return notified.at + receivers_[receiver].repeat;
}

void Router::send(Message message, Time now, std::vector<Message>& out) {
  Line& line = lines_[message.receiver];
  std::stable_sort(message.items.begin(), message.items.end(),
                   [](const auto& a, const auto& b) { return urgency(a.alert) > urgency(b.alert); });
  message.at = now;
  message.id = id_of(message, receivers_[message.receiver]);
  if (message.items.size() > most_items) {
    message.more = message.items.size() - most_items;
    message.items.resize(most_items);
  }
  const bool counts = message.ended || message.items.empty() ||
                      std::any_of(message.items.begin(), message.items.end(),
                                  [](const auto& item) { return !only_resolves(item.alert, item.first); });
  if (counts) {
    message.left_out = std::exchange(line.left_out, 0);
    if (receivers_[message.receiver].limit > 0) line.sent.push_back(now);
    while (!line.sent.empty() && line.sent.front() <= now - hour) line.sent.pop_front();
    if (const Time until = held_until(message.receiver, now); until > now) message.held_until = until;
  }
  out.push_back(std::move(message));
}

void Router::collect(std::size_t receiver, Time now, const Permitted& permitted, std::vector<Message>& out) {
  Line& line = lines_[receiver];
  const auto held = [&] { return held_until(receiver, now) > now; };
  while (!line.ended.empty() && permitted(line.ended.front().first) && !held()) {
    Message message;
    message.receiver = receiver;
    message.ended = std::move(line.ended.front().second);
    line.ended.pop_front();
    // What is about to be notified of the job goes with its end.
    for (auto& [id, notified] : line.notified) {
      const Known& known = alerts_.at(id);
      if (!notified.pending || known.away || known.alert.job != message.ended->job) continue;
      message.items.push_back({known.alert, notified.number == 0});
      notified = {known.alert.number, now, false};
    }
    send(std::move(message), now, out);
  }
  Message message;
  message.receiver = receiver;
  const bool group = line.group_due <= now;
  Time left = stream::never;  // when what waits still is due
  std::vector<std::pair<const Known*, Notified*>> notifiable;
  for (auto& [id, notified] : line.notified) {
    const Known& known = alerts_.at(id);
    const bool tell = (notified.pending && group) || repeat_due(receiver, notified, known) <= now;
    if (!tell || known.away) continue;
    if (permitted(known.owner)) notifiable.emplace_back(&known, &notified);
    else if (notified.pending) left = line.group_due;
  }
  std::stable_sort(notifiable.begin(), notifiable.end(),
                   [](const auto& a, const auto& b) { return urgency(a.first->alert) > urgency(b.first->alert); });
  for (const auto& [one_known, one_notified] : notifiable) {
    const Known& known = *one_known;
    Notified& notified = *one_notified;
    if (held() && !only_resolves(known.alert, notified.number == 0)) {
      if (notified.pending) left = std::min(left, held_until(receiver, now));
      continue;
    }
    message.items.push_back({known.alert, notified.number == 0});
    if (one_by_one(receivers_[receiver])) {
      Message one;
      one.receiver = receiver;
      one.items = std::exchange(message.items, {});
      if (one.items.front().first && !known.alert.firing) {  // a resolve of what was never triggered would be lost
        Message before = one;
        before.items.front().alert.firing = true;
        send(std::move(before), now, out);
        one.items.front().first = false;
      }
      send(std::move(one), now, out);
    }
    notified = {known.alert.number, now, false};
  }
  if (group) line.group_due = left;
  if (!message.items.empty() || (line.left_out > 0 && !held())) send(std::move(message), now, out);
}

std::vector<Message> Router::due(Time now, const Permitted& permitted) {
  std::vector<Message> out;
  for (std::size_t i = 0; i < receivers_.size(); ++i) collect(i, now, permitted, out);
  forget_finished();
  return out;
}

// Of a resolved alert nothing more will be notified once every receiver has been, and of one that nobody wants nothing.
void Router::forget_finished() {
  for (auto at = alerts_.begin(); at != alerts_.end();) {
    const auto& [id, known] = *at;
    bool needed = false;
    for (Line& line : lines_) {
      const auto notified = line.notified.find(id);
      if (notified == line.notified.end()) continue;
      if (known.alert.firing || notified->second.pending) needed = true;
      else line.notified.erase(notified);
    }
    if (needed) {
      ++at;
      continue;
    }
    finished_.emplace_back(id, known.alert.number);
    if (finished_.size() > most_finished) finished_.pop_front();
    at = alerts_.erase(at);
  }
}

Time Router::next_due() const {
  Time next = stream::never;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    Time own = line.group_due;
    if (!line.ended.empty() || line.left_out > 0) own = stream::long_ago;
    for (const auto& [id, notified] : line.notified) {
      const Known& known = alerts_.at(id);
      own = std::min(own, repeat_due(i, notified, known));
      if (notified.pending && only_resolves(known.alert, notified.number == 0)) next = std::min(next, line.group_due);
    }
    if (own == stream::never) continue;
    const Time held = receivers_[i].limit == 0 || line.sent.size() < receivers_[i].limit
                          ? stream::long_ago
                          : *(line.sent.end() - static_cast<std::ptrdiff_t>(receivers_[i].limit)) + hour;
    next = std::min(next, std::max(own, held));
  }
  return next;
}

std::size_t Router::waiting(std::size_t receiver) const {
  const Line& line = lines_[receiver];
  return line.ended.size() +
         static_cast<std::size_t>(std::count_if(line.notified.begin(), line.notified.end(),
                                                [](const auto& one) { return one.second.pending; }));
}

std::string Router::state() const {
  using formats::Json;
  Json alerts = Json::array(), receivers = Json::object();
  for (const auto& [id, known] : alerts_) alerts.push_back({{"owner", known.owner}, {"alert", json_of(known.alert)}});
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    Json notified = Json::array(), sent = Json::array();
    for (const auto& [id, one] : line.notified)
      notified.push_back({id, one.number, stream::nanoseconds(one.at), one.pending ? 1 : 0});
    for (const Time at : line.sent) sent.push_back(stream::nanoseconds(at));
    receivers[receivers_[i].name] = {
        {"notified", std::move(notified)}, {"sent", std::move(sent)}, {"left_out", line.left_out}};
  }
  return formats::dump({{"version", 1},
                        {"alerts", std::move(alerts)},
                        {"receivers", std::move(receivers)},
                        {"ended", ended_},
                        {"finished", finished_}});
}

void Router::restore(const std::string& state, Time now, bool alone) {
  using formats::Json;
  try {
    const Json json = Json::parse(state);
    if (json.at("version") != 1) return;
    for (const Json& one : json.at("alerts")) {
      Known known{alert_from(one.at("alert")), one.at("owner"), !alone};
      if (now - known.alert.at < forgotten_after) alerts_.emplace(known.alert.id, std::move(known));
    }
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const auto found = json.at("receivers").find(receivers_[i].name);
      if (found == json.at("receivers").end()) continue;
      for (const Json& one : found->at("notified")) {
        if (!alerts_.contains(one.at(0))) continue;
        const Notified notified{one.at(1), stream::at_nanoseconds(one.at(2)), one.at(3) == 1};
        lines_[i].notified.emplace(one.at(0), notified);
        if (notified.pending) lines_[i].group_due = std::min(lines_[i].group_due, now + receivers_[i].group);
      }
      for (const Json& at : found->at("sent")) lines_[i].sent.push_back(stream::at_nanoseconds(at));
      lines_[i].left_out = found->at("left_out");
    }
    ended_ = json.at("ended").get<decltype(ended_)>();
    finished_ = json.at("finished").get<decltype(finished_)>();
  } catch (const std::exception&) {
    alerts_.clear();
    for (Line& line : lines_) line.notified.clear(), line.sent.clear(), line.group_due = stream::never;
  }
  forget_finished();
}

}  // namespace tocsin::adapters::notify
