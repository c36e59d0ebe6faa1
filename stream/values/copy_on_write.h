#pragma once

#include <memory>
#include <utility>

namespace tocsin::stream {

// A value that can be lent, unchanged, to whoever writes a section of it, in another thread: if it has to change before
// it is given back, it is copied first. Owned by one thread.
template <class T>
class CopyOnWrite {
 public:
  CopyOnWrite(T value = {}) : value_(std::make_shared<T>(std::move(value))) {}
  CopyOnWrite(const CopyOnWrite&) = delete;
  CopyOnWrite& operator=(const CopyOnWrite&) = delete;
  CopyOnWrite(CopyOnWrite&&) noexcept = default;
  CopyOnWrite& operator=(CopyOnWrite&&) noexcept = default;
  ~CopyOnWrite() = default;

  [[nodiscard]] const T& operator*() const noexcept { return *value_; }
  [[nodiscard]] const T* operator->() const noexcept { return value_.get(); }
  // To change it.
  [[nodiscard]] T& own() {
    if (lent_) take_back();
    return *value_;
  }
  [[nodiscard]] std::shared_ptr<const T> lend() const {
    lent_ = true;
    return value_;
  }

 private:
  void take_back() {
    if (value_.use_count() > 1) value_ = std::make_shared<T>(*value_);
    // That thread gave its reference up by an atomic operation, which this one follows: so it has read what it read.
    else (void)std::shared_ptr<T>{value_};
    lent_ = false;
  }

  std::shared_ptr<T> value_;
  mutable bool lent_ = false;
};

}  // namespace tocsin::stream
