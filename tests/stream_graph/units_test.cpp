#include <doctest/doctest.h>

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
  CHECK(unit_quotient("seconds", "ratio") == "seconds");
}
