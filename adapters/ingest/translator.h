#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "adapters/ingest/mapping.h"
#include "adapters/ingest/records.h"
#include "stream/values/result.h"

namespace tocsin::adapters::ingest {

// Makes records of the messages of one source. What it makes of a message is a function of the message, its labels, its
// arrival and the mapping. Owned by the reader of the source; one per thread.
class Translator {
 public:
  // An error where the mapping cannot be followed. `nodes` outlives the translator; null: there is no map.
  static stream::Result<Translator> make(const Source& source, const NodeMap* nodes = nullptr);
  ~Translator();
  Translator(Translator&&) noexcept;

  // A message that was appended to its topic at `arrival`. Parts that cannot be understood or attributed do not cost
  // the rest.
  // `with`: labels of all that is in the message; those of the message itself and of the mapping lead over them.
  using Constants = std::map<std::string, std::string>;
  void read(std::string_view message, stream::Time arrival, Output& out, const Constants& with = {});

 private:
  struct State;
  explicit Translator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::ingest
