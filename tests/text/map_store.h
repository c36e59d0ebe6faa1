#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/text/database_store.h"

namespace tocsin::test {

// A store of compiled databases in memory.
struct MapStore final : dsl::text::DatabaseStore {
  std::map<std::string, std::string, std::less<>> files;
  int asked = 0, kept = 0;
  std::optional<std::string> find(std::string_view name) override {
    ++asked;
    const auto found = files.find(name);
    return found == files.end() ? std::nullopt : std::optional{found->second};
  }
  void keep(std::string_view name, std::string_view bytes) override {
    ++kept;
    files.insert_or_assign(std::string{name}, std::string{bytes});
  }
};

}  // namespace tocsin::test
