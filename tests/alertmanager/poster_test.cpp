#include "adapters/alertmanager/poster.h"

#include <doctest/doctest.h>

#include "tests/alertmanager/transitions.h"

using namespace tocsin;
using namespace std::chrono_literals;
using adapters::alertmanager::Poster;
using adapters::alertmanager::PosterOptions;

TEST_CASE("an address that is none, or a label that is ours, is refused with the remedy") {
  const auto message = [](const std::string& url, const std::string& label = "cluster") {
    PosterOptions options;
    options.instances.push_back({url, {}, {}});
    options.labels[label] = "x";
    const auto poster = Poster::start(std::move(options));
    return poster ? "" : poster.error().message;
  };
  CHECK(message("alertmanager:9093") ==
        "'alertmanager:9093' is not an address: it begins with neither http:// nor https://; write http://HOST:PORT or "
        "https://HOST:PORT");
  CHECK(message("http://a:99999").find("its port is not 1 to 65535") != std::string::npos);
  CHECK(message("http://me:secret@host").find("secret@") == std::string::npos);
  CHECK(message("http://me:secret@host").find("has a user or password in it") != std::string::npos);
  CHECK(message("http://127.0.0.1:1", "rank") == "the label rank is set by tocsin; choose another name");
  CHECK(message("http://127.0.0.1:1", "a-b").find("cannot name a label") != std::string::npos);
}

TEST_CASE("what is beyond the memory for alerts is dropped and counted; an end still passes") {
  PosterOptions options;
  options.instances.push_back({"http://127.0.0.1:1", {}, {}});
  options.most_bytes = 20'000;
  const auto poster = Poster::start(std::move(options));
  REQUIRE(poster);
  for (std::uint32_t rank = 0; rank < 100; ++rank) (*poster)->report(0, test::slow_rank(rank + 1, rank));
  const auto full = (*poster)->status().dropped;
  CHECK(full > 50);
  CHECK(full < 100);
  (*poster)->report(0, test::resolved(test::slow_rank(1, 0)));
  CHECK((*poster)->status().dropped == full);
}

TEST_CASE("alerts of shadow rules, of canary rules unless asked for, and of severity none are not posted") {
  PosterOptions options;
  options.instances.push_back({"http://127.0.0.1:1", {}, {}});
  const auto poster = Poster::start(std::move(options));
  REQUIRE(poster);
  auto transition = test::slow_rank();
  transition.mode = stream::Mode::shadow;
  (*poster)->report(0, transition);
  transition.mode = stream::Mode::canary;
  (*poster)->report(0, transition);
  transition.mode = stream::Mode::live;
  transition.severity = stream::Severity::none;
  (*poster)->report(0, transition);
  CHECK((*poster)->drain(5s));
  CHECK((*poster)->status().kept == 0);
}
