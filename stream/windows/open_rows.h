#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "stream/values/value.h"
#include "stream/windows/row_grid.h"

namespace tocsin::stream {

// Open rows, oldest first: of each, the values of all members, and of each value the time within the row. They are few,
// and lie in one block. Owned by its Rows; what it gives lasts until a row comes or the members change.
template <class T>
class OpenRows {
 public:
  struct Row {
    RowNumber number;
    std::span<T> values;               // by slot
    std::span<std::uint32_t> offsets;  // of the sample's time within the row, in units; 0: none
  };

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t members() const noexcept { return members_; }
  [[nodiscard]] RowNumber number(std::size_t index) const noexcept { return numbers()[place_of(index)]; }
  [[nodiscard]] Row operator[](std::size_t index) const noexcept {
    std::byte* const row = block_.get() + capacity_ * sizeof(RowNumber) + place_of(index) * row_bytes(room_);
    return {number(index),
            {reinterpret_cast<T*>(row), members_},
            {reinterpret_cast<std::uint32_t*>(row + room_ * sizeof(T)), members_}};
  }

  // A row without values. `number` is that of none of the others.
  Row insert(RowNumber number) {
    if (size_ == capacity_) move_to(std::max(few, 2 * capacity_), room_);
    std::size_t index = size_++;
    for (; index > 0 && number < this->number(index - 1); --index) copy(index - 1, *this, index);
    numbers()[place_of(index)] = number;
    const Row row = (*this)[index];
    std::ranges::fill(row.values, absent_of<T>);
    std::ranges::fill(row.offsets, 0u);
    return row;
  }
  void pop_front() noexcept {
    if (++first_ == capacity_) first_ = 0;
    --size_;
  }
  // Members are often learned one by one, so there is room for more of them.
  void widen(std::size_t members) {
    if (members > room_) move_to(capacity_, members <= few_members ? members : members + members / 4);
    const std::size_t had = std::exchange(members_, members);
    for (std::size_t i = 0; i < size_; ++i) {
      const Row row = (*this)[i];
      std::ranges::fill(row.values.subspan(had), absent_of<T>);
      std::ranges::fill(row.offsets.subspan(had), 0u);
    }
  }
  [[nodiscard]] std::size_t retained_bytes() const noexcept { return block_bytes(capacity_, room_); }

 private:
  static constexpr std::size_t few = 4, few_members = 16;
  // A row begins where a double may lie.
  static std::size_t row_bytes(std::size_t room) noexcept {
    return (room * (sizeof(T) + sizeof(std::uint32_t)) + 7) & ~std::size_t{7};
  }
  static std::size_t block_bytes(std::size_t capacity, std::size_t room) noexcept {
    return capacity * (sizeof(RowNumber) + row_bytes(room));
  }
  [[nodiscard]] RowNumber* numbers() const noexcept { return reinterpret_cast<RowNumber*>(block_.get()); }
  [[nodiscard]] std::size_t place_of(std::size_t index) const noexcept {
    const std::size_t place = first_ + index;
    return place < capacity_ ? place : place - capacity_;
  }
  void copy(std::size_t index, OpenRows& to, std::size_t place) const {
    const Row from = (*this)[index];
    to.numbers()[to.place_of(place)] = from.number;
    const Row into = to[place];
    std::ranges::copy(from.values, into.values.begin());
    std::ranges::copy(from.offsets, into.offsets.begin());
  }
  void move_to(std::size_t capacity, std::size_t room) {
    OpenRows wider;
    wider.capacity_ = capacity, wider.room_ = room, wider.members_ = members_, wider.size_ = size_;
    wider.block_ = std::make_unique_for_overwrite<std::byte[]>(block_bytes(capacity, room));
    for (std::size_t i = 0; i < size_; ++i) copy(i, wider, i);
    *this = std::move(wider);
  }

  std::unique_ptr<std::byte[]> block_;  // the numbers of all places, and their rows
  std::size_t capacity_ = 0, first_ = 0, size_ = 0, members_ = 0, room_ = 0;
};

}  // namespace tocsin::stream
