#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/http/server.h"

// The page that shows jobs, ranks, alerts and evidence: what stands in this folder, embedded into the program. It asks
// the API for all that it shows.
namespace tocsin::adapters::http::page {

// The files as they are here, the scripts as one.
extern const std::string_view html, style, script;

// What is served, by path. It runs no script and asks no server but this one, whatever its texts are, and is framed by
// no other page.
[[nodiscard]] std::vector<std::pair<std::string, Response>> files();

// Adds their routes, which are authorized as those of the API.
void add_page(Server& server);

}  // namespace tocsin::adapters::http::page
