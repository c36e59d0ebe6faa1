#include "stream/windows/queue.h"

#include <doctest/doctest.h>

#include <deque>
#include <random>
#include <string>

#include "tests/seed.h"

using tocsin::stream::Queue;

TEST_CASE("a queue holds what std::deque holds, whatever is put in, taken out and erased") {
  std::mt19937 random{tocsin::test::seed()};
  Queue<std::string> queue;
  std::deque<std::string> expected;
  std::size_t most = 0;
  for (unsigned step = 0; step < 20'000; ++step) {
    const bool growing = step / 2'000 % 2 == 0;
    if (random() % 10 < (growing ? 7u : 3u)) {
      queue.push_back(std::to_string(step)), expected.push_back(std::to_string(step));
    } else if (!expected.empty() && random() % 20 == 0) {
      const std::size_t index = random() % expected.size();
      queue.erase(index), expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(index));
    } else if (!expected.empty()) {
      REQUIRE(queue.pop_front() == expected.front());
      expected.pop_front();
    }
    most = std::max(most, expected.size());
    REQUIRE(queue.size() == expected.size());
    if (expected.empty()) continue;
    REQUIRE(queue.front() == expected.front());
    REQUIRE(queue.back() == expected.back());
    if (step % 64 == 0) REQUIRE(std::equal(queue.begin(), queue.end(), expected.begin(), expected.end()));
  }
  CHECK(most > 500);
}

TEST_CASE("a queue that has emptied gives its memory back") {
  Queue<int> queue;
  for (int i = 0; i < 1'000; ++i) queue.push_back(i);
  CHECK(queue.capacity() == 1'024);
  for (int i = 0; i < 1'000; ++i) CHECK(queue.pop_front() == i);
  CHECK(queue.capacity() <= 16);
}

TEST_CASE("a queue can be given a size") {
  Queue<int> queue;
  for (int i = 0; i < 20; ++i) queue.push_back(i + 1);
  for (int i = 0; i < 15; ++i) queue.pop_front();
  queue.resize(3);
  queue.resize(40);
  CHECK(queue.size() == 40);
  CHECK(queue[2] == 18);
  for (std::size_t i = 3; i < queue.size(); ++i) CHECK(queue[i] == 0);
  CHECK(queue.back() == 0);
  queue.clear();
  CHECK(queue.empty());
}
