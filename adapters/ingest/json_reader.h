#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "adapters/ingest/item.h"

namespace tocsin::adapters::ingest {

// What of a log's object is what: paths of fields, with dots, the first that is there.
struct LogFields {
  std::span<const std::string> time, text;
};

// Messages of JSON: one object, a list of objects, or an object a line. Reuses its working memory.
// Owned by a Translator.
class JsonMessages {
 public:
  JsonMessages();
  ~JsonMessages();
  JsonMessages(JsonMessages&&) noexcept;

  // `fields` is of formats of logs alone.
  void read(Format format, const LogFields& fields, std::string_view message, Items& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::ingest
