#pragma once

#include <string_view>

#include "adapters/formats/json.h"
#include "stream/values/result.h"

namespace tocsin::adapters::evidence {

// The value in a pickle of Python that consists of dictionaries, lists, tuples, texts, numbers, True, False and None,
// as JSON; a tuple becomes a list. Nothing of it is run: a pickle that calls or imports anything is refused, with the
// place.
[[nodiscard]] stream::Result<formats::Json> read_pickle(std::string_view bytes);

}  // namespace tocsin::adapters::evidence
