#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tocsin::stream {

// Columns of equally many members, in one block. What a column gives lasts until the members become more.
template <class T>
class MemberColumns {
 public:
  explicit MemberColumns(std::size_t columns) : columns_(columns) {}

  [[nodiscard]] std::size_t members() const noexcept { return members_; }
  [[nodiscard]] T* operator[](std::size_t column) noexcept { return values_.data() + column * room_; }
  [[nodiscard]] const T* operator[](std::size_t column) const noexcept { return values_.data() + column * room_; }
  [[nodiscard]] T at(std::size_t column, std::size_t member) const noexcept { return (*this)[column][member]; }

  // New members have 0. Members are often learned one by one, so there is room for more of them.
  void widen(std::size_t members) {
    if (members > room_) {
      MemberColumns wider{columns_};
      wider.room_ = members <= few ? members : members + members / 4;
      wider.values_.resize(columns_ * wider.room_);
      for (std::size_t c = 0; c < columns_; ++c) std::copy_n((*this)[c], members_, wider[c]);
      *this = std::move(wider);
    }
    members_ = std::max(members_, members);
  }
  [[nodiscard]] std::size_t retained_bytes() const noexcept { return values_.capacity() * sizeof(T); }

 private:
  static constexpr std::size_t few = 16;
  std::size_t columns_, members_ = 0, room_ = 0;
  std::vector<T> values_;  // [column][room]
};

}  // namespace tocsin::stream
