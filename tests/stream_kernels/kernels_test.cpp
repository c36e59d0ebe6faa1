#include "stream/graph/kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "tests/seed.h"
#include "tests/stream_kernels/random_values.h"

using namespace tocsin::stream;

namespace {

constexpr std::size_t sizes[] = {0,  1,  2,  3,  4,  5,  7,   8,   15,   16,   17,    31,
                                 33, 48, 49, 63, 64, 65, 100, 255, 1024, 1027, 16'384};

std::vector<const Kernels*> both() {
  std::vector<const Kernels*> sets;
  for (const auto name : {"baseline", "avx2"})
    if (choose_kernels(name)) sets.push_back(&kernels());
    else MESSAGE("this machine does not run the kernels ", name, ": they are not tested");
  return sets;
}

double arithmetic(double a, double b, double result) {
  return is_absent(a) || is_absent(b) ? absent : canonical(result);
}

struct BinaryWord {
  const char* name;
  Kernels::Binary Kernels::*kernel;
  double (*oracle)(double, double);
};
const BinaryWord binaries[] = {
    {"add", &Kernels::add, [](double a, double b) { return arithmetic(a, b, a + b); }},
    {"subtract", &Kernels::subtract, [](double a, double b) { return arithmetic(a, b, a - b); }},
    {"multiply", &Kernels::multiply, [](double a, double b) { return arithmetic(a, b, a * b); }},
    {"divide", &Kernels::divide, [](double a, double b) { return b == 0 ? absent : arithmetic(a, b, a / b); }},
    {"greatest", &Kernels::greatest,
     [](double a, double b) {
       if (is_absent(a) || is_absent(b) || (is_nan(a) && is_nan(b))) return absent;
       return is_nan(a) ? b : is_nan(b) ? a : std::max(a, b);
     }},
    {"least", &Kernels::least,
     [](double a, double b) {
       if (is_absent(a) || is_absent(b) || (is_nan(a) && is_nan(b))) return absent;
       return is_nan(a) ? b : is_nan(b) ? a : std::min(a, b);
     }},
    {"greatest_known", &Kernels::greatest_known,
     [](double a, double b) {
       return is_nan(a) && is_nan(b) ? absent : is_nan(a) ? b : is_nan(b) ? a : std::max(a, b);
     }},
    {"least_known", &Kernels::least_known,
     [](double a, double b) {
       return is_nan(a) && is_nan(b) ? absent : is_nan(a) ? b : is_nan(b) ? a : std::min(a, b);
     }},
    {"fill", &Kernels::fill, [](double a, double b) { return is_absent(a) ? b : a; }},
    {"clamp_low", &Kernels::clamp_low,
     [](double a, double b) { return arithmetic(a, b, is_nan(a) || is_nan(b) ? measured_nan : std::max(a, b)); }},
    {"clamp_high", &Kernels::clamp_high,
     [](double a, double b) { return arithmetic(a, b, is_nan(a) || is_nan(b) ? measured_nan : std::min(a, b)); }},
};

struct CompareWord {
  const char* name;
  Kernels::Compare Kernels::*kernel;
  bool (*oracle)(double, double);
};
const CompareWord compares[] = {
    {"above", &Kernels::above, [](double a, double b) { return a > b; }},
    {"below", &Kernels::below, [](double a, double b) { return a < b; }},
    {"at_least", &Kernels::at_least, [](double a, double b) { return a >= b; }},
    {"at_most", &Kernels::at_most, [](double a, double b) { return a <= b; }},
    {"same", &Kernels::same, [](double a, double b) { return a == b; }},
};

std::vector<double> numbers(const std::vector<double>& column) {
  std::vector<double> known;
  for (double x : column)
    if (is_number(x)) known.push_back(x);
  return known;
}

double quantile_oracle(std::vector<double> known, double q) {
  if (known.size() < 3) return absent;
  std::sort(known.begin(), known.end());
  const double place = static_cast<double>(known.size() - 1) * q;
  const auto k = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(k), a = known[k];
  if (share == 0) return a;
  const double b = known[k + 1];
  if (a == b) return a;
  const double result = share == 0.5 ? 0.5 * a + 0.5 * b : a + (b - a) * share;
  return is_number(result) ? result : absent;
}

double sum_oracle(const std::vector<double>& column) {  // 16 lanes, folded by halves
  double lane[16] = {};
  bool any = false;
  for (std::size_t i = 0; i < column.size(); ++i)
    if (is_number(column[i])) {
      lane[i % 16] += column[i];
      any = true;
    }
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
  return any && is_number(lane[0]) ? lane[0] : absent;
}

// Calls `check` for random columns of every size.
void for_columns(const char* what, const std::function<void(RandomValues&, std::size_t)>& check) {
  INFO(std::string{what});
  RandomValues random{tocsin::test::seed(static_cast<std::uint32_t>(std::hash<std::string_view>{}(what)))};
  for (const auto n : sizes)
    for (int round = 0; round < (n > 2000 ? 4 : 25); ++round) check(random, n);
}

}  // namespace

TEST_CASE("arithmetic of two columns is that of its oracle, in both kernel sets") {
  for (const auto* set : both())
    for (const auto& word : binaries)
      for_columns(word.name, [&](RandomValues& random, std::size_t n) {
        const auto a = random.column(n), b = random.column(n);
        const double x = random.number(), y = random.number();
        std::vector<double> out(n + 1, 42.0);
        const auto check = [&](Operand left, Operand right) {
          (set->*word.kernel)(left, right, out.data(), n);
          bool right_values = out[n] == 42.0;
          for (std::size_t i = 0; i < n; ++i) {
            const double l = left.one_for_all ? x : a[i], r = right.one_for_all ? y : b[i];
            right_values = right_values && same_value(out[i], word.oracle(l, r));
          }
          CHECK_MESSAGE(right_values, set->name, " ", word.name, " of ", n);
        };
        check({a.data()}, {b.data()});
        check({&x, true}, {b.data()});
        check({a.data()}, {&y, true});
        check({&x, true}, {&y, true});
      });
}

TEST_CASE("a comparison with what is no number is unknown, in both kernel sets") {
  for (const auto* set : both())
    for (const auto& word : compares)
      for_columns(word.name, [&](RandomValues& random, std::size_t n) {
        const auto a = random.column(n), b = random.column(n);
        const double y = random.number();
        std::vector<Truth> out(n + 1, Truth::yes);
        const auto check = [&](Operand right) {
          (set->*word.kernel)({a.data()}, right, out.data(), n);
          bool right_values = out[n] == Truth::yes;
          for (std::size_t i = 0; i < n; ++i) {
            const double r = right.one_for_all ? y : b[i];
            right_values =
                right_values && out[i] == (is_nan(a[i]) || is_nan(r) ? Truth::unknown : truth(word.oracle(a[i], r)));
          }
          CHECK_MESSAGE(right_values, set->name, " ", word.name, " of ", n);
        };
        check({b.data()});
        check({&y, true});
        std::vector<double> values{random.number(), 1, absent};
        set->is(a.data(), values.data(), values.size(), out.data(), n);
        bool is_right = true;
        for (std::size_t i = 0; i < n; ++i)
          is_right = is_right && out[i] == (is_nan(a[i]) ? Truth::unknown : truth(a[i] == values[0] || a[i] == 1));
        CHECK_MESSAGE(is_right, set->name, " is of ", n);
      });
}

TEST_CASE("a mask of a window and known() are never unknown, in both kernel sets") {
  for (const auto* set : both())
    for_columns("never unknown", [&](RandomValues& random, std::size_t n) {
      const auto a = random.column(n), b = random.column(n);
      const double y = random.number();
      std::vector<Truth> above(n), below(n), known(n);
      set->finite_above({a.data()}, {&y, true}, above.data(), n);
      set->surely_below({a.data()}, {b.data()}, below.data(), n);
      set->known(a.data(), known.data(), n);
      bool right = true;
      for (std::size_t i = 0; i < n; ++i) {
        right = right && above[i] == truth(a[i] > y && !std::isinf(a[i])) && below[i] == truth(a[i] < b[i]);
        right = right && known[i] == truth(!is_absent(a[i]));
      }
      CHECK_MESSAGE(right, set->name, " of ", n);
    });
}

TEST_CASE("negation, magnitude and logarithm keep what is absent and what was measured as no number") {
  for (const auto* set : both())
    for_columns("unary", [&](RandomValues& random, std::size_t n) {
      const auto a = random.column(n);
      std::vector<double> negated(n), magnitude(n), logarithm(n);
      set->negate(a.data(), negated.data(), n);
      set->abs(a.data(), magnitude.data(), n);
      set->log(a.data(), logarithm.data(), n);
      bool right = true;
      for (std::size_t i = 0; i < n; ++i) {
        right = right && same_value(negated[i], is_nan(a[i]) ? a[i] : -a[i]);
        right = right && same_value(magnitude[i], is_nan(a[i]) ? a[i] : std::fabs(a[i]));
        right = right && same_bits(logarithm[i], natural_logarithm(a[i]));
        if (a[i] <= 0) right = right && is_absent(logarithm[i]);
        if (is_nan(a[i])) right = right && same_bits(logarithm[i], a[i]);
      }
      CHECK_MESSAGE(right, set->name, " of ", n);
    });
}

TEST_CASE("the logarithm is within two units in the last place") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(natural_logarithm(1) == 0.0);
  CHECK(natural_logarithm(infinity) == infinity);
  CHECK(is_absent(natural_logarithm(-infinity)));
  CHECK(is_absent(natural_logarithm(-0.0)));
  std::mt19937_64 random{tocsin::test::seed(11)};
  double worst = 0;
  const auto look = [&](double x) {
    const long double exact = std::log(static_cast<long double>(x));
    const double got = natural_logarithm(x), near = static_cast<double>(exact);
    const double unit = std::nextafter(std::fabs(near), infinity) - std::fabs(near);
    worst = std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(got) - exact)) / unit);
  };
  for (int i = 0; i < 400'000; ++i) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    look(std::ldexp(1 + u, static_cast<int>(random() % 2046) - 1022));
    look(0.5 + 1.5 * u);
    look(1 + (u - 0.5) * 1e-3);
    look(std::ldexp(u, -1050));
  }
  MESSAGE("the worst of 1.6 million logarithms is off by ", worst, " units in the last place");
  CHECK(worst <= 2);
}

TEST_CASE("masks join as Kleene says, in both kernel sets") {
  for (const auto* set : both())
    for_columns("masks", [&](RandomValues& random, std::size_t n) {
      const auto a = random.mask(n), b = random.mask(n);
      const auto x = random.column(n), y = random.column(n);
      const Truth one = static_cast<Truth>(random.below(3));
      std::vector<Truth> both_of(n), either(n), with_one(n), one_with(n), no(n), sure(n), may(n);
      std::vector<double> chosen(n), chosen_one(n);
      const auto all = [&](std::vector<MaskOperand> masks, std::vector<Truth>& out) {
        set->conjunction(masks.data(), masks.size(), out.data(), n);
      };
      const auto any = [&](std::vector<MaskOperand> masks, std::vector<Truth>& out) {
        set->disjunction(masks.data(), masks.size(), out.data(), n);
      };
      all({{a.data()}, {b.data()}}, both_of);
      any({{a.data()}, {b.data()}}, either);
      all({{a.data()}, {&one, true}}, with_one);
      any({{&one, true}, {b.data()}}, one_with);
      all({{a.data(), false, MaskForm::negation()}}, no);
      any({{a.data(), false, MaskForm::surely()}}, sure);
      all({{a.data(), false, MaskForm::maybe()}}, may);
      const double five = 5;
      set->choose({a.data()}, {x.data()}, {y.data()}, chosen.data(), n);
      set->choose({n ? &one : nullptr, true}, {&five, true}, {y.data()}, chosen_one.data(), n);
      bool right = true;
      for (std::size_t i = 0; i < n; ++i) {
        right = right && both_of[i] == (a[i] & b[i]) && either[i] == (a[i] | b[i]) && no[i] == ~a[i];
        right = right && with_one[i] == (a[i] & one) && one_with[i] == (b[i] | one);
        right = right && sure[i] == truth(a[i] == Truth::yes) && may[i] == truth(a[i] != Truth::no);
        right = right && same_bits(chosen[i], a[i] == Truth::yes ? x[i] : a[i] == Truth::no ? y[i] : absent);
        right = right && same_bits(chosen_one[i], one == Truth::yes ? five : one == Truth::no ? y[i] : absent);
      }
      const auto counted = set->tally(a.data(), n);
      right = right && counted.yes == static_cast<std::size_t>(std::count(a.begin(), a.end(), Truth::yes));
      right = right && counted.no == static_cast<std::size_t>(std::count(a.begin(), a.end(), Truth::no));
      right = right && counted.yes + counted.no + counted.unknown == n;
      CHECK_MESSAGE(right, set->name, " of ", n);
    });
}

TEST_CASE("tens of thousands of members of one truth are counted, in both kernel sets") {
  constexpr std::size_t n = 20'000;
  for (const auto* set : both()) {
    const std::vector<Truth> yes(n, Truth::yes), unknown(n, Truth::unknown), no(n, Truth::no);
    CHECK(set->tally(yes.data(), n).yes == n);
    CHECK(set->tally(unknown.data(), n).unknown == n);
    CHECK(set->tally(no.data(), n).no == n);
  }
}

TEST_CASE("reductions leave out what is no number, in both kernel sets") {
  for (const auto* set : both())
    for_columns("reductions", [&](RandomValues& random, std::size_t n) {
      const auto a = random.column(n);
      const auto known = numbers(a);
      CHECK(set->count_known(a.data(), n) == known.size());
      const auto lacking = std::count_if(a.begin(), a.end(), [](double x) { return is_absent(x); });
      CHECK(set->count_present(a.data(), n) == n - static_cast<std::size_t>(lacking));
      CHECK(same_value(set->sum(a.data(), n), sum_oracle(a)));
      CHECK(same_value(set->min(a.data(), n), known.empty() ? absent : *std::min_element(known.begin(), known.end())));
      CHECK(same_value(set->max(a.data(), n), known.empty() ? absent : *std::max_element(known.begin(), known.end())));

      std::vector<double> scratch(n + 1, 42.0);
      for (const double q : {0.5, 0.0, 1.0, 0.9, 0.01, random.uniform()})
        CHECK_MESSAGE(same_value(set->quantile(a.data(), n, q, scratch.data()), quantile_oracle(known, q)), set->name,
                      " ", q, " of ", n);
      std::vector<double> distances;
      if (const double median = quantile_oracle(known, 0.5); is_number(median))
        for (double x : known)
          if (is_number(x - median)) distances.push_back(std::fabs(x - median));
      CHECK(same_value(set->mad(a.data(), n, scratch.data()), quantile_oracle(distances, 0.5)));
      CHECK(scratch[n] == 42.0);
    });
}

TEST_CASE("order statistics are right for values that defeat a sample") {
  for (const auto* set : both()) {
    for (const std::size_t n : {49u, 1000u, 4096u}) {
      std::vector<std::vector<double>> columns(6, std::vector<double>(n));
      for (std::size_t i = 0; i < n; ++i) {
        columns[0][i] = 7;                                                // all equal
        columns[1][i] = i < n / 2 ? 1 : 2;                                // two values
        columns[2][i] = static_cast<double>(i);                           // sorted
        columns[3][i] = i % 8 ? 1 + 1e-9 * static_cast<double>(i) : 1e6;  // one hot GPU in each node
        columns[4][i] = std::ldexp(1.0, static_cast<int>(i % 2000) - 1000);
        columns[5][i] = i % 5 ? 3 : (i % 2 ? -1e300 : 1e300);
      }
      std::vector<double> scratch(n);
      for (const auto& column : columns)
        for (const double q : {0.0, 0.1, 0.5, 0.8, 0.999, 1.0})
          CHECK(same_value(set->quantile(column.data(), n, q, scratch.data()), quantile_oracle(column, q)));
    }
  }
}

TEST_CASE("both kernel sets give the same bits") {
  const auto sets = both();
  if (sets.size() < 2) return;
  for_columns("bits", [&](RandomValues& random, std::size_t n) {
    const auto a = random.column(n), b = random.column(n);
    std::vector<double> one(n), other(n);
    for (const auto& word : binaries) {
      (sets[0]->*word.kernel)({a.data()}, {b.data()}, one.data(), n);
      (sets[1]->*word.kernel)({a.data()}, {b.data()}, other.data(), n);
      CHECK_MESSAGE((n == 0 || std::memcmp(one.data(), other.data(), n * sizeof(double)) == 0), word.name, " of ", n);
    }
    CHECK(same_bits(sets[0]->sum(a.data(), n), sets[1]->sum(a.data(), n)));
    CHECK(same_bits(sets[0]->min(a.data(), n), sets[1]->min(a.data(), n)));
    CHECK(same_bits(sets[0]->max(a.data(), n), sets[1]->max(a.data(), n)));
    CHECK(same_bits(sets[0]->mad(a.data(), n, one.data()), sets[1]->mad(a.data(), n, other.data())));
    const double q = random.uniform();
    CHECK(same_bits(sets[0]->quantile(a.data(), n, q, one.data()), sets[1]->quantile(a.data(), n, q, other.data())));
  });
}

TEST_CASE("a kernel set is chosen by a name that there is") {
  CHECK_FALSE(choose_kernels("neon"));
  REQUIRE(choose_kernels("baseline"));
  CHECK(kernels().name == "baseline");
  (void)choose_kernels("avx2");
}
