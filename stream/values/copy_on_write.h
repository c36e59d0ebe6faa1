#pragma once

#include <memory>
#include <utility>

namespace tocsin::stream {

// A value that can be lent, unchanged, to whoever writes a section of it, in another thread: if it has to change before
// it is given back, it is copied first. It stands here, and only while it is lent in memory of its own. Owned by one
// thread.
template <class T>  // cheap to move
class CopyOnWrite {
 public:
  CopyOnWrite(T value = {}) : value_(std::move(value)) {}
  CopyOnWrite(const CopyOnWrite& other) : value_(*other) {}
  CopyOnWrite& operator=(const CopyOnWrite&) = delete;
  CopyOnWrite(CopyOnWrite&&) noexcept = default;
  CopyOnWrite& operator=(CopyOnWrite&&) noexcept = default;
  ~CopyOnWrite() = default;

  [[nodiscard]] const T& operator*() const noexcept { return lent_ ? *lent_ : value_; }
  [[nodiscard]] const T* operator->() const noexcept { return &**this; }
  // To change it.
  [[nodiscard]] T& own() {
    if (lent_) take_back();
    return value_;
  }
  [[nodiscard]] std::shared_ptr<const T> lend() const {
    if (!lent_) lent_ = std::make_shared<T>(std::move(value_));
    return lent_;
  }

 private:
  void take_back() {
    if (lent_.use_count() > 1) {
      value_ = *lent_;
    } else {
      // That thread gave its reference up by an atomic operation, which this one follows: so it has read what it read.
      (void)std::shared_ptr<T>{lent_};
      value_ = std::move(*lent_);
    }
    lent_.reset();
  }

  mutable T value_;  // moved from while it is lent
  mutable std::shared_ptr<T> lent_;
};

}  // namespace tocsin::stream
