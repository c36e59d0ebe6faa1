#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "adapters/ingest/records.h"
#include "stream/values/result.h"

namespace tocsin::adapters::ingest {

// The names of a list of nodes as Slurm writes it, in the list's order: `node[001-003,7],gpu-a[1-2]b[3-4],login1`. A
// number has at least as many digits as the first of its range. Of several brackets in a name the last one runs
// fastest. An error says what is wrong where: the list is `malformed`, or over a limit (`too_large`). Nothing is
// expanded then.
inline constexpr std::size_t most_hosts = 100'000, longest_host_list = 512 * 1024;
[[nodiscard]] stream::Result<std::vector<std::string>> hosts_in(std::string_view list);
// The nodes of the job that a record starts. None where its list is none; `out` gets why.
[[nodiscard]] std::vector<std::string> nodes_of(const Record& start, Output& out);

}  // namespace tocsin::adapters::ingest
