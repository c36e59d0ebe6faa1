// Signals whose members always write together have their arrivals together.
#include "stream/windows/arrivals.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "bench.h"
#include "tests/seed.h"

using namespace tocsin::test;

namespace {

struct Signals : Bench {
  static constexpr std::size_t count = 6;
  std::vector<SignalId> ids;
  Signals() {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "signal" + std::to_string(i);
      add(signal(name, SignalKind::gauge, i == 4));
      reduce(window(name, 30s), Op::w_mean);
    }
    begin();
    for (std::size_t i = 0; i < count; ++i) ids.push_back(*table.find("signal" + std::to_string(i)));
  }
  std::vector<std::byte> bytes() const {
    Writer out;
    history->save(out);
    return std::move(out).take();
  }
};

}  // namespace

TEST_CASE("arrivals that are noted together are those of each signal by itself, also after a snapshot") {
  std::mt19937 random{seed(21)};
  for (int round = 0; round < 20; ++round) {
    Signals together, singly;
    double now = 0;
    for (int message = 0; message < 120; ++message) {
      now += static_cast<double>(1 + random() % 40) / 16;
      if (random() % 3 != 0) now = std::ceil(now);
      std::vector<SignalId> some;
      for (const SignalId id : together.ids)
        if (random() % 20 != 0) some.push_back(id);
      std::vector<Slot> slots;
      for (Slot slot = 1; slot <= 4; ++slot)
        if (random() % 5 != 0) slots.push_back(slot);
      if (some.empty() || slots.empty()) continue;
      const std::vector<float> values(slots.size(), static_cast<float>(random() % 50));
      together.settle(now), singly.settle(now);
      if (random() % 4 == 0) some = {some.front()};
      const bool arrived =
          random() % 4 != 0 && together.history->arrive(some, std::array{History::Arrival{slots, at(now)}});
      const RecordOrder order{0, static_cast<std::uint64_t>(message) + 1, 0};
      for (const SignalId id : some) {
        together.history->samples(id, slots, at(now), values, at(now), order, arrived);
        singly.history->samples(id, slots, at(now), values, at(now), order);
      }
      if (message % 30 == 29) {
        CHECK(together.bytes() == singly.bytes());
        const auto bytes = together.bytes();
        for (Signals* one : {&together, &singly}) {
          one->history.emplace(one->open());
          Reader in{bytes};
          REQUIRE(one->history->load(in));
        }
        CHECK(together.bytes() == bytes);
      }
    }
  }
}

TEST_CASE("what comes before a tick that has yet to run is not noted together") {
  Signals signals;
  signals.settle(10);
  const Slot slot = 1;
  CHECK(signals.history->arrive(signals.ids, std::array{History::Arrival{{&slot, 1}, at(10)}}));
  CHECK_FALSE(signals.history->arrive(signals.ids, std::array{History::Arrival{{&slot, 1}, at(11)}}));
}

TEST_CASE("whether the usual interval is long enough is as it is known, of intervals that differ and of few") {
  std::mt19937 random{seed(22)};
  for (int round = 0; round < 200; ++round) {
    Arrivals arrivals{false};
    const Slot slot = 1;
    double now = 0;
    const auto differ = 1 + random() % 6, steady = 1 + random() % 4;
    const auto messages = random() % 40;
    for (auto left = messages; left > 0; --left) {
      now += 1 + (random() % steady == 0 ? static_cast<double>(random() % differ) / 8 : 0);
      arrivals.note({&slot, 1}, false, at(now), 2);
      std::vector<double> usual(2, 9.0);
      arrivals.usual(9, usual);
      for (double least = 0.875; least < 2; least += 0.125)
        CHECK(arrivals.usual_is(slot, 9, [least](double every) { return every >= least; }) == (usual[1] >= least));
    }
  }
}
