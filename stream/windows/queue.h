#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace tocsin::stream {

// A first-in, first-out queue in one block of memory, which is used again and again. Unlike std::deque it allocates
// only to grow; it gives memory back when it has come down to an eighth.
template <class T>  // default constructible and movable
class Queue {
 public:
  using value_type = T;
  template <class Owner, class Value>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Value*;
    using reference = Value&;
    Iterator() = default;
    Iterator(Owner& owner, std::size_t at) : owner_(&owner), at_(at) {}
    reference operator*() const { return (*owner_)[at_]; }
    pointer operator->() const { return &(*owner_)[at_]; }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return {*owner_, at_++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) noexcept { return a.at_ == b.at_; }

   private:
    Owner* owner_ = nullptr;
    std::size_t at_ = 0;
  };

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return places_.size(); }
  // By its distance from the front.
  T& operator[](std::size_t index) noexcept { return places_[place(index)]; }
  const T& operator[](std::size_t index) const noexcept { return places_[place(index)]; }
  [[nodiscard]] const T& front() const noexcept { return places_[first_]; }
  [[nodiscard]] const T& back() const noexcept { return places_[place(size_ - 1)]; }
  [[nodiscard]] auto begin() noexcept { return Iterator<Queue, T>{*this, 0}; }
  [[nodiscard]] auto end() noexcept { return Iterator<Queue, T>{*this, size_}; }
  [[nodiscard]] auto begin() const noexcept { return Iterator<const Queue, const T>{*this, 0}; }
  [[nodiscard]] auto end() const noexcept { return Iterator<const Queue, const T>{*this, size_}; }

  void push_back(T value) {
    if (size_ == places_.size()) move_to(std::max(least, size_ * 2));
    places_[place(size_++)] = std::move(value);
  }
  T pop_front() {
    T value = std::move(places_[first_]);
    first_ = (first_ + 1) & (places_.size() - 1);
    if (--size_ < places_.size() / 8 && places_.size() > least) move_to(places_.size() / 2);
    return value;
  }
  // Takes one out from anywhere.
  void erase(std::size_t index) {
    for (; index + 1 < size_; ++index) (*this)[index] = std::move((*this)[index + 1]);
    (*this)[--size_] = T{};
  }
  void resize(std::size_t size) {
    if (size > places_.size()) move_to(std::max(least, std::bit_ceil(size)));
    for (; size_ > size; --size_) (*this)[size_ - 1] = T{};
    size_ = size;
  }
  void clear() { *this = {}; }

 private:
  static constexpr std::size_t least = 4;  // places
  [[nodiscard]] std::size_t place(std::size_t index) const noexcept { return (first_ + index) & (places_.size() - 1); }
  void move_to(std::size_t places) {
    std::vector<T> wider(places);
    for (std::size_t i = 0; i < size_; ++i) wider[i] = std::move((*this)[i]);
    places_ = std::move(wider);
    first_ = 0;
  }

  std::vector<T> places_;  // as many as a power of two
  std::size_t first_ = 0, size_ = 0;
};

}  // namespace tocsin::stream
