// Losses without a step of their own, and numbers that events carry.
#include <doctest/doctest.h>

#include <utility>

#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::Truth;

namespace {

const stream::LoadedPack& losses_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      step = { kind = "step", unit = "count", owner = "rank" },
      loss = { kind = "gauge", unit = "none", owner = "job", points = true },
      xid  = { kind = "event", unit = "none", owner = "gpu", fields = { code = "none", pci = "text" } } })lua",
                                                        R"lua(
      rule "many" { per = "job", every = "10s", needs = { loss = signal "loss" { over = "attempt" } },
        evaluate = function(job) return job.loss:count():above(45) end }
      rule "fatal" { per = "gpu", every = "10s", needs = { xid = signal "xid" { over = "1h" } },
        evaluate = function(job) return job.xid:where { code = { 79 } }:count():above(0) end })lua");
  return pack;
}

// Two losses a second without a step of their own, for 40 s; the step is printed each second, or once.
void feed_losses(SmallJob& job, bool steps_go_on) {
  for (double s = 1; s <= 40; ++s) {
    for (const char* signal : {"step", "loss", "loss"}) {
      EntryBuilder b;
      const EntryBuilder::Value value[] = {{signal, s, {}, false}};
      if (signal[0] != 's' || steps_go_on || s == 1) b.sample(SmallJob::at(s), EntryBuilder::rank(0), value);
      job.consume(b, s);
    }
    job.beats(s, s);
  }
  job.beats(41, 60);
}

}  // namespace

TEST_CASE("losses that are printed alone are counted, although the step was printed once") {
  SmallJob job{losses_pack()};
  feed_losses(job, false);
  CHECK(job.last("many", 0) == Truth::yes);
}

TEST_CASE("of the losses of one step one is counted") {
  SmallJob job{losses_pack()};
  feed_losses(job, true);
  CHECK(job.last("many", 0) == Truth::no);
}

TEST_CASE("a number that an event carries as a text is the number, and any other text of it is unknown") {
  for (const auto& [text, expected] :
       {std::pair{"79", Truth::yes}, std::pair{"13", Truth::no}, std::pair{"seventy-nine", Truth::no}}) {
    CAPTURE(text);
    SmallJob job{losses_pack()};
    EntryBuilder b;
    const EntryBuilder::Field fields[] = {{"code", 0, text, true}, {"pci", 0, "0000:3b:00.0", true}};
    b.event(SmallJob::at(1), {stream::Level::gpu, 0, "n1", "0"}, "xid", fields);
    job.consume(b, 1);
    job.beats(2, 60);
    CHECK((job.last("fatal", 0) == Truth::yes) == (expected == Truth::yes));
  }
}
