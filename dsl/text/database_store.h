#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tocsin::dsl::text {

// Where compiled databases of expressions, and what is known of their files, are kept between runs of the program: to
// compile those of the shipped patterns takes a second, to read them milliseconds. Whoever implements it may lose one
// or keep none. May be called by any thread.
class DatabaseStore {
 public:
  virtual ~DatabaseStore() = default;
  // What was kept under the name, as it was kept; nullopt: nothing.
  [[nodiscard]] virtual std::optional<std::string> find(std::string_view name) = 0;
  virtual void keep(std::string_view name, std::string_view bytes) = 0;
};

}  // namespace tocsin::dsl::text
