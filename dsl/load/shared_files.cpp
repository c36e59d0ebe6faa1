// Functions that several rules share: a file of shared/ returns a table, and files of rules name it.
#include "dsl/load/shared_files.h"

#include <algorithm>
#include <lua.hpp>
#include <utility>

#include "dsl/load/rule_files.h"
#include "dsl/load/tables.h"
#include "dsl/lua/environment.h"
#include "stream/values/digest.h"

namespace tocsin::dsl {
namespace {

constexpr const char* returned = "tocsin.shared";  // in the registry: what each file of shared/ returned, by name

int shared(lua_State* state) {
  Host& host = Host::of(state);
  if (lua_type(state, 1) != LUA_TSTRING || lua_gettop(state) > 1)
    host.stop(state, "shared wants the name of a file in shared/: local common = shared \"progress\"");
  Collection& collection = collection_of(state);
  const bool of_rules = collection.part == Collection::Part::rules || collection.part == Collection::Part::shared;
  if (host.evaluation != nullptr || !of_rules)
    host.stop(state,
              "shared stands at the top of a file of rules, outside of functions: local common = shared \"progress\"");
  collection.shared.push(state, lua_tostring(state, 1));
  return 1;
}

}  // namespace

bool is_shared_file(const PackFiles& files, const std::string& path) {
  return path.ends_with(".lua") && PackDirectories{files}.within(path).starts_with("shared/");
}

void register_shared(lua_State* state) { set_functions(state, {{"shared", shared}}); }

void SharedFiles::find(const PackFiles& files, Problems& problems,
                       std::function<void(lua_State*, const std::string& path)> run) {
  run_ = std::move(run);
  constexpr std::string_view folder = "shared/", ending = ".lua";
  const PackDirectories directories{files};
  std::vector<std::string> paths;
  for (const auto& [path, text] : files)
    if (is_shared_file(files, path)) paths.push_back(path);
  std::ranges::stable_sort(paths, {}, [&](const std::string& path) { return directories.of(path); });
  for (const std::string& path : paths) {
    std::string name{directories.within(path).substr(folder.size())};
    name.resize(name.size() - ending.size());
    const auto [known, fresh] = files_.try_emplace(name, File{path, {}, {}});
    if (!fresh)
      problems.add(path, 1,
                   "shared \"" + name + "\" is " + known->second.path + " already: give this file another name");
  }
}

std::vector<std::string> SharedFiles::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) names.push_back(name);
  return names;
}

void SharedFiles::push(lua_State* state, const std::string& name) {
  Host& host = Host::of(state);
  const auto found = files_.find(name);
  if (found == files_.end())
    host.stop(state, "there is no shared \"" + name + "\"" + nearest(name, names()) + ": the file would be shared/" +
                         name + ".lua");
  File& file = found->second;
  if (const Host::Place from = Host::where(state); !from.file.empty()) file.users.insert(from.file);
  if (file.state == File::State::runs) {
    std::string circle;
    for (auto one = std::find(running_.begin(), running_.end(), name); one != running_.end(); ++one)
      circle += *one + ", ";
    host.stop(state, "files of shared/ name each other in a circle: " + circle + name +
                         "; move what they need of each other into a file of its own");
  }
  if (file.state == File::State::failed) host.stop_at(state, "", 0, "");  // its error is reported
  luaL_getsubtable(state, LUA_REGISTRYINDEX, returned);
  if (file.state == File::State::fresh) run(state, name, file);
  lua_getfield(state, -1, name.c_str());
}

// Puts what the file returns into the table on top.
void SharedFiles::run(lua_State* state, const std::string& name, File& file) {
  struct Running {  // also where an error unwinds
    SharedFiles& all;
    File& file;
    ~Running() {
      all.running_.pop_back();
      if (file.state == File::State::runs) file.state = File::State::failed;
    }
  };
  running_.push_back(name);
  file.state = File::State::runs;
  const Running running{*this, file};
  run_(state, file.path);
  if (!lua_istable(state, -1))
    Host::of(state).stop_at(state, file.path, 0,
                            std::string{"a file of shared/ returns a table, and this one returned "} +
                                (lua_isnil(state, -1) ? "nothing" : std::string{"a "} + luaL_typename(state, -1)) +
                                ": end it with return { name = name, … }");
  seal_value(state);
  lua_setfield(state, -2, name.c_str());
  file.state = File::State::ready;
}

std::uint64_t SharedFiles::hash_with(const PackFiles& files, const std::string& file) const {
  std::set<std::string> read{file};
  for (bool more = true; std::exchange(more, false);)
    for (const auto& [name, one] : files_)
      if (!read.contains(one.path) &&
          std::ranges::any_of(one.users, [&](const auto& user) { return read.contains(user); }))
        more = read.insert(one.path).second;
  std::string texts;
  for (const std::string& path : read)
    if (const auto found = files.find(path); found != files.end()) texts += found->second;
  return stream::hash_text(texts);
}

std::vector<SharedUse> shared_uses(const PackFiles& files, const Budgets& budgets) {
  RuleFiles source{files, budgets};
  source.read();
  return source.collection.shared.uses();
}

std::vector<SharedUse> SharedFiles::uses() const {
  std::vector<SharedUse> all;
  for (const auto& [name, file] : files_) all.push_back({name, file.path, {file.users.begin(), file.users.end()}});
  return all;
}

}  // namespace tocsin::dsl
