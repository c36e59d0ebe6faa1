#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// How often each member of a rule was evaluated, and with a known outcome. All members but the first, which of ranks is
// the reserved one, usually have the same numbers: then they stand here once. Owned by its RuleRun.
class EvaluationCounts {
 public:
  struct Counts {
    std::uint32_t evaluated = 0, known = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };

  [[nodiscard]] std::size_t members() const noexcept { return members_; }
  [[nodiscard]] Counts of(Slot slot) const noexcept {
    if (slot >= members_) return {};
    return each_ ? (*each_)[slot] : slot == 0 ? first_ : others_;
  }
  // So many evaluations with these outcomes. Members do not become fewer.
  void add(std::span<const Truth> outcomes, std::uint32_t times);
  void save(Writer& out) const;
  void load(Reader& in);
  // As in format 3 of a snapshot.
  void set(std::span<const std::uint32_t> evaluated, std::span<const std::uint32_t> known);

 private:
  void store_each();

  std::unique_ptr<std::vector<Counts>> each_;  // null: first_ and others_ are all
  Counts first_, others_;
  std::uint32_t members_ = 0;
};

}  // namespace tocsin::stream
