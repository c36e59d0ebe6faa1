#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stream/values/archive.h"

namespace tocsin::dsl::text {

// The source of a field's or sample's value: a capture, a search of its own, or a constant. A constant with a search
// applies if the search finds something.
struct ValueSource {
  std::string capture;           // a named group of the definition's line
  std::string find;              // an expression with one group, searched in the whole record
  bool last = false;             // of several places where `find` matches: the last
  std::string text;              // a constant
  std::optional<double> number;  // a constant
  double scale = 1.0;            // the factor of a number
  std::string epoch;             // captures of a count that restarts each epoch: the value is
  std::string per_epoch;  //   (epoch - first_epoch) * per_epoch + value; without per_epoch an epoch counts a million
  double first_epoch = 0.0;

  void save(stream::Writer& out) const {
    out(1, capture), out(2, find), out(3, last), out(4, text);
    out(5, number), out(6, scale);
    out(7, epoch), out(8, per_epoch), out(9, first_epoch);
  }
};

// A field of an event, or a sample of a signal. Takes the first source with a value; none: it is left out.
struct Value {
  std::string name;
  bool textual = false;  // kept as text, not parsed as a number
  std::vector<ValueSource> sources;

  void save(stream::Writer& out) const { out(1, name), out(2, textual), out(3, sources); }
};

// A pattern or a parser from its Lua file. All patterns that match a record apply, but only the first parser.
// read_text_definitions() puts them in order.
struct Definition {
  enum class Kind : std::uint8_t { pattern, parser };
  Kind kind = Kind::pattern;
  std::string name, file;
  int line = 0;
  std::string about;  // for the reader: a line that it reads, or words

  // A parser of bars, or of lines, that no framework's parser reads; bars come first.
  enum class Generic : std::uint8_t { no, bars, lines };
  Generic generic = Generic::no;

  std::vector<std::string> lines;  // expressions: any of them makes a record
  std::string scan;    // occurs wherever one of them does, and is cheaper to search for (empty: the lines themselves)
  std::string unless;  // an expression that must not occur in the record
  std::string event;   // empty: none
  std::string also;    // an event of the job with the same fields: empty: none
  std::string source = "log";  // of the event
  std::vector<Value> fields;   // of the event
  std::vector<Value> samples;  // in this order, `step` first

  // The member that it is about, if it is not the line's own.
  std::string rank;          // a capture
  bool rank_yields = false;  // only if the line's own rank is unknown
  std::string gpu;           // a capture: a GPU of the line's node

  // Records of several lines. Lines that match `continues` are joined (if it is empty: all); one that matches `until`
  // is the last. Without `until` the first line that does not continue ends the record; with it, other lines in between
  // are skipped.
  std::string continues, until;
  bool wrapped = false;  // joins lines as one, without separators
  std::uint32_t most_lines = 512;

  // Captures in pairs that must be the same number: a count, and what it counts to. A pair of which the line has none
  // is not compared.
  std::vector<std::string> equal;

  // Progress bars: `same` is a capture (the total) that distinguishes the training's bar from nested ones; `remembers`
  // is a capture of a line that gives that total beforehand.
  std::string same, remembers;

  // All that decides what it makes of lines: not where it stands.
  void save(stream::Writer& out) const {
    out(1, kind), out(2, name), out(3, lines), out(4, unless);
    out(5, event), out(6, also), out(7, source), out(8, fields);
    out(9, samples), out(10, rank), out(11, rank_yields), out(12, gpu);
    out(13, continues), out(14, until), out(15, wrapped), out(16, most_lines);
    out(17, equal), out(18, same), out(19, remembers), out(20, scan);
  }
};

[[nodiscard]] constexpr const char* name(Definition::Generic generic) noexcept {
  return generic == Definition::Generic::bars ? "bars" : generic == Definition::Generic::lines ? "lines" : "no";
}

}  // namespace tocsin::dsl::text
