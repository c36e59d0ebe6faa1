#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "stream/time.h"
#include "stream/topology.h"

namespace tocsin::stream {

// What waits for its turn: points or events of one signal, taken out in the order (T, member, sequence), then as they were read.
// What came too late has the clock as its T and waits as well: no tick at that T runs before its turn has come, so nothing can
// tell it from one that is applied at once, and whatever is taken out is in the order of T.
template <class Item>   // has at, slot, sequence, order
class Waiting {
 public:
  void push(Item item) {
    item.order = next_order_++;
    items_.push_back(std::move(item));
    std::push_heap(items_.begin(), items_.end(), later);
  }
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] const Item& first() const noexcept { return items_.front(); }
  Item pop() {
    std::pop_heap(items_.begin(), items_.end(), later);
    Item item = std::move(items_.back());
    items_.pop_back();
    return item;
  }
  template <class Predicate>
  Item* find(Predicate predicate) {
    const auto found = std::find_if(items_.begin(), items_.end(), predicate);
    return found == items_.end() ? nullptr : &*found;
  }
  // Puts another in its place.
  void replace(Item* old, Item item) {
    item.order = next_order_++;
    *old = std::move(item);
    std::make_heap(items_.begin(), items_.end(), later);
  }
  [[nodiscard]] const std::vector<Item>& items() const noexcept { return items_; }
  [[nodiscard]] std::uint64_t next_order() const noexcept { return next_order_; }
  void restore(std::vector<Item> items, std::uint64_t next_order) {
    items_ = std::move(items);
    next_order_ = next_order;
    std::make_heap(items_.begin(), items_.end(), later);
  }

 private:
  static bool later(const Item& a, const Item& b) noexcept {
    return std::tie(a.at, a.slot, a.sequence, a.order) > std::tie(b.at, b.slot, b.sequence, b.order);
  }
  std::vector<Item> items_;   // a heap: the first in front
  std::uint64_t next_order_ = 0;
};

}  // namespace tocsin::stream
