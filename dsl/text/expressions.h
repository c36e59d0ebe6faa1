#pragma once

#include <re2/re2.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/text/definitions.h"
#include "dsl/text/extraction.h"
#include "dsl/text/scanner.h"
#include "dsl/text/shapes.h"

namespace tocsin::dsl::text {

inline constexpr std::size_t most_captures = 16;
inline constexpr int no_capture = -1;

// The values of the named groups of a definition's line, by the definition's own numbering. Views of the record.
using Captures = std::array<std::string_view, most_captures>;

// A definition and its values with names resolved and expressions compiled.
struct Rule {
  struct Source {
    int capture = no_capture;
    std::unique_ptr<Regex> find;
    bool last = false;
    std::string text;
    std::optional<double> number;
    double scale = 1.0;
    int epoch = no_capture, per_epoch = no_capture;
    double first_epoch = 0.0;
  };
  struct Output {
    std::string name;
    bool textual = false;
    std::vector<Source> sources;
  };

  Definition::Kind kind{};
  std::string name, event, also, source;
  std::vector<Output> fields, samples;
  std::unique_ptr<Regex> unless, continues, until;
  int rank = no_capture, gpu = no_capture, same = no_capture, remembers = no_capture;
  std::vector<std::pair<int, int>> equal;  // captures
  bool rank_yields = false, wrapped = false;
  std::uint32_t most_lines = 512;

  [[nodiscard]] bool assembles() const noexcept { return continues || until; }
};

// One line expression of a rule.
struct Expression {
  std::uint32_t rule = 0;
  std::unique_ptr<Regex> captures;
  std::vector<int> capture_of;  // by group, to the last named one: its number in the rule, or no_capture
  [[nodiscard]] bool match(std::string_view text, Captures& out, Shapes& shapes) const;
};

// All compiled patterns and parsers of a pack. Immutable.
class Expressions {
 public:
  // Null if `problems` is not empty. What is not in `groups` is compiled, and added.
  static std::shared_ptr<const Expressions> compile(std::span<const Definition> definitions,
                                                    std::vector<TextProblem>& problems, Groups& groups,
                                                    DatabaseStore* store = nullptr);

  // The memory of searches, which the extractors of a shard share.
  struct Workspace {
    explicit Workspace(const Expressions& of)
        : scratch{of.scans_[0].scanner->make_scratch(), of.scans_[1].scanner->make_scratch()} {}
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    std::array<Scanner::Scratch, 2> scratch;
    Searches searches;
    Shapes shapes{searches};
    std::vector<std::uint32_t> alike;  // reused between scans
  };
  // The expressions that may match, ascending.
  void scan(std::string_view text, Workspace& workspace, std::vector<std::uint32_t>& found) const;
  [[nodiscard]] const Expression& expression(std::uint32_t id) const { return expressions_[id]; }
  [[nodiscard]] const Rule& rule(std::uint32_t index) const { return rules_[index]; }
  [[nodiscard]] std::span<const Rule> rules() const noexcept { return rules_; }
  // The index of the first expression of a rule; its others follow.
  [[nodiscard]] std::span<const Expression> of(std::uint32_t rule) const;
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name, Definition::Kind kind) const;

 private:
  std::vector<Rule> rules_;
  std::vector<Expression> expressions_;  // ascending by rule
  std::vector<std::size_t> first_;       // by rule
  struct Scan {
    std::unique_ptr<Scanner> scanner;
    std::vector<std::vector<std::uint32_t>> scanned_for;  // by text of the scanner: the expressions that share it
    void add(std::string_view text, Scanner::Scratch& scratch, std::vector<std::uint32_t>& found) const;
  };
  // [0] has the texts that treat digits alike: what it finds is remembered by shape. [1] has the others. Each of them
  // is also in [0] with all digits alike, with `any_digits` set in its ids: [1] is scanned for only where that occurs.
  std::array<Scan, 2> scans_;
  static constexpr std::uint32_t any_digits = 0x80000000;
  bool always_both_ = false;  // some text has no such form
};

}  // namespace tocsin::dsl::text
