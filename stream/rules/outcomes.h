#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "stream/values/value.h"

namespace tocsin::stream {

// A rule's outcomes, by slot. Those of few members lie in it: a job has a hundred rules. Owned by its RuleRun.
class Outcomes {
 public:
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const Truth> all() const noexcept {
    return {size_ <= few ? few_.data() : many_.get(), size_};
  }
  [[nodiscard]] Truth operator[](std::size_t slot) const noexcept { return all()[slot]; }
  void assign(std::span<const Truth> outcomes) {
    const auto size = static_cast<std::uint32_t>(outcomes.size());
    if (size > few && size != size_) many_ = std::make_unique_for_overwrite<Truth[]>(size);
    if (size <= few) many_.reset();
    std::ranges::copy(outcomes, size <= few ? few_.data() : many_.get());
    size_ = size;
  }

 private:
  static constexpr std::size_t few = 12;
  std::unique_ptr<Truth[]> many_;
  std::uint32_t size_ = 0;
  std::array<Truth, few> few_{};
};

}  // namespace tocsin::stream
