#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stream/values/value.h"
#include "stream/windows/row_grid.h"

namespace tocsin::stream {

// Closed rows, oldest first, in a ring: all members of a row side by side. Members that came later than a row have
// `nothing` in it, usually absent. Owned by its Rows; what it gives lasts until the next row comes.
template <class T>
class ClosedRows {
 public:
  struct Row {
    RowNumber number;
    std::span<const T> values;  // by slot
  };

  // `most`: how many rows are usually kept at the most.
  explicit ClosedRows(std::size_t most, T nothing = absent_of<T>) : most_(count(most)), nothing_(nothing) {}

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t members() const noexcept { return members_; }
  [[nodiscard]] Row operator[](std::size_t index) const noexcept {
    return {number(index), {values_.get() + place_of(index) * stride_, members_}};
  }
  [[nodiscard]] RowNumber number(std::size_t index) const noexcept {
    return numbers_.empty() ? from_ + static_cast<RowNumber>(index) : numbers_[place_of(index)];
  }
  [[nodiscard]] RowNumber first_number() const noexcept { return number(0); }
  [[nodiscard]] RowNumber last_number() const noexcept { return number(size_ - 1); }

  void push_back(RowNumber number, std::span<const T> values) {
    if (values.size() > members_ || size_ == places_) grow(std::max<std::size_t>(values.size(), members_));
    const std::size_t place = place_of(size_);
    if (size_ == 0) from_ = number, numbers_ = {};
    if (numbers_.empty() && number != from_ + static_cast<RowNumber>(size_)) {
      numbers_.resize(places_);
      for (std::size_t i = 0; i < size_; ++i) numbers_[place_of(i)] = from_ + static_cast<RowNumber>(i);
    }
    if (!numbers_.empty()) numbers_[place] = number;
    ++size_;
    T* const to = values_.get() + place * stride_;
    std::fill(std::ranges::copy(values, to).out, to + members_, nothing_);
  }
  // Where the next row will lie.
  [[gnu::always_inline]] void prefetch_next() const noexcept {
    if (size_ < places_) __builtin_prefetch(values_.get() + place_of(size_) * stride_, 1);
  }
  // Continues with the rows of another, which has those of this one then.
  void swap_rows(ClosedRows& other) noexcept {
    std::swap(most_, other.most_);
    std::swap(*this, other);
  }
  void clear() noexcept { first_ = size_ = 0, numbers_ = {}; }
  void pop_front() noexcept {
    if (++first_ == places_) first_ = 0;
    --size_;
    ++from_;
    if (numbers_.empty() || size_ == 0) return;
    from_ = number(0);
    if (last_number() - from_ + 1 == static_cast<RowNumber>(size_)) numbers_ = {};
  }
  // The index of the first row after `number`.
  [[nodiscard]] std::size_t after(RowNumber number) const noexcept {
    // Usually every row has a value: then the index follows from the number.
    if (empty() || number < first_number()) return 0;
    const auto guess = static_cast<std::size_t>(number - first_number()) + 1;
    if (guess <= size_ && this->number(guess - 1) == number) return guess;
    std::size_t low = 0, high = size_;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (number < this->number(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
  [[nodiscard]] std::size_t retained_bytes() const noexcept {
    return numbers_.size() * sizeof(RowNumber) + places_ * stride_ * sizeof(T);
  }

 private:
  static std::uint32_t count(std::size_t of) noexcept { return static_cast<std::uint32_t>(of); }
  [[nodiscard]] std::size_t place_of(std::size_t index) const noexcept {
    const std::size_t place = first_ + index;
    return place < places_ ? place : place - places_;
  }
  // Values of one member in rows one after the other must not all want the same place of a cache.
  static std::size_t stride_of(std::size_t members) noexcept {
    constexpr std::size_t line = 64 / sizeof(T), power = 1024 / sizeof(T);
    if (members <= few_members) return members;
    const std::size_t stride = (members + members / 16 + line - 1) / line * line;
    return stride % power == 0 ? stride + line : stride;
  }
  void grow(std::size_t members) {
    // Rows of few members are soon copied.
    const std::size_t size = size_, most = most_,
                      more = size + std::max(few_rows, members <= few_members ? size / 8 : size),
                      rows = size < places_ ? places_
                             : size < most  ? std::min(more, most)
                                            : more;
    const std::size_t stride = members > stride_ ? stride_of(members) : stride_;
    std::vector<RowNumber> numbers(numbers_.empty() ? 0 : rows);
    auto values = std::make_unique_for_overwrite<T[]>(rows * stride);
    if (!numbers.empty())
      for (std::size_t i = 0; i < size_; ++i) numbers[i] = number(i);
    if (members == members_ && members <= few_members) {
      const std::size_t before_wrap = std::min(size_, places_ - first_);
      const T* const from = values_.get();
      T* const to = std::copy_n(from + first_ * stride, before_wrap * stride, values.get());
      std::copy_n(from, (size_ - before_wrap) * stride, to);
    } else {
      for (std::size_t i = 0; i < size_; ++i) {
        T* const to = values.get() + i * stride;
        std::fill(std::ranges::copy((*this)[i].values, to).out, to + members, nothing_);
      }
    }
    numbers_ = std::move(numbers), values_ = std::move(values);
    first_ = 0, places_ = count(rows), stride_ = count(stride), members_ = count(members);
  }

  static constexpr std::size_t few_rows = 4, few_members = 16;
  std::uint32_t most_;
  T nothing_;
  std::uint32_t first_ = 0, size_ = 0, places_ = 0, members_ = 0, stride_ = 0;
  RowNumber from_ = 0;              // the number of the first
  std::vector<RowNumber> numbers_;  // by place; empty while each row follows the one before, as usual
  std::unique_ptr<T[]> values_;     // [place][stride]
};

}  // namespace tocsin::stream
