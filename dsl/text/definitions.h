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

  static void fields(auto& self, auto& archive) {
    archive(1, self.capture), archive(2, self.find), archive(3, self.last), archive(4, self.text);
    archive(5, self.number), archive(6, self.scale);
    archive(7, self.epoch), archive(8, self.per_epoch), archive(9, self.first_epoch);
  }
};

// A field of an event, or a sample of a signal. Takes the first source with a value; none: it is left out.
struct Value {
  std::string name;
  bool textual = false;  // kept as text, not parsed as a number
  std::vector<ValueSource> sources;

  static void fields(auto& self, auto& archive) {
    archive(1, self.name), archive(2, self.textual), archive(3, self.sources);
  }
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
  static void meaning(auto& self, auto& archive) {
    archive(1, self.kind), archive(2, self.name), archive(3, self.lines), archive(4, self.unless);
    archive(5, self.event), archive(6, self.also), archive(7, self.source), archive(8, self.fields);
    archive(9, self.samples), archive(10, self.rank), archive(11, self.rank_yields), archive(12, self.gpu);
    archive(13, self.continues), archive(14, self.until), archive(15, self.wrapped), archive(16, self.most_lines);
    archive(17, self.equal), archive(18, self.same), archive(19, self.remembers), archive(20, self.scan);
  }
  // All of it.
  static void everything(auto& self, auto& archive) {
    meaning(self, archive);
    archive(21, self.file), archive(22, self.line), archive(23, self.about), archive(24, self.generic);
  }
};

[[nodiscard]] constexpr const char* name(Definition::Generic generic) noexcept {
  return generic == Definition::Generic::bars ? "bars" : generic == Definition::Generic::lines ? "lines" : "no";
}

}  // namespace tocsin::dsl::text
