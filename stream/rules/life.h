#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "stream/rules/alert.h"
#include "stream/rules/streak.h"
#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/copy_on_write.h"

namespace tocsin::stream {

// One member's state in a rule: from its first yes until it is quiet again.
struct Life {
  Streak streak;
  bool on = false;           // fire has held and clear has not since: the rule's answer, whatever happened to the alert
  bool published = false;    // an alert of it is firing
  Time withheld = never;     // since when the subject's limit keeps it from firing
  std::string explained_by;  // a parent that fires on an overlapping member
  std::string attempt;       // of a rule of scope "job": the attempt in which it fired first
  std::uint64_t id = 0;
  std::uint32_t number = 0;  // of its last transition
  Time first = never;        // first T: that of pending
  Time last_known{};
  Time moved = long_ago;  // T of its last transition
  Finding finding;        // of the last firing transition
  std::optional<std::uint64_t> pid;

  // The alert has cleared: the next one on this member gets a new id.
  void begin_anew() { first = never, number = 0, explained_by.clear(), attempt.clear(); }
  static void fields(auto& self, auto& archive) {
    archive(1, self.streak), archive(2, self.on), archive(3, self.published), archive(11, self.withheld);
    archive(5, self.explained_by), archive(6, self.id), archive(7, self.number), archive(8, self.first);
    archive(9, self.last_known), archive(10, self.finding.shows), archive(12, self.moved),
        archive(13, self.finding.actions);
    archive(14, self.attempt), archive(15, self.finding.implies), archive(16, self.finding.not_known);
    archive(17, self.finding.cannot_decide), archive(18, self.finding.evidence),
        archive(19, self.finding.evidence_texts);
    archive(20, self.finding.who), archive(21, self.pid);
  }
};

// The members of a rule that are not quiet, by slot. Most rules never have one, so an empty one is a null pointer.
// Owned by its RuleRun.
class Lives {
 public:
  using Map = std::map<Slot, Life>;

  [[nodiscard]] bool empty() const noexcept { return !map_; }
  [[nodiscard]] std::size_t size() const noexcept { return map_ ? (*map_)->size() : 0; }
  [[nodiscard]] Map::iterator begin() { return map_ ? map_->own().begin() : Map::iterator{}; }
  [[nodiscard]] Map::iterator end() { return map_ ? map_->own().end() : Map::iterator{}; }
  [[nodiscard]] Map::const_iterator begin() const noexcept { return map_ ? (*map_)->cbegin() : Map::const_iterator{}; }
  [[nodiscard]] Map::const_iterator end() const noexcept { return map_ ? (*map_)->cend() : Map::const_iterator{}; }
  [[nodiscard]] Map::iterator find(Slot slot) { return map_ ? map_->own().find(slot) : end(); }
  [[nodiscard]] Map::const_iterator find(Slot slot) const { return map_ ? (*map_)->find(slot) : end(); }
  [[nodiscard]] Life& at(Slot slot) { return map_->own().at(slot); }
  [[nodiscard]] Slot last() const { return (*map_)->rbegin()->first; }  // of one that is not empty

  Life& operator[](Slot slot) {
    if (!map_) map_ = std::make_unique<CopyOnWrite<Map>>();
    return map_->own()[slot];
  }
  // The one after it.
  Map::iterator erase(Map::iterator at) {
    const auto next = map_->own().erase(at);
    if (!(*map_)->empty()) return next;
    map_.reset();
    return {};
  }
  void clear() noexcept { map_.reset(); }

  // As a map.
  void save_as(Tag tag, Writer& out) const {
    if (!map_) return out(tag, Map{});
    out.later([tag, lent = map_->lend()](Writer& of) { of(tag, *lent); });
  }
  void load_as(Tag tag, Reader& in) {
    Map map;
    in(tag, map);
    map_ = map.empty() ? nullptr : std::make_unique<CopyOnWrite<Map>>(std::move(map));
  }

 private:
  std::unique_ptr<CopyOnWrite<Map>> map_;
};

}  // namespace tocsin::stream
