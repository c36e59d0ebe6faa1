#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "stream/values/archive.h"
#include "stream/values/record.h"

namespace tocsin::stream {

// What extraction makes of lines: samples and events, of the line's own member or of another rank that the line names.
// `source` is that of the lines (as of an event); empty: that of the signal.
class Extracted {
 public:
  virtual ~Extracted() = default;
  virtual void sample(Time time, const MemberKey& member, std::string_view signal, double value,
                      std::string_view source) = 0;
  virtual void sample(Time time, const MemberKey& member, std::string_view signal, std::string_view text,
                      std::string_view source) = 0;
  virtual void event(const EventRecord& event) = 0;
};

// Turns the lines of one attempt into events and samples: assembles them per member and stream, then matches patterns
// and parsers. Owned by its Attempt. The lines of a member come in log order.
class Extractor {
 public:
  virtual ~Extractor() = default;
  virtual void line(const LineRecord& line, Time arrival, Extracted& out) = 0;
  // A record that is still being assembled (a traceback) ends when no line continues it; never: none is open.
  [[nodiscard]] virtual Time next_due() const = 0;
  virtual void settle(Time clock, Extracted& out) = 0;
  virtual void finish(Extracted& out) = 0;  // the attempt ended: nothing continues anything
  virtual void save(Writer& out) const = 0;
  virtual Result<void> load(Reader& in) = 0;
};

// What a pack knows about lines. Constant, as shards on several threads have the same; each opens it for itself, and
// makes an Extractor for each attempt. Packs whose patterns and parsers are the same share one in a shard, so an
// extractor goes on over a reload that does not change them.
class Extraction {
 public:
  virtual ~Extraction() = default;
  // The same with working memory, which the extractors that it makes share.
  [[nodiscard]] virtual std::shared_ptr<Extraction> open() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Extractor> make() = 0;
  // Of all that its extractors do: equal ones go on from each other's state.
  [[nodiscard]] virtual std::uint64_t hash() const = 0;
};

}  // namespace tocsin::stream
