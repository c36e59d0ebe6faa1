#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "adapters/http/api.h"

namespace tocsin::test {

// Gives what a file has now: FOLDER/jobs.json for /api/v1/jobs, and so on. Of a list only what the query names, as the
// service does.
inline adapters::http::Providers::Data kept_data(const std::filesystem::path& folder, const std::string& name) {
  return [file = folder / (name + ".json"),
          name](const adapters::http::Providers::Query& query) -> stream::Result<std::string> {
    const auto all = nlohmann::json::parse(std::ifstream{file});
    if (!all.is_array()) return all.dump();
    auto found = nlohmann::json::array();
    const auto limit = query.contains("limit") ? std::stoul(query.at("limit")) : 1000;
    for (auto one : all) {
      bool wanted = found.size() < limit;
      for (const auto& [key, value] : query) {
        if (key == "limit" || key == "by_rank") continue;
        const std::string field = key == "job" && name != "jobs" ? "subject" : key;
        wanted = wanted && one.contains(field) && one[field] == value;
      }
      if (!wanted) continue;
      if (query.contains("by_rank") && query.at("by_rank") == "no") one.erase("by_rank");
      found.push_back(std::move(one));
    }
    return found.dump();
  };
}

}  // namespace tocsin::test
