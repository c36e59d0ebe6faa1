#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tocsin::dsl::text {

// Where the value of a field or sample comes from: one of a capture, a search of its own, or a constant; a constant with a search
// stands where that finds something.
struct ValueSource {
  std::string capture;           // a named group of the definition's line
  std::string find;              // an expression with one group, searched in the whole record
  bool last = false;             // of several places where `find` matches: the last
  std::string text;              // a constant
  std::optional<double> number;  // a constant
  double scale = 1.0;            // a number is multiplied with it
  std::string epoch;             // captures of a count that starts again each epoch: the value is
  std::string per_epoch;         //   (epoch - first_epoch) * per_epoch + value
  double first_epoch = 0.0;
};

// A field of an event, or a sample of a signal. The first source that gives something is taken; none: it is left out.
struct Value {
  std::string name;
  bool textual = false;  // kept as text, not read as a number
  std::vector<ValueSource> sources;
};

// A pattern or a parser, as its Lua file says it. All patterns that match a record speak; of the parsers only the first does.
struct Definition {
  enum class Kind : std::uint8_t { pattern, parser };
  Kind kind = Kind::pattern;
  std::string name, file;
  int line = 0;

  std::vector<std::string> lines;  // expressions: any of them makes a record
  std::string scan;                // occurs wherever one of them does, and is cheaper to look for (empty: they are)
  std::string unless;              // an expression that must not occur in the record
  std::string event;               // empty: none
  std::string source = "log";      // of the event
  std::vector<Value> fields;       // of the event
  std::vector<Value> samples;      // in this order, `step` first

  // Whom it is about, where that is not whose line it is.
  std::string rank;          // a capture
  bool rank_yields = false;  // only where the line's own rank is unknown
  std::string gpu;           // a capture: a GPU of the line's node

  // Records of several lines. Lines that match `continues` are joined (none given: all); one that matches `until` is the last.
  // Without `until` the first that does not continue ends it; with it, lines of others in between are passed over.
  std::string continues, until;
  bool wrapped = false;  // lines are joined as one, not kept apart
  std::uint32_t most_lines = 512;

  // Progress bars: `same` is a capture (the total) by which the bar of the training is told from nested ones; `remembers` is one
  // of a line that says that total beforehand.
  std::string same, remembers;
};

}  // namespace tocsin::dsl::text
