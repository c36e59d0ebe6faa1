#include "adapters/service/sender_rights.h"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <map>
#include <string>

using namespace tocsin;
using namespace std::chrono_literals;
using adapters::service::SenderRights;

namespace {

// What it may not write, and why; empty: it may.
struct Senders {
  std::map<std::string, SenderRights::KnownJob> known;
  SenderRights rights{{{"alice", {}, {"alice-*", "shared", "!alice-secret"}, {}},
                       {"bob", {}, {}, {"bob"}},
                       {"both", {}, {"both-*"}, {"!root"}},
                       {"agents", {}, {}, {}, 10, 1000}},
                      [this](const std::string& job) {
                        const auto found = known.find(job);
                        return found == known.end() ? std::nullopt : std::optional{found->second};
                      }};
  SenderRights::Now now{1h};
  std::string sends(const std::string& sender, SenderRights::Part part) {
    const auto taken = rights.take(sender, std::array{std::move(part)}, 10, now);
    CHECK((taken || taken.error().code == stream::Errc::refused));
    return taken ? "" : taken.error().message;
  }
};

}  // namespace

TEST_CASE("a sender writes of the jobs that are named for it") {
  Senders senders;
  CHECK(senders.sends("alice", {"alice-1", {}}).empty());
  CHECK(senders.sends("alice", {"shared", {"anybody"}}).empty());
  CHECK(senders.sends("alice", {"llama", {}}) ==
        "the sender alice may not send records of job llama, but of alice-*, shared, !alice-secret: see http.senders");
  CHECK(!senders.sends("alice", {"alice-secret", {}}).empty());
  for (const char* limited : {"alice", "bob"})
    CHECK(senders.sends(limited, {"cluster", {}}).find("may not send records of nodes") != std::string::npos);
  CHECK(senders.rights.limited("alice"));
  CHECK_FALSE((senders.rights.limited("agents") || senders.rights.limited("")));
}

TEST_CASE("a sender of users writes of jobs whose label it is, from their start on") {
  Senders senders;
  CHECK(senders.sends("bob", {"12", {}}) ==
        "the sender bob may not send records of job 12 before its start, with the label user, which is one of bob");
  CHECK(senders.sends("bob", {"12", {"bob"}}).empty());
  CHECK(senders.sends("bob", {"12", {}}).empty());  // also while the service does not know the job yet
  CHECK(senders.sends("bob", {"13", {"bob", "root"}}) ==
        "the sender bob may not send records of job 13 of user root, but of bob: see http.senders");
  senders.now += 10min;
  senders.known = {{"12", {"bob"}}, {"of-root", {"root"}}, {"of-nobody", {}}, {"old", {"root", true}}};
  CHECK(senders.sends("bob", {"12", {}}).empty());
  for (const std::vector<std::string>& stated : {std::vector<std::string>{}, {"bob"}}) {
    CHECK(senders.sends("bob", {"of-root", stated}).find("of user root") != std::string::npos);
    CHECK(senders.sends("bob", {"of-nobody", stated}).find("which has no label user") != std::string::npos);
  }
  CHECK(!senders.sends("bob", {"old", {}}).empty());
  CHECK(senders.sends("bob", {"old", {"bob"}}).empty());  // the next job of this name
  CHECK(senders.sends("bob", {"alice-1", {"bob"}}).find("whose name is another sender's") != std::string::npos);
  CHECK(senders.sends("both", {"both-1", {"carol"}}).empty());
  CHECK(!senders.sends("both", {"both-1", {"root"}}).empty());
}

TEST_CASE("what a start says counts as soon as it is sent, whoever sends it") {
  Senders senders;
  CHECK(senders.sends("", {"12", {"root"}}).empty());
  CHECK(senders.sends("bob", {"12", {"bob"}}).find("of user root") != std::string::npos);
  CHECK(senders.sends("agents", {"14", {"bob"}}).empty());
  CHECK(senders.sends("bob", {"14", {}}).empty());
  senders.now += 3min;  // by now the service knows what has become of a job
  senders.known = {{"12", {"root", true}}};
  CHECK(senders.sends("bob", {"12", {"bob"}}).empty());
}

TEST_CASE("who has no limits writes of every job and node") {
  Senders senders;
  for (const char* anybody : {"agents", ""})
    for (const char* job : {"12", "alice-1", "cluster"}) CHECK(senders.sends(anybody, {job, {"root"}}).empty());
}

TEST_CASE("a sender that sends more than it may in a second is admitted again later, a large request is paid for") {
  Senders senders;
  CHECK(senders.rights.admit("agents", senders.now));
  CHECK(senders.rights.take("agents", {}, 3500, senders.now));
  CHECK(senders.rights.admit("agents", senders.now).error().code == stream::Errc::io);
  CHECK(senders.rights.admit("alice", senders.now));
  CHECK(senders.rights.admit("", senders.now));
  CHECK_FALSE(senders.rights.admit("agents", senders.now + 2s));
  CHECK(senders.rights.admit("agents", senders.now + 3s));
  CHECK(senders.rights.take("agents", {}, 1'000'000'000, senders.now + 3s));
  CHECK_FALSE(senders.rights.admit("agents", senders.now + 60s));
  CHECK(senders.rights.admit("agents", senders.now + 64s));  // it is not shut out for long
}
