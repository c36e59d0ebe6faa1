#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "stream/graph/mask_form.h"
#include "stream/graph/node_set.h"
#include "stream/graph/operations.h"
#include "stream/values/archive.h"
#include "stream/values/result.h"
#include "stream/values/signal.h"
#include "stream/values/time.h"

namespace tocsin::stream {

enum class RuleIndex : std::uint32_t {};  // of a rule in its pack
enum class PeersId : std::uint32_t {};    // of a list of coordinates in its graph

// A text or a number that a rule gives as a literal.
using Scalar = std::variant<double, std::string>;

// Keeps (where) or drops (except) the events whose field has one of these values.
struct EventFilter {
  std::string field;
  std::vector<Scalar> values;
  bool keep = true;
  static void fields(auto& self, auto& archive) {
    auto& [field, values, keep] = self;
    archive(1, field), archive(2, values), archive(3, keep);
  }
  friend bool operator==(const EventFilter&, const EventFilter&) = default;
};

// The field of every event in the cluster that names the job on its node, where that is known.
inline constexpr std::string_view job_field = "job";

// What a need looks at: a span of one signal that ends `lag` before the tick.
struct WindowSpec {
  enum class Span : std::uint8_t { time, points, attempt, earlier };  // earlier: the attempts before
  SignalId signal{};
  Span span = Span::time;
  Duration over{};  // of a time
  Duration lag{};
  std::uint32_t points = 0;  // of points
  std::uint32_t lag_points = 0;
  std::uint32_t least = 0;  // points, baselines and "attempt" are known from this many values on; 0: 16, or all that
                            // are asked for if fewer
  bool full = false;        // unknown until its whole span of time was covered, or all its points came
  Duration settle{};        // L of the rules that use it: a tick at T runs at T + settle
  std::vector<EventFilter> filters;
  std::optional<RuleIndex> freeze;  // keeps a member's value while this rule's alert on the member is pending or firing

  static void fields(auto& self, auto& archive) {
    auto& [signal, span, over, lag, points, lag_points, least, full, settle, filters, freeze] = self;
    archive(1, signal), archive(2, span), archive(3, over), archive(4, lag), archive(5, points), archive(6, lag_points),
        archive(7, least), archive(8, full), archive(9, settle), archive(10, filters), archive(11, freeze);
  }
  friend bool operator==(const WindowSpec&, const WindowSpec&) = default;

  // Kept as accumulators of an attempt, instead of values.
  [[nodiscard]] bool accumulated() const noexcept { return span == Span::attempt || span == Span::earlier; }
  // Raw rows reach back at most 5 min; a longer window is a ring of panes.
  [[nodiscard]] bool baseline() const noexcept { return span == Span::time && over + lag > std::chrono::minutes{5}; }
};

enum class Shape : std::uint8_t { window, finding, column, mask, job };
[[nodiscard]] std::string_view name(Shape shape) noexcept;

struct Type {
  Shape shape = Shape::column;
  Level level = Level::none;
  std::string unit = "none";  // "any" takes the unit of the other operand; "text" is not a number
  [[nodiscard]] bool text() const noexcept { return unit == "text"; }
  static void fields(auto& self, auto& archive) {
    auto& [shape, level, unit] = self;
    archive(1, shape), archive(2, level), archive(3, unit);
  }
};

// The members over which a reduction runs; `peers`: within the rule's list of coordinates.
enum class Group : std::uint8_t { peers, gpu, node, rack, job };
[[nodiscard]] std::string_view name(Group group) noexcept;
[[nodiscard]] std::optional<Group> group_named(std::string_view text) noexcept;

// What an operation takes besides columns. All fields count when nodes are compared.
struct Attributes {
  double number = 0;  // constant's value, n of first(n), quantile's q, fraction's bits, ewma's span; n of at_least(n,
                      // g) and at_most(n, g), unless a second argument gives it: one value per group, or one for all
  std::vector<Scalar> values;  // of is(…)
  std::string field;           // of an event; of a state; the level of at(…), which builds a spread
  std::optional<Group> group;
  std::optional<PeersId> peers;       // of Group::peers
  std::optional<RuleIndex> rule;      // of freeze and state
  std::vector<std::string> findings;  // names of the rules that a finding joins
  std::optional<WindowSpec> window;
  static void fields(auto& self, auto& archive) {
    auto& [number, values, field, group, peers, rule, findings, window] = self;
    archive(1, number), archive(2, values), archive(3, field), archive(4, group), archive(5, peers), archive(6, rule),
        archive(7, findings), archive(8, window);
  }
  friend bool operator==(const Attributes&, const Attributes&) = default;
};

struct Node {
  Op op{};
  Type type;
  std::vector<NodeId> arguments;
  Attributes attributes;
  std::vector<MaskForm> forms{};  // of a conjunction's or disjunction's arguments, one for each; else empty
  static void fields(auto& self, auto& archive) {
    auto& [op, type, arguments, attributes, forms] = self;
    archive(1, op), archive(2, type), archive(3, arguments), archive(4, attributes), archive(5, forms);
  }
};

// Whether the node is a conjunction or a disjunction: the nodes that &, |, ~, surely and maybe make.
[[nodiscard]] constexpr bool joins_masks(Op op) noexcept { return op == Op::conjunction || op == Op::disjunction; }

// What was joined of more masks is several nodes.
inline constexpr std::size_t most_arguments = 10;

// Whether a node can have other values though its arguments have the same: of a constant never, of a leaf at each tick,
// of a window's reduction or a finding when what it reads has changed, and of is(…) when a text has got a number.
enum class Source : std::uint8_t { arguments, nothing, leaf, window, finding, texts };
[[nodiscard]] constexpr bool has_reading(Source source) noexcept {
  return source == Source::window || source == Source::finding;
}

// What an evaluator reads of a node at each tick, in few bytes: attempts that one graph judges share it.
struct NodeStep {
  Op op{};
  Shape shape = Shape::column;
  Level level = Level::none;
  Source source = Source::arguments;
  std::uint8_t arity = 0;
  bool in_place = false;  // computed by the one node that reads it: has no values of its own
  // Its number among the nodes that have a reading; of its level that have a column, or a mask.
  std::uint32_t reading = 0, column = 0, mask = 0;
  std::uint32_t grouping = 0;  // of one that folds members: the number of its Grouping
  [[nodiscard]] bool mask_of_window() const noexcept { return source == Source::window && shape == Shape::mask; }
  [[nodiscard]] bool has_column() const noexcept { return shape == Shape::column; }
  [[nodiscard]] bool has_mask() const noexcept { return shape == Shape::mask && !in_place; }
  std::array<NodeId, most_arguments> arguments{};
  std::array<MaskForm, most_arguments> forms{};
};

// Over which groups of members of a level a reduction runs.
struct Grouping {
  Level of = Level::none;
  Group by = Group::job;
  PeersId peers{};  // of Group::peers
  friend bool operator==(const Grouping&, const Grouping&) = default;
};

// The operations that tracing leaves of a pack's rules. Nodes are hash-consed: rules share equal nodes. Arguments come
// before their users, so the order of ids is an order of evaluation. Owned by its Pack, and constant once the pack is
// published. A shard with scripted rules has a copy, to which they append above a mark; the copy refers to the pack's
// signals.
class Graph {
 public:
  explicit Graph(const SignalTable& signals) : signals_(&signals) {}

  [[nodiscard]] NodeId constant(double value, std::string unit = "any");
  [[nodiscard]] NodeId window(WindowSpec spec);
  // `level` is that of the rule, or the job if several rules are joined.
  [[nodiscard]] NodeId finding(std::vector<std::string> rules, Level level);
  [[nodiscard]] NodeId state(RuleIndex rule, std::string field, Level per);
  [[nodiscard]] PeersId peers(std::vector<std::string> coordinates);

  // Applies an operation of the table: checks shapes, levels and units, spreads the coarser argument, folds constants,
  // applies the freeze of a frozen need. An operator reads the error's message; the caller adds file and line.
  [[nodiscard]] Result<NodeId> apply(Op op, std::span<const NodeId> arguments, Attributes attributes = {});

  [[nodiscard]] const Node& operator[](NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const NodeStep& step(NodeId id) const { return steps_[static_cast<std::size_t>(id)]; }
  // The nodes that take its values: of one that is computed in place, the node that computes it.
  [[nodiscard]] std::span<const NodeId> users(NodeId id) const { return users_[static_cast<std::size_t>(id)]; }
  // The leaves, which can have other values at each tick.
  [[nodiscard]] const NodeSet& leaves() const noexcept { return leaves_; }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] std::span<const std::string> coordinates(PeersId id) const {
    return peers_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const SignalTable& signals() const noexcept { return *signals_; }

  // How many of its nodes have what a NodeStep numbers.
  struct Numbered {
    std::uint32_t readings = 0;
    std::array<std::uint32_t, level_count> columns{}, masks{};
  };
  [[nodiscard]] const Numbered& numbered() const noexcept { return numbered_; }
  // Of those that are numbered first: an attempt that evaluates no others has no values of others.
  [[nodiscard]] const Numbered& numbered_first() const noexcept { return first_ ? *first_ : numbered_; }
  void number_first(std::span<const NodeId> nodes);
  // By number; the nodes of many rules share few.
  [[nodiscard]] std::span<const Grouping> groupings() const noexcept { return groupings_; }

  // The evaluation of a scripted rule appends nodes and truncates them afterwards.
  [[nodiscard]] std::size_t mark() const noexcept { return nodes_.size(); }
  void truncate(std::size_t mark);

  // The ids that `roots` need, in the order of evaluation.
  [[nodiscard]] std::vector<NodeId> reach(std::span<const NodeId> roots) const;
  // Drops the nodes that `roots` do not need. Gives the new id of each node that it keeps.
  std::unordered_map<NodeId, NodeId> keep(std::span<const NodeId> roots);
  // Lets masks that one node alone reads be computed there, unless others read their values as well: `roots`.
  void compute_in_place(std::span<const NodeId> roots);
  // The window that a node reduces, or the findings that it asks.
  [[nodiscard]] std::string leaf(NodeId id) const;
  // "%2 / %5", with what `written` gives for each argument, and with the node's own id for its leaf. `operand`: an
  // operator or a word stands beside it.
  using Written = std::function<std::string(NodeId argument, bool operand)>;
  [[nodiscard]] std::string expression(NodeId id, const Written& written) const;
  // One line: "%6 = %2 / %5  per gpu  ratio".
  [[nodiscard]] std::string describe(NodeId id) const;

  void save(Writer& out) const;
  void load(Reader& in);  // into an empty graph of the same signals

 private:
  struct Application;
  NodeId intern(Node node);
  void number(NodeStep& step);
  std::uint32_t grouping(const Node& node);

  const SignalTable* signals_;
  std::vector<Node> nodes_;
  std::vector<NodeStep> steps_;  // of each node
  std::vector<std::vector<NodeId>> users_;
  NodeSet leaves_;
  Numbered numbered_;
  std::optional<Numbered> first_;  // none: all are
  std::vector<Grouping> groupings_;
  std::vector<std::string> keys_;  // of each node, to remove it from by_key_
  std::unordered_map<std::string, NodeId> by_key_;
  std::vector<std::vector<std::string>> peers_;
};

}  // namespace tocsin::stream
