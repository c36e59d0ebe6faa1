#include "adapters/notify/queue.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

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

std::string message_file(const Outgoing& message) {
  return fmt::format("{:020}-{:016x}.msg", stream::nanoseconds(message.made), message.id);
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
  CHECK(lines[0] ==
        Queue::Line{"mail", "'subject 1' of 2026-05-28 20:26:40 UTC is dropped: it could not be sent in time"});
  CHECK(queue.add(message("slack", 4, 3002, 1000)));
  lines = queue.expire(at(3701));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].receiver == "mail");
  CHECK(lines[0].text.starts_with("'subject 2'"));
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

TEST_CASE("a message that was torn costs itself alone, is kept aside, and is named once as dropped") {
  const Scratch scratch;
  const std::string torn = "00000000000000000001-0000000000000001.msg", whole = message_file(message("mail", 1));
  { CHECK(opened(scratch.path(), "a").add(message("mail", 1))); }
  scratch.file("a/" + torn, "{\"version\":1,");
  Queue queue = opened(scratch.path(), "a");
  CHECK(queue.waiting() == 1);
  CHECK(queue.front("mail")->id == 1);
  const std::string kept = (scratch / (torn + ".damaged")).string();
  CHECK(std::filesystem::exists(kept));
  auto lines = queue.expire(at(0));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == Queue::Line{"unknown", (scratch / "a" / torn).string() +
                                               " holds no message that this version can read, and is dropped; it is "
                                               "kept as " +
                                               kept});

  scratch.file("a/" + whole, "damaged while it waits");
  CHECK(queue.front("mail").error().code == stream::Errc::not_found);
  lines = queue.expire(at(0));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].receiver == "mail");
  CHECK(lines[0].text.find(whole) != std::string::npos);
  CHECK(std::filesystem::exists(scratch / (whole + ".damaged")));
  CHECK(queue.waiting() == 0);
  CHECK(queue.bytes() == 0);
}

TEST_CASE("a message that cannot be read now waits until it can") {
  const Scratch scratch;
  const auto file = scratch / "a" / message_file(message("mail", 1)), elsewhere = scratch / "elsewhere";
  const auto goes_away = [&] {  // no file is there that can be read
    std::filesystem::rename(file, elsewhere);
    std::filesystem::create_directory(file);
  };
  const auto comes_back = [&] {
    std::filesystem::remove(file);
    std::filesystem::rename(elsewhere, file);
  };
  {
    Queue queue = opened(scratch.path(), "a");
    CHECK(queue.add(message("mail", 1)));
    goes_away();
    CHECK(queue.front("mail").error().code == stream::Errc::io);
    CHECK(queue.waiting("mail") == 1);
    comes_back();
    CHECK(queue.front("mail")->id == 1);
  }
  goes_away();
  Queue queue = opened(scratch.path(), "a");
  const auto lines = queue.expire(at(0));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].text.find(file.string()) != std::string::npos);
  CHECK_FALSE(lines[0].dropped);
  CHECK(queue.expire(at(0)).empty());
  comes_back();
  CHECK(queue.expire(at(0)).empty());
  CHECK(queue.front("mail")->id == 1);
}
