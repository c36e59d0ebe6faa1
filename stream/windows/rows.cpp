#include "stream/windows/rows.h"

#include <xxhash.h>

#include <utility>

#include "stream/graph/kernels.h"

namespace tocsin::stream {
namespace {

constexpr Duration farthest_ahead =
    std::chrono::minutes{3};  // arrivals can be ahead of a clock that waits for a watermark

}  // namespace

template <class T>
Rows<T>::Rows(RowGrid grid, Duration lateness, Duration keep, bool counter)
    : grid_(grid),
      lateness_(lateness),
      keep_(keep),
      closed_(static_cast<std::size_t>(keep / grid.length) + 2),
      unit_(grid.unit()),
      most_open_(static_cast<std::size_t>((lateness + farthest_ahead) / grid.length) + 2),
      counter_(counter) {}

template <class T>
bool Rows<T>::open(Time time, Time now, std::size_t members) {
  if (time > recent_.begin && time <= recent_.end && members <= recent_.members) return now < recent_.closes;
  const RowNumber number = grid_.number(time);
  const Time end = grid_.end(number);
  if (now >= end + lateness_) return false;
  std::size_t index = open_.size();
  while (index > 0 && open_.number(index - 1) > number) --index;
  const bool is_open = index > 0 && open_.number(index - 1) == number;
  if (!is_open && open_.size() >= most_open_) return false;
  if (members > open_.members()) open_.widen(members);
  const auto row = is_open ? open_[index - 1] : open_.insert(number);
  if (!is_open) find_due();
  recent_ = {end - grid_.length, end, end + lateness_, row.values.data(), row.offsets.data(), row.values.size()};
  return true;
}

template <class T>
bool Rows<T>::write(Slot slot, Time time, Time now, T value, std::size_t members) {
  if (!open(time, now, members)) return false;
  if (is_absent(value)) return true;
  merge(recent_.values[slot], recent_.offsets[slot], offset(recent_.begin, time), value);
  return true;
}

template <class T>
template <class V>
std::size_t Rows<T>::write(std::span<const Slot> slots, bool in_a_row, Time time, Time now, std::span<const V> values,
                           std::size_t members) {
  if (!open(time, now, members)) return slots.size();
  const std::uint32_t at = offset(recent_.begin, time);
  if (!in_a_row) {
    for (std::size_t i = 0; i < slots.size(); ++i)
      merge(recent_.values[slots[i]], recent_.offsets[slots[i]], at, static_cast<T>(values[i]));
    return 0;
  }
  T* kept = recent_.values + slots[0];
  std::uint32_t* offsets = recent_.offsets + slots[0];
  if constexpr (std::is_same_v<T, float> && std::is_same_v<V, float>) {
    kernels().merge(values.data(), at, kept, offsets, slots.size());
    return 0;
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const T value = one_nan(static_cast<T>(values[i]));
    const bool later = (at > offsets[i]) | ((at == offsets[i]) & (bits(value) > bits(kept[i])));
    kept[i] = later ? value : kept[i];
    offsets[i] = later ? at : offsets[i];
  }
  return 0;
}
template std::size_t Rows<float>::write(std::span<const Slot>, bool, Time, Time, std::span<const float>, std::size_t);
template std::size_t Rows<float>::write(std::span<const Slot>, bool, Time, Time, std::span<const double>, std::size_t);
template std::size_t Rows<double>::write(std::span<const Slot>, bool, Time, Time, std::span<const float>, std::size_t);
template std::size_t Rows<double>::write(std::span<const Slot>, bool, Time, Time, std::span<const double>, std::size_t);

template <class T>
void Rows<T>::write(std::span<const Cells> all, std::uint32_t place, double factor, Time now, std::size_t members) {
  for (; !all.empty(); all = all.subspan(1)) {
    const Cells& first = all.front();
    const bool recent = first.time > recent_.begin && first.time <= recent_.end && members <= recent_.members;
    if (!recent && !open(first.time, now, members)) continue;
    if (first.narrow == nullptr) write_open(first, first.wide + place, factor);
    else write_open(first, first.narrow + place, factor);
  }
}

template <class T>
void Rows<T>::write(const SingleCells& cells, std::uint32_t place, Time now, std::size_t members) {
  if constexpr (std::is_same_v<T, float>)
    for (const auto& [time, first, count] : cells.rows()) {
      if (!open(time, now, members)) continue;
      kernels().merge_each(cells.values() + first, place, cells.slots() + first, cells.offsets() + first,
                           recent_.values, recent_.offsets, count);
    }
}

// Into the row that was opened last.
template <class T>
template <class V>
void Rows<T>::write_open(const Cells& cells, const V* values, double factor) {
  const std::uint32_t at = offset(recent_.begin, cells.time);
  const std::size_t count = cells.slots.size();
  if constexpr (std::is_same_v<T, float> && std::is_same_v<V, float>)
    if (cells.in_a_row && factor == 1)
      return kernels().merge_apart(values, cells.width, at, recent_.values + cells.slots[0],
                                   recent_.offsets + cells.slots[0], count);
  T column[Cells::most_members];
  for (std::size_t m = 0; m < count; ++m, values += cells.width)
    column[m] = static_cast<T>(static_cast<double>(*values) * factor);
  if constexpr (std::is_same_v<T, float>)
    if (cells.in_a_row)
      return kernels().merge(column, at, recent_.values + cells.slots[0], recent_.offsets + cells.slots[0], count);
  for (std::size_t m = 0; m < count; ++m)
    merge(recent_.values[cells.slots[m]], recent_.offsets[cells.slots[m]], at, column[m]);
}

template <class T>
void Rows<T>::to_rates(const typename OpenRows<T>::Row& row) {
  before_.resize(std::max(before_.size(), row.values.size()), Before{absent, 0});
  const std::int64_t start = nanoseconds(grid_.end(row.number) - grid_.length);
  for (std::size_t slot = 0; slot < row.values.size(); ++slot) {
    if (row.offsets[slot] == 0) continue;
    const double value = static_cast<double>(row.values[slot]);
    if (!is_number(value)) continue;  // a measured NaN is kept, and is no predecessor
    const std::int64_t time = start + static_cast<std::int64_t>(row.offsets[slot]) * unit_;
    Before& before = before_[slot];
    const bool fresh =
        !is_absent(before.value) && time - before.time <= oldest_predecessor.count() && time > before.time;
    const bool reset = value < before.value;
    row.values[slot] =
        fresh && !reset
            ? one_nan(static_cast<T>((value - before.value) / (static_cast<double>(time - before.time) * 1e-9)))
            : absent_of<T>;
    before = Before{value, time};
  }
}

template <class T>
void Rows<T>::close_front() {
  const RowNumber removed = removed_next();
  const typename OpenRows<T>::Row row = open_[0];
  if (recent_.values == row.values.data()) recent_ = {};
  if (counter_) to_rates(row);
  std::size_t used = row.values.size();
  while (used > 0 && is_absent(row.values[used - 1])) --used;
  const std::uint64_t head[2] = {marks_.digest, static_cast<std::uint64_t>(row.number)};
  marks_.digest = kernels().hash(row.values.data(), used * sizeof(T), XXH3_64bits(head, sizeof head));
  for (; known_ < row.values.size(); ++known_) never_.push_back(static_cast<Slot>(known_));
  std::erase_if(never_, [&](Slot slot) { return slot < row.values.size() && !is_absent(row.values[slot]); });
  if (row.number > marks_.floor) {
    drop_through(removed);
    closed_.push_back(row.number, row.values);
  }
  open_.pop_front();
  find_due();
}

template <class T>
void Rows<T>::drop_through(RowNumber number) {
  while (!closed_.empty() && closed_.first_number() <= number) {
    dropped_through_ = closed_.first_number();
    closed_.pop_front();
  }
}

template <class T>
bool Rows<T>::close_next(Time clock) {
  if (open_.empty() || due_ > clock) return false;
  close_front();
  return true;
}

template <class T>
void Rows<T>::take(Rows& other) {
  dropped_through_ = other.dropped_through_;
  open_ = std::exchange(other.open_, {});
  recent_ = std::exchange(other.recent_, {});
  find_due();
  closed_.swap_rows(other.closed_);
  known_ = std::exchange(other.known_, 0), never_ = std::move(other.never_);
  before_ = std::move(other.before_);
  drop_through(marks_.floor);
}

template <class T>
void Rows<T>::adopt(Rows& old, Time clock) {
  marks_ = old.marks_;
  take(old);
  if (clock == long_ago) return;
  RowNumber dropped = grid_.through(clock - old.keep_);
  if (old.held_ != std::numeric_limits<RowNumber>::max())
    dropped = std::min(dropped, old.held_ - (old.keep_ / grid_.length + 1));
  held_ = old.held_;
  marks_.floor = std::max(marks_.floor, dropped);
  drop_through(marks_.floor);
}

template <class T>
std::size_t Rows<T>::retained_bytes() const noexcept {
  return before_.capacity() * sizeof(Before) + closed_.retained_bytes() + open_.retained_bytes();
}

template <class T>
std::size_t Rows<T>::retained_samples() const noexcept {
  std::size_t samples = 0;
  const auto count = [&](std::span<const T> values) {
    samples += static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [](T v) { return !is_absent(v); }));
  };
  for (std::size_t r = 0; r < closed_.size(); ++r) count(closed_[r].values);
  for (std::size_t r = 0; r < open_.size(); ++r) count(open_[r].values);
  return samples;
}

template class Rows<float>;
template class Rows<double>;

}  // namespace tocsin::stream
