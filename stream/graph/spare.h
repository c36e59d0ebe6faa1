#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tocsin::stream {

// Columns that nobody uses, for whoever needs one: what was given back last is taken first, for it is in the
// processor's cache. Giving back allocates nothing as long as each that may do so was expected. Owned by an Evaluator.
template <class T>
class Spare {
 public:
  void expect_one() {
    if (++expected_ > columns_.capacity()) columns_.reserve(2 * expected_);
  }
  void take(std::vector<T>& column) {
    if (columns_.empty()) return;
    column = std::move(columns_.back());
    columns_.pop_back();
  }
  void give(std::vector<T>& column) { columns_.push_back(std::exchange(column, {})); }

 private:
  std::vector<std::vector<T>> columns_;
  std::size_t expected_ = 0;
};

}  // namespace tocsin::stream
