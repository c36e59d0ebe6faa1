#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "adapters/ingest/item.h"

// Values of JSON as what the formats mean by them. Included by the readers of JSON alone.
namespace tocsin::adapters::ingest {

namespace dom = simdjson::dom;

[[nodiscard]] std::optional<std::string_view> text_of(const dom::element& value);
// A number, or a text that is one.
[[nodiscard]] std::optional<double> number_of(const dom::element& value);
// RFC 3339, or a number since 1970: docs/json-lines.md.
[[nodiscard]] std::optional<stream::Time> time_of(const dom::element& value);
// A scalar as a text; nothing for what is none.
[[nodiscard]] std::optional<std::string_view> scalar_of(const dom::element& value, MadeTexts& texts);
// The scalars of an object, under their own names. False: too many.
bool add_labels(const dom::object& object, Item& item, MadeTexts& texts);

// One object of each format into `item`; a problem, or nothing. `unwanted`: the object is understood and has nothing to
// keep.
struct ObjectReading {
  Item& item;
  MadeTexts& texts;
  std::uint64_t unwanted = 0;
  std::string unsupported;  // understood, and nothing that can be used
};
[[nodiscard]] std::string read_prometheus(const dom::object& object, ObjectReading& to);
[[nodiscard]] std::string read_telegraf(const dom::object& object, ObjectReading& to);
[[nodiscard]] std::string read_slurm(const dom::object& object, ObjectReading& to);
[[nodiscard]] std::string read_vector(const dom::object& object, ObjectReading& to);

}  // namespace tocsin::adapters::ingest
