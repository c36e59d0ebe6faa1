#pragma once

#include <memory>
#include <string_view>

#include "adapters/ingest/mapping.h"
#include "adapters/ingest/records.h"
#include "stream/values/result.h"

namespace tocsin::adapters::ingest {

// Makes records of the messages of one source. What it makes of a message is a function of the message, its arrival and
// the mapping. Owned by the reader of the source; one per thread.
class Translator {
 public:
  // An error where the mapping cannot be followed. `nodes` outlives the translator; null: there is no map.
  static stream::Result<Translator> make(const Source& source, const NodeMap* nodes = nullptr);
  ~Translator();
  Translator(Translator&&) noexcept;

  // A message that was appended to its topic at `arrival`. Parts that cannot be understood or attributed do not cost
  // the rest.
  void read(std::string_view message, stream::Time arrival, Output& out);

 private:
  struct State;
  explicit Translator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::ingest
