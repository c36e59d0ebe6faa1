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

struct Source {
  const char* need;
  const char* unit;
  Level level;
};
constexpr std::array sources{Source{"duty", "ratio", gpu},    Source{"clock", "MHz", gpu},       Source{"memory", "bytes", node},
                             Source{"took", "seconds", rank}, Source{"loaded", "seconds", rank}, Source{"loss", "none", job},
                             Source{"usual", "ratio", gpu}};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  std::string rule(const std::string& name) {
    const Level per = std::array{job, node, gpu, rank}[pick(4)];
    peers_ = pick(2) ? rank : gpu;
    const Text answer = up_to(mask(4), per, "any");
    std::string body = "    local a = " + answer.text + "\n", second = "x = " + up_to(column("seconds", 2), per, "max").text;
    if (pick(2)) second += ", y = " + up_to(column("none", 3), per, "max").text;
    if (per != rank && pick(2)) second += ", who = (" + mask(2).text + "):at(\"rank\")";
    if (pick(2)) {
      body += "    state.best = least(state.best, " + up_to(column("none", 2), per, "min").text + ")\n";
      body += "    a = a | state.best:below(0.5)\n";
    }
    return "rule \"" + name + "\" { per = \"" + level_names[per] + "\", every = \"10s\", peers = { \"" +
           (peers_ == rank ? "stage" : "model") +
           "\" }, params = { share = 0.3, wait = \"2s\" }, state = { best = 1.5 },\n  needs = { duty = signal \"duty\" { over = "
           "\"30s\" }, usual = signal \"duty\" "
           "{ over = \"4m\", freeze = true }, clock = signal \"clock\" { over = \"1m\" }, memory = signal \"memory\" { over = "
           "\"1m\" }, took = signal "
           "\"step_time\" { over = 16 }, loaded = signal \"load_time\" { over = \"1m\" }, loss = signal \"loss\" { over = 32 }, "
           "phase = signal \"phase\" { over = "
           "\"1m\" }, fault = signal \"fault\" { over = \"5m\" }, step = signal \"step\" { over = \"1m\" } },\n  evaluate = "
           "function(job, p, state)\n" +
           body + "    return a, { " + second + " }\n  end }\n";
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
  }
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  std::string number() { return std::to_string(static_cast<double>(pick(1000)) / 1000); }
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
    if (unit == "seconds" && pick(3) == 0) {
      if (pick(2)) return {"job.step:age()", rank};
      return {pick(2) ? "job.fault:age()" : "job.duty:interval()", gpu};
    }
    const Source& source = *of_unit[pick(of_unit.size())];
    constexpr std::array words{"mean()", "last()", "min()", "max()", "median()", "quantile(0.9)", "stddev()", "first()"};
    return {std::string{"job."} + source.need + ":" + words[pick(words.size())], source.level};
  }

  Text column(const std::string& unit, int depth) {
    if (depth <= 0) return leaf(unit);
    switch (pick(13)) {
      case 0:
      case 1:
        return leaf(unit);
      case 2:
        return two(unit, depth, " + ");
      case 3:
        return two(unit, depth, " - ");
      case 4: {
        const Text a = column(unit, depth - 1);
        return {"(" + a.text + (pick(2) ? " * " : " / ") + "p.share)", a.level};
      }
      case 5: {
        const Text a = column(unit, depth - 1), b = column(unit, depth - 1);
        return {std::string{pick(2) ? "greatest(" : "least("} + a.text + ", " + b.text + ")", finer(a.level, b.level)};
      }
      case 6: {
        const Text a = column(unit, depth - 1);
        return {"(" + a.text + "):" + (pick(2) ? "clamp(0.1)" : "clamp(0.1, 0.8)"), a.level};
      }
      case 7: {
        const Text a = column(unit, depth - 1);
        return {"(" + a.text + "):fill(" + number() + ")", a.level};
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
        if (pick(5) == 0) return {"(" + a.text + "):quantile(0.5, \"" + name + "\")", to};
        constexpr std::array words{"median", "mad", "mean", "min", "max", "spread"};
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
    const std::string unit = std::array{"ratio", "MHz", "bytes", "seconds", "none"}[pick(5)];
    if (depth <= 0 || pick(4) == 0) {
      const Text a = column(unit, depth - 1);
      constexpr std::array words{"above", "below", "at_least", "at_most"};
      const std::string word = words[pick(words.size())];
      if (pick(2)) return {"(" + a.text + "):" + word + "(" + number() + ")", a.level};
      const Text b = column(unit, depth - 1);
      return {"(" + a.text + "):" + word + "(" + b.text + ")", finer(a.level, b.level)};
    }
    switch (pick(9)) {
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
        return {"(" + a.text + "):" + (pick(2) ? "at_least" : "at_most") + "(" + std::to_string(pick(4)) + ", \"" + name + "\")",
                to};
      }
      case 7: {
        const Text a = mask(depth - 1);
        if (a.level <= job) return {"job.phase:last():is(\"train\", \"save\")", job};
        const auto [name, to] = group(a.level);
        return {"(" + a.text + "):count(\"" + name + "\"):above(1)", to};
      }
      default:
        return {"job.fault:where { code = { 48, 79 } }:count():is(0, 2)", gpu};
    }
  }

  std::uint64_t state_;
  Level peers_ = rank;  // of the coordinate's owner
};

}  // namespace

std::string random_rule(std::uint64_t seed, const std::string& name) { return Generator{seed}.rule(name); }

}  // namespace tocsin::dsl::test
