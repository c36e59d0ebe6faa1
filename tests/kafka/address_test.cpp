#include "adapters/kafka/address.h"

#include <doctest/doctest.h>

using namespace tocsin::adapters::kafka;

TEST_CASE("an address names brokers, and the prefix of the topics") {
  const auto plain = parse_address("kafka://one:9092");
  REQUIRE(plain);
  CHECK(plain->brokers == "one:9092");
  CHECK(plain->topic("alerts") == "tocsin.alerts");
  const auto several = parse_address("one:9092,two:9093/site.a");
  REQUIRE(several);
  CHECK(several->brokers == "one:9092,two:9093");
  CHECK(several->topic("alerts") == "site.a.alerts");
}

TEST_CASE("an address that cannot be one is refused with what to write") {
  for (const char* text : {"", "kafka://", "one", "one:", "one:0", "one:99999", "one:90x", ":9092", "one:9092,",
                           "one:9092,,two:9092", "http://one:9092", "one:9092/", "one:9092/a b", "one:9092/a/b"}) {
    CAPTURE(text);
    const auto address = parse_address(text);
    REQUIRE_FALSE(address);
    CHECK(address.error().message.starts_with("'" + std::string{text} + "': "));
  }
  CHECK(parse_address("one").error().message == "'one': 'one' is not HOST:PORT; write kafka://HOST:PORT");
}
