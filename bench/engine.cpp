// What the engine costs, on one core: a tick of the whole pack at 1,024 ranks and at 8, compiled and scripted, 1 to 64
// copies of the pack; a second of a job in training, and of a quiet one; an hour of 1,024 ranks
// × 20 signals replayed; what a change of the pack costs a running job. Repeat with: build/release/bench/bench_engine
// [--quick] [--ranks N] [tick] [second] [copies] [scripted] [replay] [reload] TOCSIN_RULES names other rules
// than the shipped ones.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "bench/counted.h"
#include "bench/engine.h"
#include "bench/load.h"
#include "bench/machine.h"

namespace {

using namespace tocsin;

using bench::begin;
using bench::Clock;
using bench::gpu_signals;
using bench::Load;
using bench::rank_signals;
using stream::Time;

double microseconds(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

// A rule's name where it stands for the rule: what it is called, who is built on it, who yields to it.
std::string renamed(const std::string& text, const std::vector<std::string>& names, const std::string& suffix) {
  static const std::regex place{
      R"re((rule\s*"[a-z0-9_]+")|(finding\s*"[a-z0-9_]+")|((finding|yields_to\s*=)\s*\{[^}]*\}))re"};
  std::string out;
  auto from = text.cbegin();
  for (std::sregex_iterator it{text.begin(), text.end(), place}, end; it != end; ++it) {
    out.append(from, (*it)[0].first);
    std::string piece = (*it)[0];
    for (const auto& name : names)
      piece = std::regex_replace(piece, std::regex{"\"" + name + "\""}, "\"" + name + suffix + "\"");
    out += piece;
    from = (*it)[0].second;
  }
  return out.append(from, text.cend());
}

dsl::PackFiles shipped_files() {
  const char* rules = std::getenv("TOCSIN_RULES");
  return bench::pack_files(rules != nullptr ? rules : TOCSIN_SOURCE_DIR "/rules");
}

// The shipped pack with every periodic rule due at the same time, in `copies`; a copy's rules have names of their own.
dsl::PackFiles pack_files(unsigned copies) {
  const dsl::PackFiles files = shipped_files();
  dsl::PackFiles out;
  std::vector<std::string> names;
  const std::regex rule{R"re((^|\n)\s*rule\s*"([a-z0-9_]+)")re"}, case_start{R"re((^|\n)case ")re"};
  for (const auto& [path, text] : files)
    for (std::sregex_iterator it{text.begin(), text.end(), rule}, end; it != end; ++it) names.push_back((*it)[2]);
  for (const auto& [path, text] : files) {
    const bool has_rules = std::regex_search(text, rule);
    if (!has_rules) {
      out[path] = text;
      continue;
    }
    std::string same_tick =
        std::regex_replace(text, std::regex{R"re(every(\s*)=(\s*)"\d+[smh]")re"}, "every = \"10s\"");
    same_tick =
        std::regex_replace(same_tick, std::regex{R"re((every\s*=\s*\{[^}]*)"\d+[smh]"([^}]*\}))re"}, "$1\"10s\"$2");
    out[path] = same_tick;
    if (std::smatch cases; std::regex_search(same_tick, cases, case_start))
      same_tick.resize(static_cast<std::size_t>(cases.position(0)));
    for (unsigned copy = 1; copy < copies; ++copy) {
      const std::string text_of_copy = renamed(same_tick, names, "_" + std::to_string(copy));
      out[path.substr(0, path.size() - 4) + "_" + std::to_string(copy) + ".lua"] = text_of_copy;
    }
  }
  return out;
}

stream::LoadedPack load(const dsl::PackFiles& files, bool scripted = false) {
  dsl::Budgets budgets;
  budgets.all_scripted = scripted;
  budgets.nodes = 10'000'000;
  budgets.load_instructions = 1'000'000'000;
  return bench::load_pack(files, budgets);
}

// The one pack that can be announced.
class NextPack final : public stream::PackSource {
 public:
  explicit NextPack(stream::LoadedPack pack) : pack_(std::move(pack)) {}
  void prepare(std::string_view, std::string_view) override {}
  stream::Result<stream::LoadedPack> pack(std::string_view) override { return pack_; }

 private:
  stream::LoadedPack pack_;
};

using Engine = bench::Engine<bench::Transitions>;

// The beat that carries the clock past a tick, less a beat that carries it past none, is what the tick costs.
double tick_cost(unsigned copies, bool scripted, unsigned ranks, unsigned warm) {
  Engine engine{load(pack_files(copies), scripted)};
  const Load load{ranks, gpu_signals, rank_signals};
  for (const auto& m : load.start()) engine.consume(m, begin);
  const auto beat = Load::beat();
  // By how many rules were evaluated: rules that records trigger run at every second, the periodic ones together.
  std::vector<std::pair<std::uint64_t, double>> beats;
  std::uint64_t before = 0, most = 0;
  for (unsigned s = 1; s < warm + 200; ++s) {
    for (const auto& m : load.second_of(s))
      engine.consume(m, begin + std::chrono::seconds{s} + std::chrono::milliseconds{1});
    const auto start = Clock::now();
    engine.consume(beat, begin + std::chrono::seconds{s + 1});
    const double took = microseconds(Clock::now() - start);
    const std::uint64_t now = engine.shard.counters().evaluations;
    if (s > warm) {
      beats.emplace_back(now - before, took);
      most = std::max(most, now - before);
    }
    before = now;
  }
  std::vector<double> ticks, others;
  for (const auto& [evaluations, took] : beats) (2 * evaluations > most ? ticks : others).push_back(took);
  const auto median = [](std::vector<double> values) {
    if (values.empty()) return 0.0;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
  };
  if (engine.sink.count > 0)
    fmt::print("  ({} transitions: the load is not quiet; the first: {})\n", engine.sink.count, engine.sink.first);
  return median(ticks) - median(others);
}

// What comes in the minute that begins with second `from`: of each second its messages, if the job is not silent, and
// the beat. It is encoded outside the measured time; steps and times go on.
std::vector<std::pair<std::vector<std::byte>, Time>> minute(const Load& load, unsigned from, bool silent = false) {
  std::vector<std::pair<std::vector<std::byte>, Time>> messages;
  for (unsigned s = from; s < from + 60; ++s) {
    if (!silent)
      for (auto& m : load.second_of(s))
        messages.emplace_back(std::move(m), begin + std::chrono::seconds{s} + std::chrono::milliseconds{1});
    messages.emplace_back(Load::beat(), begin + std::chrono::seconds{s + 1});
  }
  return messages;
}

Clock::duration consume(Engine& engine, const std::vector<std::pair<std::vector<std::byte>, Time>>& messages) {
  const auto start = Clock::now();
  for (const auto& [message, arrival] : messages) engine.consume(message, arrival);
  return Clock::now() - start;
}

// A second of a job with the rules at their own periods, its samples with it, and one once nothing has come for an
// hour. The clock is read once a minute: a read of it is a system call, and costs half of a quiet second.
void second_of(unsigned ranks, unsigned warm) {
  Engine engine{load(shipped_files())};
  const Load load{ranks, gpu_signals, rank_signals};
  for (const auto& m : load.start()) engine.consume(m, begin);
  unsigned next = 1;
  const auto run = [&](unsigned minutes, bool silent) {
    Clock::duration spent{};
    for (; minutes > 0; --minutes, next += 60) spent += consume(engine, minute(load, next, silent));
    return spent;
  };
  const unsigned measured = 10, silence = 60;
  run((warm + 59) / 60, false);
  bench::start_counting();
  const auto steady = run(measured, false);
  bench::stop_counting("steady");
  run(silence, true);
  bench::start_counting();
  const auto quiet = run(measured, true);
  bench::stop_counting("quiet");
  fmt::print("a second of {} ranks in steady training: {:.2f} us\n", ranks, microseconds(steady) / measured / 60);
  fmt::print("a quiet second of {} ranks: {:.2f} us\n", ranks, microseconds(quiet) / measured / 60);
}

void replay(unsigned ranks, unsigned seconds) {
  const Load load_of{ranks, gpu_signals, rank_signals};
  std::vector<std::vector<std::byte>> start = load_of.start();
  Engine engine{load(pack_files(1))};
  for (const auto& m : start) engine.consume(m, begin);
  Clock::duration spent{};
  for (unsigned from = 1; from < seconds; from += 60) spent += consume(engine, minute(load_of, from));
  const double took = std::chrono::duration<double>(spent).count();
  fmt::print(
      "replay of {} s, {} ranks x 20 signals: {:.2f} s, {:.0f} x real time, {:.1f} M samples/s; {} transitions\n",
      seconds, ranks, took, seconds / took, static_cast<double>(load_of.samples_per_second()) * seconds / took / 1e6,
      engine.sink.count);
}

// A change to a pack with one rule more: the longest time for one entry in the 30 s from there on, and in the 30 s
// before.
void reload(unsigned ranks, unsigned warm) {
  dsl::PackFiles files = pack_files(1);
  files["with.lua"] = R"(rule "one_more" {
  per = "rank", every = "10s", needs = { clock = signal "sm_clock" { over = "1m" } },
  evaluate = function(job) return job.clock:last():below(1) end,
})";
  const auto changed = load(files);
  NextPack next{changed};
  Engine engine{load(pack_files(1)), &next};
  const Load load_of{ranks, gpu_signals, rank_signals};
  for (const auto& m : load_of.start()) engine.consume(m, begin);
  schemas::EntryBuilder announced;
  announced.pack(changed.pack->hash, begin + std::chrono::seconds{warm}, "");
  double longest_before = 0, longest_after = 0;  // ms
  for (unsigned s = 1; s < warm + 30; ++s) {
    const Time now = begin + std::chrono::seconds{s};
    auto messages = load_of.second_of(s);
    if (s == warm) messages.push_back(schemas::encode(announced.entry()));
    messages.push_back(Load::beat());
    for (const auto& m : messages) {
      const auto start = Clock::now();
      engine.consume(m, now + std::chrono::milliseconds{1});
      const double took = microseconds(Clock::now() - start) / 1000;
      if (s >= warm) longest_after = std::max(longest_after, took);
      else if (s + 30 >= warm) longest_before = std::max(longest_before, took);
    }
  }
  fmt::print(
      "a change of the pack, {} ranks x 20 signals after {} s: the longest entry {:.2f} ms; before it {:.2f} ms\n",
      ranks, warm, longest_after, longest_before);
}

// What to measure: all, or those named.
struct Chosen {
  bool quick = false;
  unsigned seconds = 0;  // of the replay
  unsigned ranks = 0;    // of the tick: these alone
  std::vector<std::string> names;
  [[nodiscard]] bool operator()(std::string_view name) const {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  }
};

Chosen choose(int argc, char** argv) {
  Chosen chosen;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") chosen.quick = true;
    else if (argument == "--seconds" && i + 1 < argc) chosen.seconds = static_cast<unsigned>(std::atoi(argv[++i]));
    else if (argument == "--ranks" && i + 1 < argc) chosen.ranks = static_cast<unsigned>(std::atoi(argv[++i]));
    else if (argument == "tick" || argument == "second" || argument == "copies" || argument == "scripted" ||
             argument == "replay" || argument == "reload")
      chosen.names.push_back(argument);
    else
      std::fprintf(stderr,
                   "usage: bench_engine [--quick] [--seconds N] [--ranks N] [tick] [second] [copies] [scripted] "
                   "[replay] [reload]\n"),
          std::exit(2);
  }
  return chosen;
}

}  // namespace

int main(int argc, char** argv) {
  const Chosen chosen = choose(argc, argv);
  bench::name_machine();
  fmt::print("CPU time of one thread\n");
  const unsigned ranks = 1024, warm = chosen.quick ? 120 : 400;
  if (chosen.ranks > 0) {
    if (chosen("tick"))
      fmt::print("a tick of the whole pack, all periodic rules due, {} ranks: {:.0f} us\n", chosen.ranks,
                 tick_cost(1, false, chosen.ranks, warm));
    if (chosen("second")) second_of(chosen.ranks, warm);
    return 0;
  }
  if (chosen("second"))
    for (const unsigned size : {8u, ranks}) second_of(size, warm);
  if (chosen("tick") || chosen("copies") || chosen("scripted")) {
    const double one = tick_cost(1, false, ranks, warm);
    fmt::print("a tick of the whole pack, all periodic rules due, {} ranks: {:.0f} us; 8 ranks: {:.0f} us\n", ranks,
               one, tick_cost(1, false, 8, warm));
    if (chosen("copies"))
      for (const unsigned copies : {2u, 4u, 16u, 64u}) {
        const double cost = tick_cost(copies, false, ranks, warm);
        fmt::print("  {:>2} copies of the pack: {:.0f} us, {:.2f} x\n", copies, cost, cost / one);
      }
    if (chosen("scripted")) {
      const double scripted = tick_cost(1, true, ranks, warm);
      fmt::print("  every rule as a script: {:.0f} us, {:.2f} x\n", scripted, scripted / one);
    }
  }
  if (chosen("reload")) reload(512, warm);
  if (chosen("replay")) replay(ranks, chosen.seconds > 0 ? chosen.seconds : chosen.quick ? 600 : 3600);
  return 0;
}
