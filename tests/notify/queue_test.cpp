#include "adapters/notify/queue.h"

#include <doctest/doctest.h>

#include "tests/notify/notices.h"
#include "tests/scratch.h"

using namespace tocsin;
using namespace tocsin::adapters::notify;
using test::at;
using test::Scratch;

namespace {

Outgoing message(const std::string& receiver, std::uint64_t id, std::int64_t made = 0, std::size_t bytes = 10) {
  Outgoing out{test::receiver("webhook:https://example.org/hook"),
               id,
               at(made),
               "subject " + std::to_string(id),
               "application/json",
               std::string(bytes, 'x') + "\n\0y"};
  out.receiver.name = receiver;
  return out;
}

Queue opened(const std::filesystem::path& root, const std::string& own, Queue::Limits limits = {}) {
  auto queue = Queue::open(root, own, limits);
  REQUIRE_MESSAGE(queue, (queue ? "" : queue.error().message));
  return std::move(*queue);
}

}  // namespace

TEST_CASE("messages survive the process, each receiver's in order") {
  const Scratch scratch;
  {
    Queue queue = opened(scratch.path(), "a");
    CHECK(queue.add(message("mail", 2, 20)));
    CHECK(queue.add(message("mail", 1, 10)));
    CHECK(queue.add(message("slack", 3, 5)));
    CHECK(queue.keep_state("{}"));
  }
  Queue queue = opened(scratch.path(), "a");
  CHECK(queue.state() == "{}");
  CHECK(queue.waiting() == 3);
  const auto first = queue.front("mail");
  REQUIRE(first);
  CHECK(first->id == 1);
  CHECK(first->body == message("mail", 1, 10).body);
  CHECK(first->receiver.url == "https://example.org/hook");
  queue.pop("mail");
  CHECK(queue.front("mail")->id == 2);
  CHECK(queue.waiting("slack") == 1);
}

TEST_CASE("two processes do not share a directory, and the next takes what an ended one left") {
  const Scratch scratch;
  {
    Queue living = opened(scratch.path(), "living");
    CHECK(living.add(message("mail", 1)));
    CHECK_FALSE(Queue::open(scratch.path(), "living", {}));
    {
      Queue ended = opened(scratch.path(), "ended");
      CHECK(ended.add(message("mail", 2)));
    }
    Queue next = opened(scratch.path(), "next");
    next.adopt(true);
    CHECK(next.waiting("mail") == 1);
    CHECK(next.front("mail")->id == 2);
    CHECK_FALSE(std::filesystem::exists(scratch / "ended"));
    CHECK(living.front("mail")->id == 1);
  }
}

TEST_CASE("what is too old or too much is dropped, the oldest first, with a line for each") {
  const Scratch scratch;
  Queue queue = opened(scratch.path(), "a", {3000, 1000, std::chrono::hours{1}});
  CHECK(queue.add(message("mail", 1, 0)));
  CHECK(queue.add(message("mail", 2, 3000, 1000)));
  CHECK(queue.add(message("slack", 3, 3001, 1000)));
  auto lines = queue.expire(at(3700));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == std::pair<std::string, std::string>{
                        "mail", "'subject 1' of 2026-05-28 20:26:40 UTC is dropped: it could not be sent in time"});
  CHECK(queue.add(message("slack", 4, 3002, 1000)));
  lines = queue.expire(at(3701));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].first == "mail");
  CHECK(lines[0].second.find("'subject 2'") == 0);
  CHECK(queue.waiting("slack") == 2);
}

TEST_CASE("where the disk takes nothing messages wait in memory, up to their bound") {
  Queue queue{{1000, 600, std::chrono::hours{1}}};
  const auto first = queue.add(message("mail", 1));
  CHECK_FALSE(first);
  CHECK(first.error().code == stream::Errc::io);
  CHECK(queue.front("mail")->id == 1);
  const auto second = queue.add(message("mail", 2, 0, 500));
  CHECK_FALSE(second);
  CHECK(second.error().code == stream::Errc::too_large);
  CHECK(queue.waiting() == 1);
  queue.pop("mail");
  CHECK(queue.waiting() == 0);
}

TEST_CASE("a message that was torn costs itself alone") {
  const Scratch scratch;
  { CHECK(opened(scratch.path(), "a").add(message("mail", 1))); }
  scratch.file("a/00000000000000000001-0000000000000001.msg", "{\"version\":1,");
  scratch.file("a/00000000000000000002-0000000000000001.msg", "");
  Queue queue = opened(scratch.path(), "a");
  CHECK(queue.waiting() == 1);
  CHECK(queue.front("mail")->id == 1);
}
