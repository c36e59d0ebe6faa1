#include <doctest/doctest.h>

#include <limits>

#include "stream/values/symbols.h"
#include "stream/values/units.h"

using namespace tocsin::stream;

TEST_CASE("a bare number takes the unit of what it meets") {
  CHECK(common_unit("any", "seconds") == "seconds");
  CHECK(common_unit("MHz", "any") == "MHz");
  CHECK(unit_product("any", "ratio") == "ratio");
  CHECK(unit_quotient("bytes", "any") == "bytes");
}

TEST_CASE("units that measure different things do not stand beside each other") {
  CHECK_FALSE(common_unit("seconds", "bytes"));
  CHECK_FALSE(common_unit("ratio", "count"));
  CHECK_FALSE(common_unit("text", "any"));
  CHECK(common_unit("ratio", "none") == "none");
}

TEST_CASE("products and quotients cancel what they share") {
  CHECK(unit_product("ratio", "ratio") == "ratio");
  CHECK(unit_product("count", "none") == "count");
  CHECK(unit_quotient("bytes", "bytes") == "none");
  CHECK(unit_quotient("bytes", "seconds") == "bytes/seconds");
  CHECK(unit_product("bytes/seconds", "seconds") == "bytes");
  CHECK(unit_product("bytes", "seconds") == "bytes*seconds");
  CHECK(unit_quotient("any", "seconds") == "1/seconds");
  CHECK(unit_quotient("bytes/seconds", "seconds") == "bytes/seconds/seconds");
  CHECK(unit_product("bytes/seconds/seconds", "seconds") == "bytes/seconds");
  CHECK(unit_quotient("ratio", "none") == "none");
  CHECK(unit_quotient("seconds", "ratio") == "seconds");
}

TEST_CASE("units of one kind are converted, and those of different kinds are not") {
  CHECK(unit_factor("ms", "seconds") == 0.001);
  CHECK(unit_factor("min", "seconds") == 60);
  CHECK(unit_factor("ns", "ms") == 1e-6);
  CHECK(unit_factor("KiB", "bytes") == 1024);
  CHECK(unit_factor("%", "ratio") == 0.01);
  CHECK(unit_factor("MiB/s", "bytes/seconds") == 1048576);
  CHECK(unit_factor("count/min", "count/seconds") == 1.0 / 60);
  CHECK(unit_factor("bytes/ms*KiB", "bytes/seconds*bytes") == 1024 * 1000);
  CHECK(unit_factor("1", "count") == 1);
  CHECK(unit_factor("none", "ratio") == 1);
  CHECK(unit_factor("tokens", "tokens") == 1);
  CHECK_FALSE(unit_factor("ms", "bytes"));
  CHECK_FALSE(unit_factor("%", "count"));
  CHECK_FALSE(unit_factor("bytes", "bytes/seconds"));
  CHECK_FALSE(unit_factor("bytes*seconds", "bytes/seconds"));
  CHECK_FALSE(unit_factor("text", "none"));
  CHECK_FALSE(unit_factor("fahrenheit", "celsius"));
  CHECK_FALSE(unit_factor("", "seconds"));
}

TEST_CASE(
    "texts are one symbol where their first kilobyte is, and numbers are symbols of texts only where there is one") {
  Symbols symbols;
  const std::string longest(1'024, 'x');
  const double first = symbols.intern("train"), second = symbols.intern(longest);
  CHECK(first == 0);
  CHECK(symbols.intern(longest + "y") == second);
  CHECK(symbols.find(longest + "z") == second);
  CHECK(symbols.intern(longest.substr(1)) != second);
  CHECK(symbols.text(first) == "train");
  CHECK(symbols.text(second) == longest);
  CHECK_FALSE(symbols.text(3));
  CHECK_FALSE(symbols.text(-1));
  CHECK_FALSE(symbols.text(std::numeric_limits<double>::quiet_NaN()));
}

TEST_CASE("a quantity is shown with all digits before the point, never with an exponent that nobody reads") {
  CHECK(quantity_text(1234.4, "watts") == "1234 W");
  CHECK(quantity_text(999.6, "watts") == "1000 W");
  CHECK(quantity_text(-1234.4, "watts") == "-1234 W");
  CHECK(quantity_text(402.4, "watts") == "402 W");
  CHECK(quantity_text(999.7 * 1024 * 1024 * 1024, "bytes") == "0.976 TiB");
  CHECK(quantity_text(5e18, "bytes") == "4441 PiB");
  CHECK(quantity_text(110.0 * 1024 * 1024 * 1024, "bytes") == "110 GiB");
  CHECK(quantity_text(12345.6, "count/seconds") == "12346");
  CHECK(quantity_text(9999.7, "none") == "10000");
  CHECK(quantity_text(1234.56, "none") == "1235");
  CHECK(quantity_text(0.000123456, "none") == "0.0001235");
  CHECK(quantity_text(1e18, "none") == "1e+18");
  CHECK(quantity_text(-0.0, "none") == "0");
  CHECK(quantity_text(59.96, "seconds") == "60 s");
  CHECK(quantity_text(599.7, "seconds") == "10 min");
}
