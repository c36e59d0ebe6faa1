#pragma once

#include <compare>
#include <span>
#include <vector>

#include "stream/values/archive.h"
#include "stream/values/copy_on_write.h"
#include "stream/windows/rows.h"

namespace tocsin::stream {

// Sum and count of ten rows on the epoch grid, per member, without NaN; and what else the pack's reductions ask for.
// Windows that reach further back than raw rows read panes. A pane is complete once its last row has closed, which
// holds at every tick at or after its end. Owned by its signal's History entry.
template <class T>
class Panes {
  // What the pack asked for besides, when the pane began; the rest is empty.
  struct More {
    std::vector<T> least, greatest;
    std::vector<std::uint8_t> nans, infinities;
    std::vector<std::vector<std::uint8_t>> hits;  // of each mask, how many numbers have a bit of it
    static void fields(auto& self, auto& archive) {
      archive(1, self.least), archive(2, self.greatest), archive(3, self.nans), archive(4, self.infinities),
          archive(5, self.hits);
    }
  };
  // Panes that follow each other, of equally many members and with the same lists: a list of each pane after the other.
  struct Block {
    std::size_t members = 0;
    std::vector<RowNumber> numbers;
    std::vector<double> sums;
    std::vector<std::uint8_t> counts;
    std::vector<More> more;  // one; none: nothing else was asked for
  };

 public:
  static constexpr int rows_a_pane = 10;
  // By slot. Lasts until a row is added.
  class Pane {
   public:
    Pane(const Block& block, std::size_t at) : block_(&block), at_(at) {}
    [[nodiscard]] RowNumber number() const noexcept { return block_->numbers[at_]; }
    [[nodiscard]] std::size_t members() const noexcept { return block_->members; }
    [[nodiscard]] std::span<const double> sums() const noexcept { return list(block_->sums); }
    [[nodiscard]] std::span<const std::uint8_t> counts() const noexcept {
      return list(block_->counts);
    }  // 0: no number
    // Empty if nothing asked for it when the pane began.
    [[nodiscard]] std::span<const T> least() const noexcept { return of_more(&More::least); }
    [[nodiscard]] std::span<const T> greatest() const noexcept { return of_more(&More::greatest); }
    [[nodiscard]] std::span<const std::uint8_t> nans() const noexcept { return of_more(&More::nans); }
    [[nodiscard]] std::span<const std::uint8_t> infinities() const noexcept { return of_more(&More::infinities); }
    [[nodiscard]] std::span<const std::uint8_t> hits(std::size_t mask) const noexcept {
      return block_->more.empty() ? std::span<const std::uint8_t>{} : list(block_->more.front().hits[mask]);
    }
    [[nodiscard]] double mean(Slot slot) const noexcept {
      if (slot >= members() || counts()[slot] == 0) return absent;
      return canonical(sums()[slot] / static_cast<double>(counts()[slot]));
    }
    void save(Writer& out) const;

   private:
    template <class V>
    [[nodiscard]] std::span<const V> list(const std::vector<V>& all) const noexcept {
      return all.empty() ? std::span<const V>{} : std::span{all}.subspan(at_ * members(), members());
    }
    template <class V>
    [[nodiscard]] std::span<const V> of_more(std::vector<V> More::*all) const noexcept {
      return block_->more.empty() ? std::span<const V>{} : list(block_->more.front().*all);
    }
    const Block* block_;
    std::size_t at_;
  };
  // Where a pane is.
  struct Place {
    std::size_t block, at;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  // What the reductions of the pack need besides sums and counts.
  struct Wants {
    bool extremes = false, nonfinite = false;
    std::vector<double> masks;  // of fractions
    [[nodiscard]] bool more() const noexcept { return extremes || nonfinite || !masks.empty(); }
  };

  Panes(RowGrid rows, Duration keep, Wants wants)
      : grid_{rows.length * rows_a_pane}, keep_(keep), wants_(std::move(wants)) {}

  void add(Time row_end, std::span<const T> values);
  // Continues another pack's panes; what it did not count is missing in them.
  void adopt(Panes& old);
  [[nodiscard]] const RowGrid& grid() const noexcept { return grid_; }
  [[nodiscard]] const std::vector<double>& masks() const noexcept { return wants_.masks; }
  // Of the first pane after `number`, or the end.
  [[nodiscard]] Place after(RowNumber number) const noexcept;
  [[nodiscard]] Pane operator[](Place place) const noexcept { return {*blocks_[place.block], place.at}; }
  template <class See>
  void each(Place first, Place end, See&& see) const {
    for (; first < end; first = next(first)) see((*this)[first]);
  }
  [[nodiscard]] RowNumber dropped_through() const noexcept { return dropped_through_; }
  void drop_through(RowNumber number);

  void save(Writer& out) const;
  void load(Reader& in);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;

 private:
  // Blocks of few members hold several panes; those of many can be lent, and copied, one by one.
  [[nodiscard]] static std::size_t panes_of(std::size_t members) noexcept {
    constexpr std::size_t few_members = 16, panes_of_few = 10;
    return members <= few_members ? panes_of_few : 1;
  }
  [[nodiscard]] static bool full(const Block& block) noexcept {
    return block.numbers.size() >= panes_of(block.members);
  }
  [[nodiscard]] Place next(Place place) const noexcept {
    return place.at + 1 < blocks_[place.block]->numbers.size() ? Place{place.block, place.at + 1}
                                                               : Place{place.block + 1, 0};
  }
  // The lists of a block, each with what a value begins as, and whether the pack asks for it.
  void each_list(Block& block, auto&& see) const;
  void begin(RowNumber number, std::size_t members);
  void widen(std::size_t members);
  void add_more(More& more, std::size_t first, std::span<const T> values) const;

  RowGrid grid_;
  Duration keep_;
  Wants wants_;
  RowNumber dropped_through_ = std::numeric_limits<RowNumber>::min();
  std::vector<CopyOnWrite<Block>> blocks_;  // ascending; panes without any row are not stored
  std::size_t dropped_ = 0;                 // panes of the first block
  bool whole_ = true;                       // the next pane begins a block
};

extern template class Panes<float>;
extern template class Panes<double>;

}  // namespace tocsin::stream
