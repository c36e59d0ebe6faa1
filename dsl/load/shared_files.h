#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dsl/lua/budgets.h"
#include "dsl/lua/problems.h"

struct lua_State;

namespace tocsin::dsl {

// A file of shared/ and the files that name it.
struct SharedUse {
  std::string name, file;
  std::vector<std::string> users;
};

// The files of a pack whose functions and constants rules share: shared/NAME.lua of each of its directories. Each runs
// once, before the files of rules, in their environment and under their budgets, and what it returns is read-only.
// Owned by the Collection.
class SharedFiles {
 public:
  // Finds the files; reports names that two of them have. `run` runs the file at a path and leaves what it returns.
  void find(const PackFiles& files, Problems& problems, std::function<void(lua_State*, const std::string& path)> run);
  [[nodiscard]] std::vector<std::string> names() const;
  // Pushes what the file returned, and runs it if need be; ends the call if there is no such file or it fails.
  void push(lua_State* state, const std::string& name);
  [[nodiscard]] std::vector<SharedUse> uses() const;
  // Of the text of a file, and of all that it names.
  [[nodiscard]] std::uint64_t hash_with(const PackFiles& files, const std::string& file) const;

 private:
  struct File {
    std::string path;
    enum class State : std::uint8_t { fresh, runs, ready, failed } state = State::fresh;
    std::set<std::string> users;
  };
  void run(lua_State* state, const std::string& name, File& file);
  std::map<std::string, File> files_;  // by name
  std::vector<std::string> running_;
  std::function<void(lua_State*, const std::string& path)> run_;
};

void register_shared(lua_State* state);
[[nodiscard]] bool is_shared_file(const PackFiles& files, const std::string& path);
// Of files that load; of others what could be read.
[[nodiscard]] std::vector<SharedUse> shared_uses(const PackFiles& files, const Budgets& budgets = {});

}  // namespace tocsin::dsl
