// The kernels over rows of values against what they say of each.
#include <doctest/doctest.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "stream/graph/kernels.h"
#include "tests/seed.h"

using namespace tocsin::stream;

TEST_CASE("the loops over rows do what they say of each value, in both kernel sets") {
  std::mt19937 random{tocsin::test::seed(11)};
  const auto drawn = [&]() -> float {
    switch (random() % 12) {
      case 0: return absent_float;
      case 1: return std::bit_cast<float>(0xFFC00001u);  // a NaN of a producer
      case 2: return std::numeric_limits<float>::infinity();
      case 3: return random() % 2 == 0 ? 0.0f : -0.0f;
      default: return static_cast<float>(random() % 64) - 32;
    }
  };
  const auto pattern = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (const std::string_view name : {"baseline", "avx2"})
    for (const std::size_t n : {0u, 1u, 3u, 4u, 7u, 8u, 9u, 15u, 16u, 17u, 33u, 100u, 1027u}) {
      if (!choose_kernels(name)) continue;
      const Kernels* const set = &kernels();
      INFO("kernels ", set->name, ", ", n, " values");
      std::vector<float> values(n), kept(n), copied(n);
      std::vector<std::uint32_t> offsets(n), slots(n + 1);
      for (std::size_t i = 0; i < n; ++i) {
        values[i] = drawn(), kept[i] = drawn(), offsets[i] = static_cast<std::uint32_t>(random() % 4);
        if (kept[i] != kept[i] && !is_absent(kept[i])) kept[i] = static_cast<float>(measured_nan);
      }
      set->copy_measured(values.data(), copied.data(), n);
      for (std::size_t i = 0; i < n; ++i)
        CHECK(pattern(copied[i]) == (values[i] == values[i] ? pattern(values[i]) : 0x7FC00000u));

      CHECK(set->hash(values.data(), n * sizeof(float), 7) ==
            XXH3_64bits_withSeed(values.data(), n * sizeof(float), 7));

      std::vector<double> row(n);
      std::size_t absences = 0;
      for (const float x : values) absences += is_absent(x) ? 1 : 0;
      CHECK(set->copy_row(values.data(), row.data(), n) == absences);
      for (std::size_t i = 0; i < n; ++i)
        CHECK(std::bit_cast<std::uint64_t>(row[i]) ==
              std::bit_cast<std::uint64_t>(canonical(static_cast<double>(values[i]))));

      auto merged = kept;
      auto at = offsets;
      set->merge(copied.data(), 2, merged.data(), at.data(), n);
      for (const std::size_t apart : {1u, 3u, 50u}) {
        std::vector<float> spread(n * apart + 1), other = kept;
        auto when = offsets;
        for (std::size_t i = 0; i < n; ++i) spread[i * apart] = values[i];
        set->merge_apart(spread.data(), apart, 2, other.data(), when.data(), n);
        CHECK((n == 0 || std::memcmp(other.data(), merged.data(), n * sizeof(float)) == 0));
        CHECK(when == at);
      }
      for (const std::size_t step : {1u, 3u}) {  // members that are side by side, and that are not
        std::vector<float> messages(2 * n), wanted(n * step + 1), other;
        std::vector<const float*> begins(n);
        std::vector<std::uint32_t> when(n * step + 1), when_wanted, to(n), times(n);
        for (std::size_t i = 0; i < n; ++i) {
          messages[2 * i + 1] = values[i], begins[i] = &messages[2 * i],
                           times[i] = static_cast<std::uint32_t>(random() % 4);
          to[i] = static_cast<std::uint32_t>(i * step + (random() % 16 == 0 ? 1 : 0));
          wanted[to[i]] = kept[i], when[to[i]] = offsets[i];
        }
        other = wanted, when_wanted = when;
        for (std::size_t i = 0; i < n; ++i) set->merge(&copied[i], times[i], &wanted[to[i]], &when_wanted[to[i]], 1);
        set->merge_each(begins.data(), 1, to.data(), times.data(), other.data(), when.data(), n);
        CHECK(std::memcmp(other.data(), wanted.data(), other.size() * sizeof(float)) == 0);
        CHECK(when == when_wanted);
      }
      for (std::size_t i = 0; i < n; ++i) {
        const bool later = 2 > offsets[i] || (2 == offsets[i] && pattern(copied[i]) > pattern(kept[i]));
        CHECK(pattern(merged[i]) == pattern(later ? copied[i] : kept[i]));
        CHECK(at[i] == (later ? 2 : offsets[i]));
      }

      std::vector<std::uint32_t> counts(n), counted(n);
      std::vector<double> sums(n), added(n), known(n);
      std::size_t nans = 0;
      for (std::size_t i = 0; i < n; ++i) {
        counts[i] = counted[i] = static_cast<std::uint32_t>(random() % 3),
        sums[i] = added[i] = static_cast<double>(random() % 100) / 3;
        if (random() % 16 == 0) sums[i] = added[i] = std::numeric_limits<double>::quiet_NaN();
        nans += values[i] != values[i] && !is_absent(values[i]) ? 1 : 0;
      }
      CHECK(set->count_numbers(values.data(), counted.data(), n, 1) == nans);
      set->add_numbers(values.data(), added.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        const bool number = values[i] == values[i];
        CHECK(counted[i] == counts[i] + (number ? 1 : 0));
        const double sum = sums[i] + (number ? static_cast<double>(values[i]) : 0.0);
        CHECK((added[i] == sum || (added[i] != added[i] && sum != sum)));
      }
      set->count_numbers(values.data(), counted.data(), n, ~0u);
      CHECK(counted == counts);
      const float* const rows[] = {values.data(), kept.data(), copied.data()};
      const double* const more[] = {sums.data(), row.data()};
      set->sum_rows({rows, more}, added.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (const float* const one : rows) sum += one[i] == one[i] ? static_cast<double>(one[i]) : 0.0;
        for (const double* const one : more) sum += one[i];
        CHECK((added[i] == sum || (added[i] != added[i] && sum != sum)));
      }

      std::vector<float> low(n), high(n);
      std::vector<std::uint32_t> below = offsets, below_before = below, within(n), numbers = counts, expected_slots;
      for (std::size_t i = 0; i < n; ++i) {
        low[i] = random() % 8 == 0 ? -std::numeric_limits<float>::infinity() : static_cast<float>(random() % 64) - 32;
        high[i] = low[i] + static_cast<float>(random() % 32);
        if (values[i] >= low[i] && values[i] <= high[i]) expected_slots.push_back(static_cast<std::uint32_t>(i));
      }
      within.resize(set->count_within({values.data(), low.data(), high.data(), numbers.data(), below.data()}, n, 3,
                                      within.data()));
      CHECK(within == expected_slots);
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(numbers[i] == counts[i] + (values[i] == values[i] ? 3 : 0));
        CHECK(below[i] == below_before[i] + (values[i] < low[i] ? 3 : 0));
      }
      std::array<std::uint32_t, 8> in_columns{};
      set->count_eights(row.data(), n / 8, in_columns.data());
      for (std::size_t column = 0; column < 8; ++column) {
        std::uint32_t count = 0;
        for (std::size_t i = column; i < n / 8 * 8; i += 8) count += row[i] == row[i] ? 1 : 0;
        CHECK(in_columns[column] == count);
      }

      std::vector<std::int64_t> totals(n);
      set->counts_as_numbers(counts.data(), known.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        CHECK((counts[i] == 0 ? is_absent(known[i]) : known[i] == counts[i]));
        totals[i] = (static_cast<std::int64_t>(random()) << 16) * (random() % 4 == 0 ? 0 : 1) + counts[i];
      }
      for (const bool means : {false, true}) {
        std::fill(known.begin(), known.end(), 42.0);
        set->take_enough(sums.data(), totals.data(), 2, means, known.data(), n);
        for (std::size_t i = 0; i < n; ++i) {
          const double value = canonical(means ? sums[i] / static_cast<double>(totals[i]) : sums[i]);
          CHECK(std::bit_cast<std::uint64_t>(known[i]) == std::bit_cast<std::uint64_t>(totals[i] < 2 ? 42.0 : value));
        }
      }
      for (const bool means : {false, true}) {
        auto results = sums;
        std::size_t others = 0;
        const std::size_t reported = set->known_enough(results.data(), counts.data(), 2, means, known.data(), n);
        for (std::size_t i = 0; i < n; ++i) {
          const double expected = means ? sums[i] / std::max(counts[i], 1u) : sums[i];
          const bool enough = counts[i] >= 2 && expected == expected;
          others += enough ? 0 : 1;
          CHECK((results[i] == expected || (results[i] != results[i] && expected != expected)));
          CHECK((enough ? known[i] == expected : is_absent(known[i])));
        }
        CHECK(reported == others);
      }

      std::iota(slots.begin(), slots.end(), 5u);
      CHECK(set->in_a_row(slots.data(), n + 1));
      for (std::size_t i = 1; i <= n; i += 1 + n / 9) {
        auto other = slots;
        ++other[i];
        CHECK_FALSE(set->in_a_row(other.data(), n + 1));
      }

      std::vector<PairOf> pairs(n, PairOf{7, 0xAB'00'10'12'34});
      for (std::size_t stop = 0; stop <= n; stop += 1 + n / 7) {
        for (const bool time : {false, true}) {
          auto some = pairs;
          if (stop < n) (time ? some[stop].time += 1 : static_cast<std::int64_t>(some[stop].state ^= 0x100));
          if (time) CHECK(set->same_times(some.data(), n, 7) == std::min(stop, n));
          const std::size_t done = set->repeat(some.data(), n, {7, 0x10'12'34}, 0xFF'FFFF, 9);
          CHECK(done <= stop);
          CHECK(done + 4 > stop);
          for (std::size_t i = 0; i < n; ++i)
            CHECK(some[i].time == (i < done ? 9 : 7 + (time && i == stop && stop < n ? 1 : 0)));
        }
      }
    }
}

TEST_CASE("sixteen columns are sorted, in both kernel sets") {
  std::mt19937 random{4};
  for (const std::string_view name : {"baseline", "avx2"})
    for (int round = 0; round < 200; ++round) {
      if (!choose_kernels(name)) continue;
      std::array<std::array<std::uint16_t, 16>, 16> rows, columns;
      for (std::size_t row = 0; row < 16; ++row)
        for (std::size_t column = 0; column < 16; ++column)
          columns[column][row] = rows[row][column] =
              static_cast<std::uint16_t>(round % 2 == 0 ? random() : 0xFFFA + random() % 6);
      kernels().sort_sixteens(rows[0].data());
      for (std::size_t column = 0; column < 16; ++column) {
        std::ranges::sort(columns[column]);
        for (std::size_t row = 0; row < 16; ++row) CHECK(rows[row][column] == columns[column][row]);
      }
    }
}
