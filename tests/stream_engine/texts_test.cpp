// What the texts of an alert say where a value in them is not known.
#include "tests/stream_engine/live_job.h"

using namespace tocsin;
using namespace tocsin::tests;

namespace {

const char* signals = R"lua(signals {
  fast  = { kind = "gauge", unit = "celsius", owner = "rank" },
  slow  = { kind = "gauge", unit = "celsius", owner = "rank" },
  loss  = { kind = "gauge", unit = "none", owner = "rank" },
  fault = { kind = "event", owner = "job", source = "log" },
})lua";

// The alert of a rule whose texts are these: fast is 95, the loss infinite, slow unknown, and no fault ever came.
stream::AlertTransition alert(const std::string& texts, bool scripted = false) {
  const std::string rule =
      "rule \"r\" { per = \"job\", every = \"10s\", summary = \"too hot\", " + texts +
      ",\n  needs = { fast = signal \"fast\" { over = \"10s\" }, slow = signal \"slow\" { over = \"10s\" }, loss = "
      "signal \"loss\" { over = \"10s\" }, fault = signal \"fault\" { over = \"attempt\" } },\n"
      "  evaluate = function(job)\n    local hot = job.fast:last():above(90)\n" +
      (scripted ? "    if hot:any(\"job\"):yes() then end\n" : "") +
      "    return hot:any(\"job\"), { who = hot, cold = job.slow:last():above(0), fast = job.fast:last():max(\"job\"), "
      "slow = job.slow:last():max(\"job\"),\n      loss = job.loss:last():max(\"job\"), age = job.fault:age(), sure = "
      "hot:any(\"job\"), doubt = job.slow:last():above(0):any(\"job\") }\n  end }";
  LiveJob job{{{"signals.lua", signals}, {"rules.lua", rule}}, 2};
  job.feed(40, [](std::uint32_t) { return LiveJob::Values{{"fast", 95.0}, {"loss", HUGE_VAL}}; });
  REQUIRE(job.published.size() == 1);
  return job.published[0];
}
std::string shown(const std::string& shows) { return alert("shows = " + shows).shows; }

}  // namespace

TEST_CASE("a part in brackets is left out where a value in it is unknown") {
  CHECK(shown("\"{fast} now[ of {slow}][, once {fast}], and on\"") == "95 °C now, once 95 °C, and on");
  CHECK(shown("\"a[[0]] is {fast}[ of [[{fast}]]]\"") == "a[0] is 95 °C of [95 °C]");
  CHECK(shown("\"[from {slow} to {fast}]{fast}\"") == "95 °C");
}

TEST_CASE("a clause outside brackets is left out with what is unknown in it") {
  CHECK(shown("\"now {fast}, before {slow}[ or {fast}]; at the end {fast}\"") == "now 95 °C; at the end 95 °C");
  CHECK(shown("\"from {slow}, to {fast}\"") == "to 95 °C");
  CHECK(shown("\"now {fast} (before, {slow})\"") == "too hot");
}

TEST_CASE("of alternatives the first is given whose values are all known") {
  CHECK(shown("{ \"{slow}, {fast}\", \"only {fast}[, {slow}]\" }") == "only 95 °C");
  CHECK(shown("{ \"{fast}\", \"less\" }") == "95 °C");
  CHECK(shown("{ \"{slow}\", \"from {slow}; {fast}\" }") == "95 °C");
  const auto given =
      alert("shows = \"x\", causes = { sure = { \"by {slow}\", \"by {fast}\" }, doubt = \"by {slow}\" }");
  CHECK(given.implies == std::vector<std::pair<std::string, std::string>>{{"sure", "by 95 °C"}});
  CHECK(given.cannot_decide == std::vector<std::string>{"whether doubt (missing: slow)"});
}

TEST_CASE("an instruction is given whole or not at all") {
  const auto given = [](const std::string& actions) {
    return alert("shows = \"x\", causes = { sure = \"s\" }, actions = { " + actions + " }").actions;
  };
  using Texts = std::vector<std::string>;
  CHECK(given("sure = \"cool to {slow}, then go on\", otherwise = \"go on\"") == Texts{"go on"});
  CHECK(given("sure = { \"cool to {slow}\", \"cool[ to {slow}] rank {rank}[ on {node}]\" }") ==
        Texts{"cool rank 0; cool rank 1"});
  CHECK(given("sure = \"cool to {slow}\"").empty());
}

TEST_CASE("the age of what never happened is unknown, and an infinite loss is a value") {
  CHECK(shown("\"loss {loss}[, {age} after the fault]\"") == "loss inf");
  CHECK(shown("\"loss {loss:.2f}, {age} after the fault\"") == "loss inf");
}

TEST_CASE("a place for members that nothing names is unknown, also in a script") {
  CHECK(alert("shows = \"hot[: {who}][, {doubt}][, {sure}]\"", true).shows == "hot: rank 0, rank 1, yes");
}
