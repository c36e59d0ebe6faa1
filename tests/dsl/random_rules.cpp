#include "tests/dsl/random_rules.h"

#include <array>
#include <vector>

namespace tocsin::dsl::test {
namespace {

enum Level { none, job, rack, node, gpu, rank };
constexpr std::array level_names{"none", "job", "rack", "node", "gpu", "rank"};

struct Text {
  std::string text;
  Level level;
};

// What a need gives at once, by unit. `$` is a word that keeps the unit.
struct Source {
  const char* unit;
  Level level;
  const char* text;
};
constexpr std::array sources{
    Source{"ratio", gpu, "job.duty:$"},
    Source{"ratio", gpu, "job.usual:$"},
    Source{"ratio", gpu, "job.past:$"},
    Source{"ratio", gpu, "job.reasons:fraction { bits = 5 }"},
    Source{"MHz", gpu, "job.clock:$"},
    Source{"bytes", node, "job.memory:$"},
    Source{"bytes", gpu, "job.sent:delta()"},
    Source{"seconds", rank, "job.took:$"},
    Source{"seconds", rank, "job.took:last(5)"},
    Source{"seconds", rank, "job.loaded:$"},
    Source{"seconds", rank, "job.step:age()"},
    Source{"seconds", rank, "job.any:age()"},
    Source{"seconds", gpu, "job.fault:age()"},
    Source{"seconds", gpu, "job.fault:where { place = \"east\" }:age()"},
    Source{"seconds", gpu, "job.duty:interval()"},
    Source{"seconds", gpu, "job.duty:age()"},
    Source{"seconds", node, "job.memory:time_to(0.9)"},
    Source{"seconds", node, "job.memory:time_to(job.memory:max():max(\"job\"))"},
    Source{"seconds", job, "job.phase:age()"},
    Source{"seconds", job, "job:age()"},
    Source{"none", job, "job.loss:$"},
    Source{"none", job, "job.loss:first(4)"},
    Source{"none", job, "job.losses:mean()"},
    Source{"none", job, "job.losses:max()"},
    Source{"none", job, "job.loss:kendall()"},
    Source{"none", gpu, "job.duty:kendall()"},
    Source{"none", gpu, "job.clock:cusum()"},
    Source{"none", gpu, "job.duty:sum()"},
    Source{"none", gpu, "job.fault:last(\"code\")"},
    Source{"none", gpu, "job.faults:first(\"code\")"},
    Source{"none", gpu, "(job.duty:slope() / job.usual:rate())"},
    Source{"none", gpu, "(job.past:theil_sen() / job.duty:theil_sen())"},
    Source{"none", gpu, "(job.sent:mean() / job.sent:rate())"},
    Source{"none", node, "(job.memory:sum() / job.memory:ewma(4))"},
    Source{"none", rank, "(job.step:rate() / job.step:slope())"},
    Source{"none", gpu, "(job.fault:rate() / job.fault:except { code = 13 }:rate())"},
    Source{"count", gpu, "job.duty:count()"},
    Source{"count", gpu, "job.past:nonfinite()"},
    Source{"count", gpu, "job.fault:count()"},
    Source{"count", gpu, "job.faults:count()"},
    Source{"count", gpu, "job.fault:repeats(\"code\")"},
    Source{"count", gpu, "job.fault:distinct(\"code\")"},
    Source{"count", gpu, "job.fault:where { code = { 48, 79 } }:count()"},
    Source{"count", gpu, "job.fault:except { place = \"west\" }:count()"},
    Source{"count", gpu, "job.fault:where { place = { \"*s*\", \"north\" } }:count()"},
    Source{"count", gpu, "job.faults:except { place = \"e*t\" }:count()"},
    Source{"count", rank, "job.loaded:count()"},
    Source{"none", job, "job.lately:max()"},
    Source{"count", rank, "job.step:delta()"},
    Source{"count", rank, "job.step:last()"},
    Source{"count", job, "job.loss:nonfinite()"},
};
constexpr std::array units{"ratio", "MHz", "bytes", "seconds", "none", "count"};

const char* const needs =
    "duty = signal \"duty\" { over = \"30s\" }, usual = signal \"duty\" { over = \"4m\", freeze = true },\n"
    "    past = signal \"duty\" { over = \"5m\", lag = \"80s\", least = 20 }, clock = signal \"clock\" { over = "
    "\"1m\", "
    "full = true },\n"
    "    sent = signal \"sent\" { over = \"1m\" }, memory = signal \"memory\" { over = \"1m\", freeze = true },\n"
    "    took = signal \"step_time\" { over = 16 }, loaded = signal \"load_time\" { over = \"1m\", full = true },\n"
    "    lately = signal \"loss\" { over = 20, full = true },\n"
    "    loss = signal \"loss\" { over = 32 }, losses = signal \"loss\" { over = \"attempt\" },\n"
    "    phase = signal \"phase\" { over = \"1m\" }, reasons = signal \"reasons\" { over = \"1m\" },\n"
    "    fault = signal \"fault\" { over = \"1m\" }, faults = signal \"fault\" { over = \"attempt\" },\n"
    "    step = signal \"step\" { over = \"1m\" }, any = signal \"any\" { over = \"1m\" }";

// A rule that another may ask.
struct Known {
  std::string name;
  Level per;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  std::string rule(const std::string& name, const std::vector<Known>& known) {
    known_ = known;
    const Level per = std::array{job, node, gpu, rank}[pick(4)];
    per_ = per;
    peers_ = pick(2) ? rank : gpu;
    const Text answer = up_to(mask(4), per, "any");
    std::string body = "    local a = " + answer.text + "\n",
                second = "x = " + up_to(column("seconds", 2), per, "max").text;
    if (pick(2)) second += ", y = " + up_to(column("none", 3), per, "max").text;
    if (pick(4) == 0) second += ", frozen = " + up_to({"job.usual:median()", gpu}, per, "max").text;
    if (per != rank && pick(2)) second += ", who = (" + mask(2).text + "):at(\"rank\")";
    if (pick(2)) {
      body += "    state.best = least(state.best, " + up_to(column("none", 2), per, "min").text + ")\n";
      body += "    a = a | state.best:below(0.5)\n";
    }
    std::string findings;
    for (const Known& other : known_) findings += ", " + other.name + " = finding \"" + other.name + "\"";
    if (known_.size() > 1) findings += ", several = finding { \"" + known_[0].name + "\", \"" + known_[1].name + "\" }";
    return "rule \"" + name + "\" { per = \"" + level_names[per] + "\", " + persistence_ + "peers = { \"" +
           (peers_ == rank ? "stage" : "model") +
           "\" }, params = { share = 0.3, wait = \"2s\" }, state = { best = 1.5 },\n" + "  needs = { " + needs +
           findings + " },\n  evaluate = function(job, p, state)\n" + body + "    return a, { " + second +
           " }\n  end }\n";
  }

  std::string rules(std::size_t count) {
    std::string text;
    std::vector<Known> known;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "r" + std::to_string(i);
      persistence_ = std::string{"every = \""} + std::array{"5s", "10s", "20s"}[pick(3)] + "\", ";
      if (pick(2))
        persistence_ +=
            std::string{"fire = \""} + std::array{"2 of 3", "3 of 6", "for 40s", "2 of 3 for 20s"}[pick(4)] + "\", ";
      if (pick(2))
        persistence_ += std::string{"clear = \""} + std::array{"2 of 2", "3 of 5", "for 30s"}[pick(3)] + "\", ";
      text += rule(name, known);
      known.push_back({name, per_});
    }
    return text;
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
  }
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  // About as large as values of this unit are.
  std::string number(const std::string& unit) {
    const double scale = unit == "seconds" || unit == "count" ? 8 : 1;
    return std::to_string(scale * static_cast<double>(pick(1000)) / 1000);
  }
  static Level finer(Level a, Level b) { return a < b ? b : a; }

  // Taken up to this level, where it is finer.
  Text up_to(Text value, Level level, const std::string& word) {
    if (value.level <= level) return value;
    return {"(" + value.text + "):" + word + "(\"" + level_names[level] + "\")", level};
  }

  // A group that is coarser than this level, or peers.
  std::pair<std::string, Level> group(Level from, bool peers = true) {
    if (peers && from >= node && pick(3) == 0) return {"peers", finer(from, peers_)};
    std::vector<Level> coarser;
    for (const Level level : {job, rack, node, gpu})
      if (level < from) coarser.push_back(level);
    const Level to = coarser[pick(coarser.size())];
    return {level_names[to], to};
  }

  Text leaf(const std::string& unit) {
    std::vector<const Source*> of_unit;
    for (const Source& source : sources)
      if (source.unit == unit) of_unit.push_back(&source);
    const Source& source = *of_unit[pick(of_unit.size())];
    constexpr std::array words{"mean()",        "last()",   "min()",   "max()", "median()",
                               "quantile(0.9)", "stddev()", "first()", "mad()", "ewma(8)"};
    std::string text = source.text;
    if (const auto place = text.find('$'); place != std::string::npos)
      text.replace(place, 1, words[pick(words.size())]);
    return {text, source.level};
  }

  Text column(const std::string& unit, int depth) {
    if (depth <= 0) return leaf(unit);
    switch (pick(13)) {
      case 0:
      case 1: return leaf(unit);
      case 2: return two(unit, depth, " + ");
      case 3: return two(unit, depth, " - ");
      case 4: {
        const Text a = column(unit, depth - 1);
        return {"(" + a.text + (pick(2) ? " * " : " / ") + "p.share)", a.level};
      }
      case 5: {
        const Text a = column(unit, depth - 1), b = column(unit, depth - 1);
        constexpr std::array words{"greatest(", "least(", "greatest_known(", "least_known("};
        return {words[pick(words.size())] + a.text + ", " + b.text + ")", finer(a.level, b.level)};
      }
      case 6: {
        const Text a = column(unit, depth - 1);
        return {"(" + a.text + "):" + (pick(2) ? "clamp(0.1)" : "clamp(0.1, 0.8)"), a.level};
      }
      case 7: {
        const Text a = column(unit, depth - 1);
        return {"(" + a.text + "):fill(" + number(unit) + ")", a.level};
      }
      case 8: {
        const Text a = column(unit, depth - 1);
        return {pick(2) ? "(" + a.text + "):abs()" : "-(" + a.text + ")", a.level};
      }
      case 9: {
        const Text m = mask(depth - 1), a = column(unit, depth - 1), b = column(unit, depth - 1);
        return {"(" + m.text + "):choose(" + a.text + ", " + b.text + ")", finer(m.level, finer(a.level, b.level))};
      }
      case 10: {
        const Text a = column(unit, depth - 1);
        if (a.level <= job) return a;
        const auto [name, to] = group(a.level);
        if (unit == "none" && pick(4) == 0) return {"(" + a.text + "):sum(\"" + name + "\")", to};
        if (unit == "count" && pick(4) == 0) return {"(" + a.text + "):count(\"" + name + "\")", to};
        if (pick(5) == 0) return {"(" + a.text + "):quantile(0.5, \"" + name + "\")", to};
        constexpr std::array words{"median", "mad", "mean", "min", "max", "spread", "mode"};
        return {"(" + a.text + "):" + words[pick(words.size())] + "(\"" + name + "\")", to};
      }
      case 11: {
        const Text a = column(unit, depth - 1);
        return {"(" + a.text + "):at(\"rank\")", rank};
      }
      default:
        if (unit != "none") return leaf(unit);
        const std::string other = std::array{"ratio", "MHz", "bytes", "seconds"}[pick(4)];
        const Text a = column(other, depth - 1), b = column(other, depth - 1);
        const std::string quotient = "((" + a.text + ") / (" + b.text + "))";
        return {pick(3) ? quotient : quotient + ":log()", finer(a.level, b.level)};
    }
  }
  Text two(const std::string& unit, int depth, const char* sign) {
    const Text a = column(unit, depth - 1), b = column(unit, depth - 1);
    return {"(" + a.text + sign + b.text + ")", finer(a.level, b.level)};
  }

  Text mask(int depth) {
    const std::string unit = units[pick(units.size())];
    if (!known_.empty() && pick(8) == 0) {
      const std::string word = pick(2) ? ":now()" : ":ever()";
      if (known_.size() > 1 && pick(3) == 0) return {"job.several" + word, job};
      const Known& other = known_[pick(known_.size())];
      return {"job." + other.name + word, other.per};
    }
    if (depth <= 0 || pick(4) == 0) {
      const Text a = column(unit, depth - 1);
      constexpr std::array words{"above", "below", "at_least", "at_most"};
      const std::string word = words[pick(words.size())];
      if (pick(2)) return {"(" + a.text + "):" + word + "(" + number(unit) + ")", a.level};
      const Text b = column(unit, depth - 1);
      return {"(" + a.text + "):" + (pick(5) == 0 ? "is" : word) + "(" + b.text + ")", finer(a.level, b.level)};
    }
    switch (pick(10)) {
      case 8: {
        if (pick(3) == 0) {
          const Text a = column(unit, depth - 1);
          return {"(" + a.text + "):known()", a.level};
        }
        constexpr std::array words{":seen()", ":within(\"20s\")", ":older_than(p.wait)"};
        const std::string word = words[pick(words.size())];
        constexpr std::array windows{"duty", "fault", "faults", "fault:where { code = 79 }", "sent"};
        if (const std::size_t i = pick(windows.size() + 2); i < windows.size())
          return {std::string{"job."} + windows[i] + word, gpu};
        return {(pick(2) ? "job.loaded" : "job.step") + word, rank};
      }
      case 0:
      case 1:
      case 2: {
        const Text a = mask(depth - 1), b = mask(depth - 1);
        return {"(" + a.text + (pick(2) ? " & " : " | ") + b.text + ")", finer(a.level, b.level)};
      }
      case 3: {
        const Text a = mask(depth - 1);
        return {"~(" + a.text + ")", a.level};
      }
      case 4: {
        const Text a = mask(depth - 1);
        return {"(" + a.text + "):" + (pick(2) ? "surely()" : "maybe()"), a.level};
      }
      case 5: {
        const Text a = mask(depth - 1);
        if (a.level <= job) return a;
        const auto [name, to] = group(a.level);
        return {"(" + a.text + "):" + (pick(2) ? "any" : "all") + "(\"" + name + "\")", to};
      }
      case 6: {
        const Text a = mask(depth - 1);
        if (a.level <= job) return a;
        const auto [name, to] = group(a.level);
        const std::string limit = pick(3) ? std::to_string(pick(4)) : "0.5 * job.duty:last():count(\"job\")";
        return {"(" + a.text + "):" + (pick(2) ? "at_least" : "at_most") + "(" + limit + ", \"" + name + "\")", to};
      }
      case 7: {
        const Text a = mask(depth - 1);
        if (a.level <= job)
          return {pick(2) ? "job.phase:last():is(\"train\", \"save\")" : "job.phase:first():is(\"eval\")", job};
        const auto [name, to] = group(a.level);
        return {"(" + a.text + "):count(\"" + name + "\"):above(1)", to};
      }
      default:
        if (pick(3) == 0) return {"job.reasons:last():is(1, 4, 5)", gpu};
        if (pick(3) == 0) return {"job.fault:last(\"place\"):is(\"east\", \"north\")", gpu};
        return {"job.fault:where { code = { 48, 79 } }:count():is(0, 2)", gpu};
    }
  }

  std::uint64_t state_;
  Level peers_ = rank;  // of the coordinate's owner
  Level per_ = job;
  std::string persistence_ = "every = \"10s\", ";
  std::vector<Known> known_;
};

}  // namespace

std::string random_rule(std::uint64_t seed, const std::string& name) { return Generator{seed}.rule(name, {}); }
std::string random_rules(std::uint64_t seed, std::size_t count) { return Generator{seed}.rules(count); }

}  // namespace tocsin::dsl::test
