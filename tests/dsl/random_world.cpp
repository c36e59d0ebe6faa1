#include "tests/dsl/random_world.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "dsl/load/text_definitions.h"
#include "dsl/text/extraction.h"
#include "schemas/codec.h"
#include "tests/dsl/random_log.h"
#include "tests/dsl/random_rules.h"
#include "tests/dsl/sample_pack.h"

namespace tocsin::dsl::test {

using schemas::EntryBuilder;
using stream::Level;
using stream::Time;

namespace {

// ---- packs

void replace_one(std::string& text, std::string_view what, const std::string& with) {
  if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), with);
}

const char* const patterns = R"lua(
pattern "fault" { line = [[^fault (?P<code>INT)]], continues = [[^\s]], event = "fault",
                  fields = { code = "code", place = { find = [[in (\w+)]] } } }
parser "step" { line = [[^step (?P<step>INT) took (?P<took>NUM)]], samples = { step = "step", step_time = "took" } }
)lua";

// Rules of their own kind beside the random ones: what runs at the end, over baselines, at two lags, with room for few
// alerts.
const char* const more_rules = R"lua(
rule "at_end" { family = "D3", per = "rank", every = "end", needs = { all = signal "step_time" { over = "attempt" }, last = signal "load_time" { over = 8 } },
  evaluate = function(job) return job.all:median():above(0.3) | job.last:mean():above(0.4), { x = job.all:mean() } end }
rule "long" { family = "D1", per = "gpu", every = "15s", fire = "2 of 4", peers = { "model" }, shows = "{gpu} {now:.3f} {then:.3f}", needs = {
    now = signal "duty" { over = "40s" }, earlier = signal "duty" { over = "40s", lag = "30s" }, base = signal "duty" { over = "8m", lag = "40s", least = 30, freeze = true } },
  evaluate = function(job)
    local now, base, ago = job.now:mean(), job.base:median(), job.earlier:mean()
    return now:above(base:median("peers")) & now:above(ago), { now = now, ["then"] = ago, base = base:mad("peers"), frozen = job.base:quantile(0.9) }
  end }
rule "kept" { scope = "job", family = "E1", per = "rank", every = { "step", "20s" }, fire = "2 of 3", state = { most = 0, sum = 0 },
  needs = { took = signal "step_time" { over = "45s" }, step = signal "step" { over = "1m" }, was = signal "step_time" { over = "earlier", least = 2 } },
  evaluate = function(job, p, state)
    state.most = greatest(state.most, job.took:max())
    state.sum = state.sum + job.took:mean()
    return job.took:mean():above(0.8 * state.most) | state.sum:above(9) | job.was:count():above(5)
  end }
rule "quiet" { family = "C", per = "node", every = "10s", clear = "for 30s", needs = { memory = signal "memory" { over = "30s" }, any = signal "any" { over = "1m" } },
  evaluate = function(job) return job.any:age():above(6):any("node") | job.memory:age():above(5) end }
rule "capped" { severity = "info", per = "node", every = "5s", needs = { cap = signal "memory_cap" { over = "20s" }, memory = signal "memory" { over = "20s" } },
  yields_to = { "quiet" }, evaluate = function(job) return job.memory:last():above(job.cap:last():fill(0.3)) end }
)lua";

// The same seed and `variant` 0 give one pack; other variants share some of its rules.
stream::LoadedPack random_pack(std::uint64_t seed, std::uint64_t variant) {
  Random random{seed * 64 + variant};
  std::string rules = random_rules(variant % 2 == 0 ? seed : seed * 64 + variant, 4);
  for (const char* every : {"every = \"5s\"", "every = \"10s\"", "every = \"20s\""})
    while (below(random, 2) == 0)
      replace_one(
          rules, every,
          "every =  " + one_of<std::string>(random, {"\"end\"", "{ \"fault\", \"10s\" }", "{ \"took\", \"15s\" }",
                                                     "{ \"5s\", \"end\" }", "\"1s\"", "\"30s\""}));
  for (int i = 0; i < 4; ++i) {
    const std::string head = "rule \"r" + std::to_string(i) + "\" { ";
    std::string more = "family = \"" + one_of<std::string>(random, {"A1", "C2", "D3", "E1"}) + "\", ";
    if (below(random, 3) == 0) more += "mode = \"" + one_of<std::string>(random, {"canary", "shadow"}) + "\", ";
    if (below(random, 3) == 0)
      more += "severity = \"" + one_of<std::string>(random, {"critical", "info", "none"}) + "\", ";
    if (below(random, 4) == 0) more += "scope = \"job\", ";
    if (i > 0 && below(random, 2) == 0)
      more += "yields_to = { \"r" + std::to_string(below(random, static_cast<std::uint64_t>(i))) + "\" }, ";
    replace_one(rules, head, head + more);
  }
  if (below(random, 4) != 0) rules += more_rules;
  std::string signals = sample_signals();
  if (below(random, 3) == 0) replace_one(signals, "clock      = { ", "clock      = { lateness = \"9s\", ");
  if (below(random, 3) == 0) replace_one(signals, "memory     = { ", "memory     = { row = \"5s\", ");
  if (below(random, 4) == 0) replace_one(signals, "load_time  = { ", "load_time  = { lateness = \"3s\", ");
  std::map<std::string, std::string> files{{"signals.lua", signals}, {"site.lua", rules}};
  if (below(random, 5) != 0) files["patterns/lines.lua"] = patterns;
  if (below(random, 4) == 0) replace_one(files["patterns/lines.lua"], "fault (", "fault  ?(");
  files["site.lua"] += "-- " + std::to_string(variant) + "\n";
  Budgets budgets;
  budgets.all_scripted = below(random, 4) == 0;
  Loaded loaded = load(files, budgets);
  if (!loaded.pack) {  // what was put in is refused now and then
    files["site.lua"] = random_rules(seed * 64 + variant, 4) + more_rules;
    loaded = load(files, budgets);
    REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
  }
  const_cast<stream::Pack&>(*loaded.pack).alert_limit = 1 + static_cast<std::uint32_t>(below(random, 5));
  if (files["patterns/lines.lua"].empty()) return {loaded.pack, nullptr};
  const auto compiled = compile_text(files);
  REQUIRE(compiled.extraction);
  return {loaded.pack, compiled.extraction};
}

// ---- the log

Time later(Time time, double seconds) { return time + stream::from_seconds(seconds); }

struct Draft {
  Time appended;
  std::size_t order;
  Logged logged;
};

// Of one job: RandomLog's records, and between them lines, and what changes who is a member.
void job_log(Random& random, std::size_t number, unsigned seconds, bool passing, std::vector<Draft>& drafts) {
  RandomLog log{random(), seconds};
  const Time start = log.start;
  const bool rekeyed = number == 1;
  const std::string name = world_jobs[number];
  std::map<std::string, std::uint64_t> offsets;
  const auto put = [&](const stream::Entry& from, Time arrival) {
    stream::Entry entry = from;
    entry.subject = name;
    const double s = stream::seconds(arrival - start);
    const std::uint64_t least = !passing || s < 250 ? 0 : 1, most = !passing ? 1 : s < 150 ? 0 : s < 300 ? 1 : 2;
    const std::string source = "source/" + std::to_string(least + below(random, most - least + 1));
    Time appended = arrival;
    if (rekeyed && below(random, 20) != 0) {
      entry.origin_source = source, entry.origin_offset = ++offsets[source], entry.arrival = arrival;
      entry.producer = {}, entry.sequence = 0;
      appended = later(arrival, static_cast<double>(below(random, 8)) / 8);
    }
    drafts.push_back({appended, drafts.size(), {schemas::encode(entry), appended, name}});
  };
  std::map<double, std::function<void(EntryBuilder&)>> changes;
  const auto change = [&](double s, std::function<void(EntryBuilder&)> what) { changes[s] = std::move(what); };
  for (int i = 0; i < (passing ? 40 : 14); ++i) {
    const double s = static_cast<double>(below(random, seconds)) + 0.125;
    const auto rank = static_cast<std::uint32_t>(below(random, 10));
    const std::string node = "n" + std::to_string(below(random, 3)), gpu = std::to_string(below(random, 9)),
                      stage = one_of<std::string>(random, {"even", "odd", "third"}),
                      rack = one_of<std::string>(random, {"left", "right"});
    const auto kind = below(random, 8);
    change(s, [=](EntryBuilder& b) {
      const EntryBuilder::Field fields[] = {
          {"rack", 0, rack, true}, {"stage", 0, stage, true}, {"model", 0, stage, true}};
      if (kind < 4)
        b.event(later(start, s), {Level::rank, rank, kind < 2 ? node : "", kind == 0 ? gpu : ""}, "member", fields,
                "scheduler");
      else if (kind < 6) b.event(later(start, s), EntryBuilder::rank(rank), "exit", {}, "scheduler");
      else if (kind == 6) {
        const EntryBuilder::Field reason[] = {{"reason", 0, "completed", true}};
        b.event(later(start, s - 3), EntryBuilder::job(), "end", reason, "scheduler");
      } else b.event(later(start, s), EntryBuilder::job(), "start", {}, "scheduler");
    });
  }
  auto next = changes.begin();
  double line_at = 2;
  for (Message& message : log.messages) {
    const stream::Entry& entry = message.entry.entry();
    for (; next != changes.end() && later(start, next->first) <= message.arrival; ++next) {
      EntryBuilder b;
      next->second(b);
      b.about(name);
      put(b.entry(), message.arrival);
    }
    for (; later(start, line_at) <= message.arrival; line_at += 1.5) {
      if (below(random, 3) == 0) continue;
      EntryBuilder b;
      const auto rank = static_cast<std::uint32_t>(below(random, 8));
      const auto what = below(random, 6);
      const std::string text = what == 0   ? "fault " + std::to_string(below(random, 80))
                               : what == 1 ? "  in east"
                               : what == 2 ? "nothing"
                                           : "step " + std::to_string(1000 + static_cast<int>(line_at)) + " took 0." +
                                                 std::to_string(below(random, 1000));
      b.line(later(start, line_at),
             what < 2 ? EntryBuilder::Member{Level::gpu, 0, "n0", "0"} : EntryBuilder::rank(rank), text);
      b.about(name);
      put(b.entry(), message.arrival);
    }
    if (entry.controls.empty()) {
      put(entry, message.arrival);
    } else if (number == 0) {
      drafts.push_back({message.arrival, drafts.size(), {{}, message.arrival, {}}});  // where control records may come
    }
  }
}

}  // namespace

World random_world(std::uint32_t seed, WorldOptions options) {
  const bool holes = options.holes;
  Random random{seed}, of_holes{seed + 0x9e3779b9u};
  World world;
  std::vector<std::string> hashes;
  for (std::uint64_t i = 0; i < 4; ++i) {
    stream::LoadedPack made = random_pack(seed, i);
    hashes.push_back(made.pack->hash);
    if (i == 0) world.first = made;
    world.packs.emplace(hashes.back(), std::move(made));
  }
  hashes.push_back("0123456789abcdef");  // nobody has it
  const unsigned seconds = 500 + static_cast<unsigned>(below(random, 400));
  std::vector<Draft> drafts;
  for (std::size_t number = 0; number < std::size(world_jobs); ++number)
    job_log(random, number, seconds - 100 * static_cast<unsigned>(number), options.passing, drafts);
  std::stable_sort(drafts.begin(), drafts.end(), [](const Draft& a, const Draft& b) {
    return std::tie(a.appended, a.order) < std::tie(b.appended, b.order);
  });
  double gap = 0;
  double read[3] = {-1e9, -1e9, -1e9};
  const Time start = drafts.front().appended;
  for (Draft& draft : drafts) {
    if (!draft.logged.subject.empty()) {
      world.log.push_back(std::move(draft.logged));
      continue;
    }
    const double s = stream::seconds(draft.appended - start);
    if (below(random, 120) == 0) gap = s + 9;
    const auto put = [&](EntryBuilder& b) { world.log.push_back({schemas::encode(b.entry()), draft.appended, {}}); };
    if (holes && below(of_holes, 90) == 0) gap = std::max(gap, s + static_cast<double>(below(of_holes, 60)));
    if (s < gap) {  // the sources may be read meanwhile, and have had holes of their own
      for (int source = 0; holes && source < 2; ++source) {
        if (below(of_holes, 3) == 0) continue;
        const double before = read[source];
        read[source] = std::max(before, s - static_cast<double>(below(of_holes, 4)));
        const double hole = before > 0 && below(of_holes, 12) == 0
                                ? std::max(0.0, before - static_cast<double>(below(of_holes, 8)))
                                : 0;
        EntryBuilder w;
        w.watermark("source/" + std::to_string(source), later(start, read[source]),
                    hole > 0 ? later(start, hole) : Time{});
        put(w);
      }
      continue;
    }
    EntryBuilder beat;
    beat.beat();
    put(beat);
    for (int source = 0; source < (options.passing ? 3 : 2); ++source) {
      if (options.passing && (s < 150 * source || (source == 0 && s > 260))) continue;
      if (below(random, 30) == 0) continue;
      const double behind =
          source == 1 && static_cast<int>(s) % 400 > 230 ? 150 : 1 + static_cast<double>(below(random, 4));
      read[source] = std::max(read[source], s - behind);
      EntryBuilder w;
      w.watermark("source/" + std::to_string(source), later(start, read[source]));
      put(w);
    }
    if (below(random, 50) == 0) {
      EntryBuilder p;
      const std::string& hash = one_of(random, hashes);
      p.pack(hash, later(draft.appended, static_cast<double>(below(random, 14)) - 3), "its text");
      put(p);
    }
  }
  EntryBuilder last;  // a job alone reads as far as all do
  last.beat();
  world.log.push_back({schemas::encode(last.entry()), later(world.log.back().appended, 1), {}});
  if (below(random, 2) == 0) {
    EntryBuilder b;
    b.seal();
    world.log.push_back({schemas::encode(b.entry()), later(world.log.back().appended, 1), {}});
  }
  return world;
}

}  // namespace tocsin::dsl::test
