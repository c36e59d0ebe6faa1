#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "stream/values/archive.h"
#include "stream/values/record.h"

namespace tocsin::stream {

// What extraction makes of lines: samples and events, of the line's member or of another rank that the line names. `source` is the
// lines' own, as an event's is; empty: that of the signal.
class Extracted {
 public:
  virtual ~Extracted() = default;
  virtual void sample(Time time, const MemberKey& member, std::string_view signal, double value, std::string_view source) = 0;
  virtual void sample(Time time, const MemberKey& member, std::string_view signal, std::string_view text, std::string_view source) = 0;
  virtual void event(const EventRecord& event) = 0;
};

// Lines of one attempt to events and samples: assembled per member and stream, matched against patterns and parsers.
// Owned by its Attempt. Lines of a member come in the order of the log.
class Extractor {
 public:
  virtual ~Extractor() = default;
  virtual void line(const LineRecord& line, Time arrival, Extracted& out) = 0;
  // Half-assembled records (a traceback) end when nothing continued them; never: none waits.
  [[nodiscard]] virtual Time next_due() const = 0;
  virtual void settle(Time clock, Extracted& out) = 0;
  virtual void finish(Extracted& out) = 0;  // the attempt ended: nothing continues anything
  virtual void save(Writer& out) const = 0;
  virtual Result<void> load(Reader& in) = 0;
};

// Makes an Extractor for each attempt of a shard; they share what they work in, and it outlives them.
// Owned by the shard's PackRuntime; touched by the shard's thread, as are its extractors.
class Extraction {
 public:
  virtual ~Extraction() = default;
  [[nodiscard]] virtual std::unique_ptr<Extractor> make() = 0;
};

// What a pack knows of lines. Constant: shards on several threads use it at once, each through an Extraction of its own.
class ExtractorSource {
 public:
  virtual ~ExtractorSource() = default;
  [[nodiscard]] virtual std::unique_ptr<Extraction> open() const = 0;
};

}  // namespace tocsin::stream
