#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stream/values/result.h"

namespace tocsin::adapters::cli {

// The journal that an argument names: a directory; `last`, the newest recording of this user; or a recording as `tocsin
// runs` lists it. Of the log of a service it is the partition of this job.
[[nodiscard]] stream::Result<std::filesystem::path> recording_named(const std::filesystem::path& argument,
                                                                    const std::string& job = {});
// The journals of the service's log in a directory; else the directory itself.
[[nodiscard]] std::vector<std::filesystem::path> journals_in(const std::filesystem::path& directory);
// An error where there is no such run, or where it has ended.
[[nodiscard]] stream::Result<void> still_running(const std::filesystem::path& run);

// Those that wrap made for this user, the oldest first.
[[nodiscard]] std::vector<std::filesystem::path> all_recordings();

}  // namespace tocsin::adapters::cli
