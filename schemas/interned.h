#pragma once

#include <xxhash.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "schemas/layout.h"

namespace tocsin::schemas {

// The results of parsing byte strings, found again by comparing the bytes. Items stay in place as long as it
// lives. Owned by a Decoder.
template <class Parsed>
class Interned {
 public:
  struct Item {
    std::string bytes;
    Parsed parsed{};
    Item* after = nullptr;  // the one that was found after it: producers repeat their messages in one order
  };

  // `parse(Bytes, Parsed&)` fills a new item from the item's own bytes, or returns false: then nothing is stored.
  template <class Parse>
  const Item* find(Bytes bytes, Parse&& parse) {
    return find(
        bytes, [](std::uint64_t) { return true; }, parse);
  }
  // The same where `worth(hash)` says of new bytes whether they are stored; null: they are not.
  template <class Worth, class Parse>
  const Item* find(Bytes bytes, Worth&& worth, Parse&& parse) {
    if (last_ != nullptr && same(*last_, bytes)) return last_;
    if (last_ != nullptr && last_->after != nullptr && same(*last_->after, bytes)) return last_ = last_->after;
    const std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
    if ((items_.size() + 1) * 2 > places_.size()) grow();
    std::size_t at = hash & (places_.size() - 1);
    for (; places_[at].item != nullptr; at = (at + 1) & (places_.size() - 1))
      if (places_[at].hash == hash && same(*places_[at].item, bytes)) return found(*places_[at].item);

    if (!worth(hash)) return nullptr;
    auto item = std::make_unique<Item>();
    item->bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!parse(Bytes{reinterpret_cast<const std::uint8_t*>(item->bytes.data()), bytes.size()}, item->parsed))
      return nullptr;
    places_[at] = {hash, item.get()};
    return found(*items_.emplace_back(std::move(item)));
  }

  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }

 private:
  struct Place {
    std::uint64_t hash = 0;
    Item* item = nullptr;
  };
  const Item* found(Item& item) {
    if (last_ != nullptr) last_->after = &item;
    return last_ = &item;
  }

  static bool same(const Item& item, Bytes bytes) {
    return item.bytes.size() == bytes.size() && std::memcmp(item.bytes.data(), bytes.data(), bytes.size()) == 0;
  }
  void grow() {
    std::vector<Place> larger(places_.empty() ? 64 : places_.size() * 2);
    for (const Place& place : places_) {
      if (place.item == nullptr) continue;
      std::size_t at = place.hash & (larger.size() - 1);
      while (larger[at].item != nullptr) at = (at + 1) & (larger.size() - 1);
      larger[at] = place;
    }
    places_ = std::move(larger);
  }

  std::vector<std::unique_ptr<Item>> items_;
  std::vector<Place> places_;  // a power of two, at most half full
  Item* last_ = nullptr;
};

}  // namespace tocsin::schemas
