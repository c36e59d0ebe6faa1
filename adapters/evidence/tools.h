#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tocsin::adapters::evidence {

// A program of others that looks into processes, and as whom it runs.
struct Tool {
  std::filesystem::path path;
  std::optional<uid_t> user{};  // we are root, and it belongs to this user: it runs as that
  gid_t group = 0;              // with `user`
};

struct ProcessOwner {
  uid_t user = 0;
  gid_t group = 0;
};

// The file of that name in the directory, if it is to be trusted: the file, and every directory that leads to it,
// belong to root or to us and nobody else may write them. Where we are root, what belongs to the owner of the process
// is run as that user. Links are followed first, and what they lead to has the same name.
[[nodiscard]] std::optional<Tool> trusted(const std::filesystem::path& directory, const std::string& name,
                                          ProcessOwner owner);

// Looks in our PATH, then where the Python of the process is.
[[nodiscard]] std::optional<Tool> find_tool(const std::string& name, pid_t pid);

struct Answer {
  int status = -1;    // as waitpid gives it; -1: it did not start
  bool late = false;  // it was ended at its time limit
  std::string out, err;
};

// Runs a tool with an empty environment and waits for it, at most `limit`.
[[nodiscard]] Answer run_tool(const Tool& tool, const std::vector<std::string>& arguments,
                              std::chrono::milliseconds limit, std::size_t most = 4u << 20);

}  // namespace tocsin::adapters::evidence
