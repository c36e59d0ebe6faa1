#pragma once

#include <algorithm>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/values/time.h"
#include "stream/windows/queue.h"

namespace tocsin::stream {

// The pending points or events of one signal, taken out in the order (T, member or group of members, producer's order).
// An item that came too late has the clock as its T and is buffered, too. No tick at that T runs before the item is
// applied, so the result is that of applying it at once, and items always come out in the order of T.
template <class Item>  // has at, its T, and after(other), its order
class ReorderBuffer {
 public:
  void push(Item item) {
    if (in_order_.empty() || later(item, in_order_.back())) {
      in_order_.push_back(std::move(item));
      return;
    }
    others_.push_back(std::move(item));
    std::push_heap(others_.begin(), others_.end(), later);
  }
  [[nodiscard]] bool empty() const noexcept { return in_order_.empty() && others_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return in_order_.size() + others_.size(); }
  [[nodiscard]] const Item& first() const noexcept { return from_others() ? others_.front() : in_order_.front(); }
  Item pop() {
    if (!from_others()) return in_order_.pop_front();
    std::pop_heap(others_.begin(), others_.end(), later);
    Item item = std::move(others_.back());
    others_.pop_back();
    return item;
  }
  template <class Each>
  void each(Each&& see) const {
    for (const Item& item : in_order_) see(item);
    for (const Item& item : others_) see(item);
  }
  template <class Predicate>
  [[nodiscard]] const Item* find(Predicate predicate) const {
    for (const Item& item : in_order_)
      if (predicate(item)) return &item;
    for (const Item& item : others_)
      if (predicate(item)) return &item;
    return nullptr;
  }
  void erase(const Item* item) {
    const auto same = [item](const Item& other) { return &other == item; };
    for (std::size_t i = 0; i < in_order_.size(); ++i)
      if (same(in_order_[i])) return in_order_.erase(i);
    others_.erase(std::find_if(others_.begin(), others_.end(), same));
    std::make_heap(others_.begin(), others_.end(), later);
  }
  // All items in order, for a snapshot; and their restore.
  [[nodiscard]] std::vector<Item> items() const {
    std::vector<Item> all(in_order_.begin(), in_order_.end());
    all.insert(all.end(), others_.begin(), others_.end());
    std::sort(all.begin(), all.end(), [](const Item& a, const Item& b) { return later(b, a); });
    return all;
  }
  void restore(std::vector<Item> items) {
    others_.clear();
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return later(b, a); });
    in_order_.clear();
    for (Item& item : items) in_order_.push_back(std::move(item));
  }

 private:
  static bool later(const Item& a, const Item& b) noexcept { return a.after(b); }
  [[nodiscard]] bool from_others() const noexcept {
    return !others_.empty() && (in_order_.empty() || later(in_order_.front(), others_.front()));
  }
  Queue<Item> in_order_;      // items that came in order: most of them
  std::vector<Item> others_;  // a heap, the first in front: items that came after a later one
};

}  // namespace tocsin::stream
