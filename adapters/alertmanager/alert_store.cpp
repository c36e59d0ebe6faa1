#include "adapters/alertmanager/alert_store.h"

#include <algorithm>

#include "adapters/formats/json.h"
#include "adapters/formats/parse_time.h"

namespace tocsin::adapters::alertmanager {

using stream::Time;

namespace {
constexpr std::size_t overhead = 400;  // of an alert: map nodes, queues
}

std::size_t Reported::bytes() const noexcept {
  constexpr std::size_t alert =
      200;  // at least what an Alert takes: as many bytes as it will have in the store, so that none are missed
  return rendered.labels.size() * 2 + rendered.annotations.size() + rendered.generator_url.size() + alert + overhead;
}

bool AlertStore::Entry::firing() const noexcept {
  return std::any_of(alerts.begin(), alerts.end(), [](const Alert& alert) { return alert.firing; });
}
std::size_t AlertStore::Entry::bytes() const noexcept {
  std::size_t sum = labels.size() * 2 + overhead;
  for (const Alert& alert : alerts) sum += alert.annotations.size() + alert.generator_url.size() + sizeof(Alert);
  return sum;
}

void AlertStore::apply(Reported reported, TimePoint now) {
  std::uint64_t order = 0;
  if (const auto known = by_id_.find(reported.id); known != by_id_.end()) order = known->second;
  else if (const auto same = by_labels_.find(reported.rendered.labels); same != by_labels_.end()) order = same->second;
  else {
    order = next_order_++;
    Entry fresh;
    fresh.order = order;
    fresh.labels = std::move(reported.rendered.labels);
    fresh.due.resize(queues_.size(), TimePoint::max());
    fresh.waits.resize(queues_.size());
    by_labels_.emplace(fresh.labels, order);
    bytes_ += fresh.bytes();
    entries_.emplace(order, std::move(fresh));
  }
  Entry& entry = entries_.at(order);
  auto alert =
      std::find_if(entry.alerts.begin(), entry.alerts.end(), [&](const Alert& a) { return a.id == reported.id; });
  if (alert != entry.alerts.end() && alert->number >= reported.number) return;
  bytes_ -= entry.bytes();
  firing_ -= entry.firing() ? 1 : 0;
  if (alert != entry.alerts.end()) entry.alerts.erase(alert);
  by_id_[reported.id] = order;
  if (const auto aside = set_aside_.find(entry.owner); aside != set_aside_.end()) aside->second.erase(order);
  entry.owner = reported.owner;
  entry.alerts.push_back({reported.id, reported.number, reported.firing, reported.since, reported.at,
                          std::move(reported.rendered.annotations), std::move(reported.rendered.generator_url), now});
  ++entry.version;
  firing_ += entry.firing() ? 1 : 0;
  bytes_ += entry.bytes();
  for (std::size_t i = 0; i < queues_.size(); ++i) set_due(entry, i, now, true);
}

void AlertStore::withdraw(Owner owner) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto here = at++;
    if (here->second.owner == owner) erase(here->first);
  }
  set_aside_.erase(owner);
}

void AlertStore::expire(TimePoint now) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto here = at++;
    Entry& entry = here->second;
    const std::size_t before = entry.bytes();
    std::erase_if(entry.alerts, [&](const Alert& alert) {
      const bool old = !alert.firing && now - alert.resolved >= timing_.resolved_for;
      if (old) by_id_.erase(alert.id);
      return old;
    });
    bytes_ = bytes_ - before + entry.bytes();
    if (entry.alerts.empty()) erase(here->first);
  }
}

void AlertStore::erase(std::uint64_t order) {
  Entry& entry = entries_.at(order);
  firing_ -= entry.firing() ? 1 : 0;
  bytes_ -= entry.bytes();
  for (std::size_t i = 0; i < queues_.size(); ++i) set_due(entry, i, TimePoint::max(), false);
  for (const Alert& alert : entry.alerts) by_id_.erase(alert.id);
  if (const auto aside = set_aside_.find(entry.owner); aside != set_aside_.end()) aside->second.erase(order);
  by_labels_.erase(entry.labels);
  entries_.erase(order);
}

void AlertStore::set_due(Entry& entry, std::size_t instance, TimePoint due, bool waits) {
  queues_[instance].erase({entry.due[instance], entry.order});
  entry.due[instance] = due;
  if (due != TimePoint::max()) queues_[instance].emplace(due, entry.order);
  waiting_[instance] -= entry.waits[instance] ? 1 : 0;
  waiting_[instance] += waits ? 1 : 0;
  entry.waits[instance] = waits;
}

AlertStore::TimePoint AlertStore::next_due(std::size_t instance) const {
  return queues_[instance].empty() ? TimePoint::max() : queues_[instance].begin()->first;
}

std::vector<Owner> AlertStore::set_aside() const {
  std::vector<Owner> owners;
  for (const auto& [owner, orders] : set_aside_) owners.push_back(owner);
  return owners;
}

AlertStore::Batch AlertStore::next(std::size_t instance, std::size_t most, TimePoint now, Time wall,
                                   const Permitted& permitted) {
  Batch batch;
  const Queue& queue = queues_[instance];
  for (auto at = queue.begin(); at != queue.end() && at->first <= now && batch.alerts.size() < most;) {
    Entry& entry = entries_.at(at->second);
    ++at;
    if (!permitted(entry.owner)) {
      set_due(entry, instance, TimePoint::max(), false);
      set_aside_[entry.owner].insert(entry.order);
      continue;
    }
    batch.body += batch.alerts.empty() ? '[' : ',';
    batch.body += body_of(entry, wall);
    batch.alerts.emplace_back(entry.order, entry.version);
  }
  if (!batch.alerts.empty()) batch.body += ']';
  return batch;
}

void AlertStore::permit(Owner owner, TimePoint now) {
  const auto aside = set_aside_.find(owner);
  if (aside == set_aside_.end()) return;
  for (const std::uint64_t order : aside->second) {
    Entry& entry = entries_.at(order);
    for (std::size_t i = 0; i < queues_.size(); ++i)
      if (entry.due[i] == TimePoint::max()) set_due(entry, i, now, true);
  }
  set_aside_.erase(aside);
}

void AlertStore::acknowledged(std::size_t instance, const Batch& batch, TimePoint now) {
  for (const auto& [order, version] : batch.alerts) {
    const auto found = entries_.find(order);
    if (found != entries_.end() && found->second.version == version)
      set_due(found->second, instance, now + timing_.resend, false);
  }
}

std::string AlertStore::body_of(const Entry& entry, Time wall) const {
  const bool fires = entry.firing();
  const Alert* shown = nullptr;
  Time starts = stream::never;
  for (const Alert& alert : entry.alerts)
    if (alert.firing == fires) {
      shown = &alert;  // the last one that was reported
      if (fires) starts = std::min(starts, alert.since);
    }
  if (!fires) starts = shown->since;
  // Beyond four intervals Alertmanager ends an alert by itself: the engine is gone.
  const Time ends = fires ? wall + 4 * timing_.resend : std::min(shown->at, wall);
  formats::Json times{{"startsAt", formats::rfc3339(starts, 3)},
                      {"endsAt", formats::rfc3339(std::max(starts, ends), 3)}};
  if (!shown->generator_url.empty()) times["generatorURL"] = shown->generator_url;
  return "{\"labels\":" + entry.labels + ",\"annotations\":" + shown->annotations + ',' +
         formats::dump(times).substr(1);
}

}  // namespace tocsin::adapters::alertmanager
