#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stream/values/archive.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::stream {

// The owner of a value, from coarse to fine. A column has one entry per member of its level; `none` is a constant.
enum class Level : std::uint8_t { none, job, rack, node, gpu, rank };
// Has one value for all members.
constexpr bool coarse(Level level) noexcept { return level == Level::none || level == Level::job; }
[[nodiscard]] constexpr Level greatest(Level) noexcept { return Level::rank; }
inline constexpr std::size_t level_count = 6;

// What a signal's values are.
//   gauge: a number that may go either way       counter: grows; its rows are rates per second
//   state: a text (or bits), holds until changed step: a count of progress; age counts from its last change
//   time: a point in time, seconds since 1970    event: happens, with fields
//   covered: that a member writes anything at all (only `any`)
enum class SignalKind : std::uint8_t { gauge, counter, state, step, time, event, liveness };

[[nodiscard]] std::string_view name(Level level) noexcept;
[[nodiscard]] std::string_view name(SignalKind kind) noexcept;
[[nodiscard]] std::optional<Level> level_named(std::string_view text) noexcept;

// A named, typed measurement, as `rules/signals.lua` defines it.
struct SignalDefinition {
  std::string name;
  SignalKind kind = SignalKind::gauge;
  std::string unit = "none";  // none ratio count seconds bytes watts celsius MHz bits text … ; products and quotients
                              // are written a*b, a/b
  Level owner = Level::rank;
  Duration row = std::chrono::seconds{1};
  Duration lateness = std::chrono::seconds{5};
  bool points = false;  // its samples also count as points: needs can ask for the last n
  std::string source;  // the source that must be covered before an empty window counts as 0; empty: no source proves it
  std::vector<std::string> values;  // of a state with a closed list
  struct Field {
    std::string name;
    std::string unit;
    static void fields(auto& self, auto& archive) {
      auto& [name, unit] = self;
      archive(1, name), archive(2, unit);
    }
  };
  std::vector<Field> fields;  // of an event
  struct Alias {
    std::string name;
    double factor = 1.0;
    static void fields(auto& self, auto& archive) {
      auto& [name, factor] = self;
      archive(1, name), archive(2, factor);
    }
  };
  std::vector<Alias> aliases;  // foreign names, and the factors of their values
  std::string documentation;
  void save(Writer& out) const { everything(*this, out); }
  void load(Reader& in) { everything(*this, in); }
  static void everything(auto& self, auto& archive) {
    auto& [name, kind, unit, owner, row, lateness, points, source, values, fields, aliases, documentation] = self;
    archive(1, name), archive(2, kind), archive(3, unit), archive(4, owner), archive(5, row), archive(6, lateness),
        archive(7, points), archive(8, source), archive(9, values), archive(10, fields), archive(11, aliases),
        archive(12, documentation);
  }

  // Step, counter and time are kept in double, all else in float.
  [[nodiscard]] bool wide() const noexcept {
    return kind == SignalKind::step || kind == SignalKind::counter || kind == SignalKind::time;
  }
  [[nodiscard]] bool textual() const noexcept { return unit == "text"; }
  // Whether an event's field of this name is declared as a number.
  [[nodiscard]] bool number_field(std::string_view field) const noexcept {
    for (const Field& known : fields)
      if (known.name == field) return known.unit != "text";
    return false;
  }
};

enum class SignalId : std::uint32_t {};

// All signals of a pack, by id and by name (canonical or alias). Immutable once the pack is published.
class SignalTable {
 public:
  Result<SignalId> add(SignalDefinition definition);
  [[nodiscard]] std::optional<SignalId> find(std::string_view name) const;  // canonical names and aliases
  [[nodiscard]] double factor(std::string_view name) const;                 // 1 unless `name` is an alias with a factor
  [[nodiscard]] const SignalDefinition& operator[](SignalId id) const {
    return definitions_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] std::size_t size() const noexcept { return definitions_.size(); }
  [[nodiscard]] std::span<const SignalDefinition> all() const noexcept { return definitions_; }
  [[nodiscard]] bool any_of_source(std::string_view source) const { return sources_.contains(source); }
  void save(Writer& out) const { out(1, definitions_), out(2, coordinates_); }
  void load(Reader& in);  // into an empty table

  // Coordinates that `peers` may list, each with its owner.
  void add_coordinate(std::string name, Level owner);
  [[nodiscard]] std::optional<Level> coordinate(std::string_view name) const;
  [[nodiscard]] std::span<const std::pair<std::string, Level>> coordinates() const noexcept { return coordinates_; }

 private:
  struct Entry {
    SignalId id;
    double factor;
  };
  std::vector<SignalDefinition> definitions_;
  std::unordered_map<std::string, Entry> by_name_;
  std::set<std::string, std::less<>> sources_;  // of the definitions
  std::vector<std::pair<std::string, Level>> coordinates_;
};

}  // namespace tocsin::stream
