#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// Where the runs of this user are kept: $XDG_STATE_HOME/tocsin, or ~/.local/state/tocsin; without a home,
// /tmp/tocsin-<uid>.
[[nodiscard]] std::filesystem::path state_directory();

// The directory of one run within it: its start in UTC and our pid, so that names sort by age.
[[nodiscard]] std::filesystem::path run_directory(const std::filesystem::path& state, stream::Time start, pid_t pid);

// Whether it is <time>-<pid>, as run_directory() writes it: nothing else in the state directory is ours to list or
// remove.
[[nodiscard]] bool names_a_run(const std::string& name);

// Whether the run in this directory goes on: its journal is being written, or its process lives. Pids come again, in
// containers with each run: a process that started later than the run is another.
[[nodiscard]] bool is_running(const std::filesystem::path& run);

// What the files of a run take; what cannot be read counts nothing.
[[nodiscard]] std::uint64_t bytes_in(const std::filesystem::path& run);

// Where they are without a home: in a directory of all users, any of whom may have made it before us.
[[nodiscard]] std::filesystem::path shared_state_directory();

// Makes the directory of a run and what leads to it, private to the user; one that exists stays as it is. Refused
// within a `shared` directory that is not this user's alone.
[[nodiscard]] stream::Result<void> make_run_directory(const std::filesystem::path& directory,
                                                      const std::filesystem::path& shared = shared_state_directory());

// Removes the oldest runs until all together take at most `most` bytes; never one that goes on. Returns how many went.
std::size_t remove_oldest_runs(const std::filesystem::path& state, std::uint64_t most);

}  // namespace tocsin::adapters::wrap
