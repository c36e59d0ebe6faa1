#include "adapters/service/sender_rights.h"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <string>

using namespace tocsin;
using namespace std::chrono_literals;
using adapters::service::SenderRights;

namespace {

// What it may not write, and why; empty: it may.
struct Senders {
  SenderRights rights{{{"alice", {}, {"alice-*", "shared", "!alice-secret"}, {}},
                       {"bob", {}, {}, {"bob"}},
                       {"carol", {}, {}, {"carol"}},
                       {"agents", {}, {}, {}}}};
  SenderRights::Now now{1h};
  std::string sends(const std::string& sender, SenderRights::Part part) {
    const auto taken = rights.take(sender, std::array{std::move(part)}, now);
    CHECK((taken || taken.error().code == stream::Errc::refused));
    return taken ? "" : taken.error().message;
  }
};

}  // namespace

TEST_CASE("a sender writes of the jobs and users that are named for it") {
  Senders senders;
  CHECK(senders.sends("alice", {"alice-1", "", {}}).empty());
  CHECK(senders.sends("alice", {"shared", "", {"anybody"}}).empty());
  CHECK(senders.sends("alice", {"llama", "", {}}) ==
        "the sender alice may not send records of job llama, but of alice-*, shared, !alice-secret: see http.senders");
  CHECK(!senders.sends("alice", {"alice-secret", "", {}}).empty());
  CHECK(senders.sends("bob", {"12", "", {"bob"}}).empty());
  CHECK(senders.sends("bob", {"13", "", {"bob", "root"}}) ==
        "the sender bob may not send jobs of user root, but of bob: see http.senders");
  CHECK(senders.sends("carol", {"13", "", {}}).empty());  // nothing of a refused request was kept
  for (const char* limited : {"alice", "bob"})
    CHECK(senders.sends(limited, {"cluster", "", {}}).find("may not send records of nodes") != std::string::npos);
}

TEST_CASE("a job belongs to the first sender with limits that writes of it, until an hour after its last record") {
  Senders senders;
  CHECK(senders.sends("bob", {"12", "journal-of-12", {"bob"}}).empty());
  CHECK(senders.sends("carol", {"12", "", {}}) == "job 12 belongs to another sender");
  CHECK(senders.sends("carol", {"", "journal-of-12", {}}) == "the source journal-of-12 belongs to another sender");
  CHECK(senders.sends("bob", {"", "journal-of-12", {}}).empty());
  senders.now += 50min;
  CHECK(senders.sends("bob", {"12", "", {}}).empty());
  senders.now += 50min;
  CHECK(!senders.sends("carol", {"12", "", {}}).empty());
  senders.now += 11min;
  CHECK(senders.sends("carol", {"12", "", {}}).empty());
  CHECK(!senders.sends("bob", {"12", "", {}}).empty());
}

TEST_CASE("who has no limits writes of every job, and owns none") {
  Senders senders;
  CHECK(senders.sends("bob", {"12", "", {}}).empty());
  for (const char* anybody : {"agents", ""}) {
    CHECK(senders.sends(anybody, {"12", "", {"root"}}).empty());
    CHECK(senders.sends(anybody, {"14", "", {}}).empty());
    CHECK(senders.sends(anybody, {"cluster", "", {}}).empty());
  }
  CHECK(senders.sends("carol", {"14", "", {}}).empty());
}

TEST_CASE("a sender that names ever more jobs is refused, and the others are not") {
  Senders senders;
  std::string refused;
  int taken = 0;
  for (; taken < 100'000 && refused.empty(); ++taken) refused = senders.sends("bob", {std::to_string(taken), "", {}});
  CHECK(taken < 30'000);
  CHECK(refused == "the sender bob has sent records of too many jobs within the last hour");
  CHECK(senders.sends("carol", {"c", "", {}}).empty());
  senders.now += 62min;
  CHECK(senders.sends("bob", {"new", "", {}}).empty());
}
