#include "dsl/load/tables.h"

#include <algorithm>
#include <cmath>
#include <lua.hpp>

#include "dsl/lua/durations.h"
#include "dsl/lua/host.h"
#include "dsl/lua/problems.h"
#include "stream/values/utf8.h"

namespace tocsin::dsl {
namespace {

constexpr std::size_t longest = 10'000;  // entries of one table

std::optional<stream::Scalar> scalar_at(lua_State* state, int index) {
  if (lua_type(state, index) == LUA_TNUMBER) return lua_tonumber(state, index);
  if (lua_type(state, index) == LUA_TSTRING) return text_at(state, index);
  return std::nullopt;
}

// What a key of another tool's rules is called here.
std::string elsewhere(const std::string& key, const std::vector<std::string>& known) {
  struct Word {
    const char *key, *ours, *advice;
  };
  static constexpr Word words[] = {
      {"expr", "evaluate", "write evaluate = function(job, p) … return mask end"},
      {"condition", "evaluate", "write evaluate = function(job, p) … return mask end"},
      {"alert", "evaluate", "the name stands before the table, rule \"…\" { … }"},
      {"name", "evaluate", "the name stands before the table, rule \"…\" { … }"},
      {"offset", "lag", "write lag = \"5m\", which ends the window so long ago"},
      {"window", "over", "write over = \"5m\""},
      {"range", "over", "write over = \"5m\""},
      {"interval", "every", "write every = \"10s\""},
      {"description", "shows", "write summary, what it is, and shows, what was seen"},
      {"annotations", "shows", "write summary, shows, causes and actions"},
      {"labels", "family", "write family and severity; labels of the site are added by the configuration"},
      {"threshold", "params", "write params = { threshold = 0.5 }, and p.threshold in evaluate"},
      {"keep_firing_for", "clear", "write clear = \"for 5m\""},
      {"action", "actions", "write actions = { otherwise = \"…\" }"},
  };
  for (const Word& word : words)
    if (key == word.key && std::find(known.begin(), known.end(), word.ours) != known.end()) return word.advice;
  return "";
}

}  // namespace

Table::Table(lua_State* state, int index, Collection& collection, Host::Place place)
    : state_(state), index_(index), collection_(&collection), place_(std::move(place)) {
  std::size_t entries = 0;
  for (lua_pushnil(state); lua_next(state, index); lua_pop(state, 1)) {
    if (++entries > longest) Host::of(state).stop(state, "a table of more than 10,000 entries: divide it");
    if (lua_type(state, -2) == LUA_TSTRING) names_.push_back(text_at(state, -2));
  }
  std::sort(names_.begin(), names_.end());
  unnamed_ = entries > names_.size();
  length_ = lua_rawlen(state, index);
}

bool Table::has(const std::string& key) const { return std::binary_search(names_.begin(), names_.end(), key); }

int Table::line_of(const std::string& key) const {
  return collection_->problems->line_of_key(place_.file, place_.line, key);
}

void Table::problem(const std::string& key, std::string message) const {
  collection_->problems->add(place_.file, key.empty() ? place_.line : line_of(key), std::move(message));
}

void Table::allow(const std::vector<std::string>& known, const std::string& what, bool lists) const {
  if (unnamed_ && !lists) problem("", "a value without a name, which nothing reads: write its name in front, name = …");
  for (const std::string& key : names_)
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const std::string word = elsewhere(key, known);
      problem(key, "unknown " + what + " '" + key + "'" + (word.empty() ? nearest(key, known) : ": " + word));
    }
}

void Table::push(const std::string& key) const {
  lua_pushlstring(state_, key.data(), key.size());
  lua_rawget(state_, index_);
}
void Table::push(std::size_t place) const { lua_rawgeti(state_, index_, static_cast<lua_Integer>(place)); }

bool Table::wrong(const std::string& key, const std::string& example) const {
  problem(key, key + " is a " + luaL_typename(state_, -1) + ": write " + key + " = " + example);
  lua_pop(state_, 1);
  return false;
}

bool Table::find(const std::string& key, int type, const std::string& example) const {
  if (!has(key)) return false;
  push(key);
  return lua_type(state_, -1) == type || wrong(key, example);
}

std::optional<std::string> Table::text(const std::string& key, const std::string& example) const {
  if (!find(key, LUA_TSTRING, "\"" + (example.empty() ? "…" : example) + "\"")) return std::nullopt;
  std::string result = text_at(state_, -1);
  lua_pop(state_, 1);
  return result;
}

std::optional<std::string> Table::address(const std::string& key) const {
  auto written = text(key, "https://…");
  if (written && !written->starts_with("https://") && !written->starts_with("http://"))
    problem(key, key + " = \"" + *written + "\" is not an address: write " + key + " = \"https://…\"");
  return written;
}

std::optional<double> Table::number(const std::string& key) const {
  if (!find(key, LUA_TNUMBER, "1, a number")) return std::nullopt;
  const double result = lua_tonumber(state_, -1);
  lua_pop(state_, 1);
  return result;
}

std::optional<std::uint32_t> Table::whole(const std::string& key, std::uint32_t least, std::uint32_t most) const {
  const auto x = number(key);
  if (!x) return std::nullopt;
  if (!(*x >= least && *x <= most) || std::floor(*x) != *x) {
    problem(key, key + " = " + shown(*x) + ": write a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most));
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*x);
}

std::optional<bool> Table::yes(const std::string& key) const {
  if (!find(key, LUA_TBOOLEAN, "true")) return std::nullopt;
  const bool result = lua_toboolean(state_, -1) != 0;
  lua_pop(state_, 1);
  return result;
}

std::optional<stream::Duration> Table::duration(const std::string& key) const {
  const auto written = text(key, "10m");
  if (!written) return std::nullopt;
  const auto result = duration_named(*written);
  if (!result) problem(key, key + " = \"" + *written + "\": " + duration_remedy(*written));
  return result;
}

std::optional<stream::Persistence> Table::persistence(const std::string& key) const {
  const auto written = text(key, "4 of 6");
  if (!written) return std::nullopt;
  auto result = persistence_named(*written);
  if (!result) {
    problem(key, key + " = " + result.error().message);
    return std::nullopt;
  }
  return *result;
}

std::vector<std::string> Table::texts(const std::string& key) const {
  std::vector<std::string> result;
  if (!has(key)) return result;
  push(key);
  if (lua_type(state_, -1) == LUA_TSTRING) {
    result.push_back(text_at(state_, -1));
  } else if (lua_istable(state_, -1)) {
    const auto n = static_cast<lua_Integer>(std::min<std::size_t>(lua_rawlen(state_, -1), longest));
    for (lua_Integer i = 1; i <= n; ++i) {
      if (lua_rawgeti(state_, -1, i) == LUA_TSTRING) result.push_back(text_at(state_, -1));
      else problem(key, key + " lists a " + luaL_typename(state_, -1) + ": write texts, " + key + " = { \"…\" }");
      lua_pop(state_, 1);
    }
  } else {
    (void)wrong(key, "{ \"…\" }");
    return result;
  }
  lua_pop(state_, 1);
  return result;
}

std::map<std::string, std::string> Table::text_map(const std::string& key) const {
  std::map<std::string, std::string> result;
  within(key, "{ name = \"…\" }", [&](const Table& inner) {
    for (const std::string& name : inner.names()) {
      inner.push(name);
      if (lua_type(state_, -1) == LUA_TSTRING || lua_type(state_, -1) == LUA_TNUMBER)
        result[name] = text_at(state_, -1);
      else problem(name, key + "." + name + " is a " + luaL_typename(state_, -1) + ": write a text");
      lua_pop(state_, 1);
    }
    if (inner.length() > 0) problem(key, key + " lists values without names: write " + key + " = { name = \"…\" }");
  });
  return result;
}

std::map<std::string, std::vector<std::string>> Table::texts_map(const std::string& key) const {
  std::map<std::string, std::vector<std::string>> result;
  within(key, "{ name = \"…\" }", [&](const Table& inner) {
    for (const std::string& name : inner.names())
      if ((result[name] = inner.texts(name)).empty()) problem(name, key + "." + name + " says nothing: write a text");
    if (inner.length() > 0) problem(key, key + " lists values without names: write " + key + " = { name = \"…\" }");
  });
  return result;
}

std::map<std::string, ParamValue> Table::params(const std::string& key) const {
  std::map<std::string, ParamValue> result;
  within(key, "{ ratio = 1.5 }", [&](const Table& inner) {
    for (const std::string& name : inner.names()) {
      inner.push(name);
      if (const auto value = scalar_at(state_, -1)) {
        std::visit([&](const auto& one) { result[name] = one; }, *value);
        if (const auto* x = std::get_if<double>(&*value); x != nullptr && std::isnan(*x))
          problem(name, key + "." + name + " is NaN, which nothing compares with: write a number");
      } else if (lua_type(state_, -1) == LUA_TBOOLEAN) {
        result[name] = lua_toboolean(state_, -1) != 0;
      } else if (lua_istable(state_, -1)) {
        const Table items{state_, lua_gettop(state_), *collection_, place_};
        std::vector<stream::Scalar> list;
        for (std::size_t i = 1; i <= items.length(); ++i) {
          items.push(i);
          if (const auto item = scalar_at(state_, -1)) list.push_back(*item);
          else problem(name, key + "." + name + " lists a " + luaL_typename(state_, -1) + ": write numbers or texts");
          lua_pop(state_, 1);
        }
        result[name] = std::move(list);
      } else {
        problem(name, key + "." + name + " is a " + luaL_typename(state_, -1) +
                          ": write a number, a text, a duration or a list");
      }
      lua_pop(state_, 1);
    }
    if (inner.length() > 0) problem(key, key + " lists values without names: write " + key + " = { ratio = 1.5 }");
  });
  return result;
}

std::optional<std::size_t> Table::one_of(const std::string& key, const std::vector<std::string>& names) const {
  const auto written = text(key, names.front());
  if (!written) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), *written);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  problem(key, key + " = \"" + *written + "\"" + nearest(*written, names) + ": write one of " + list);
  return std::nullopt;
}

void Table::severity(std::optional<stream::Severity>& highest,
                     std::map<std::string, stream::Severity>& by_cause) const {
  using enum stream::Severity;
  push("severity");
  const bool of_causes = lua_istable(state_, -1);
  lua_pop(state_, 1);
  if (!of_causes) {
    highest = one_of("severity", {warning, critical, info, none});
    return;
  }
  within("severity", "", [&](const Table& causes) {
    for (const std::string& cause : causes.names())
      if (const auto one = causes.one_of(cause, {warning, critical, info})) by_cause[cause] = *one;
    if (causes.length() > 0)
      problem("severity", "severity lists values without names: write severity = { cause = \"critical\" }");
  });
  highest = by_cause.emplace("otherwise", warning).first->second;
  for (const auto& [cause, one] : by_cause) highest = std::max(*highest, one);
}

std::optional<stream::Mode> Table::mode() const {
  using enum stream::Mode;
  return one_of("mode", {live, canary, shadow});
}

std::optional<stream::Scalar> Table::scalar(const std::string& key) const {
  push(key);
  auto value = scalar_at(state_, -1);
  lua_pop(state_, 1);
  return value;
}

std::optional<stream::Scalar> Table::scalar(std::size_t place) const {
  push(place);
  auto value = scalar_at(state_, -1);
  lua_pop(state_, 1);
  return value;
}

void Table::within(const std::string& key, const std::string& example,
                   const std::function<void(const Table&)>& read) const {
  if (!find(key, LUA_TTABLE, example)) return;
  read(Table{state_, lua_gettop(state_), *collection_, place_});
  lua_pop(state_, 1);
}

void Table::each(const std::string& key, const std::string& usage,
                 const std::function<void(const Table&)>& read) const {
  for (std::size_t i = 1; i <= length_; ++i) {
    push(i);
    if (lua_istable(state_, -1)) read(Table{state_, lua_gettop(state_), *collection_, place_});
    else problem(key, usage);
    lua_pop(state_, 1);
  }
}

stream::Scope Table::scope() const {
  const auto scope = text("scope", "attempt");
  if (scope == "cluster") return stream::Scope::cluster;
  if (scope == "job") return stream::Scope::job;
  if (scope && *scope != "attempt")
    problem("scope", "scope = \"" + *scope + "\": write \"attempt\", \"job\" or \"cluster\", or leave it out");
  return stream::Scope::attempt;
}

std::string Table::per(stream::Scope scope) const {
  const bool cluster = scope == stream::Scope::cluster;
  const std::string named = text("per", "rank").value_or("");
  const auto level = stream::level_named(named);
  if (!has("per")) {
    problem("", cluster ? "per is missing: write per = \"gpu\" (or node, rack)"
                        : "per is missing: write per = \"rank\" (or gpu, node, rack, job)");
  } else if (level && cluster && (*level == stream::Level::rank || *level == stream::Level::job)) {
    problem("per", "per = \"" + named +
                       "\" in a rule of the cluster, which has GPUs, nodes and racks: write gpu, node or rack, or "
                       "leave scope out");
  } else if (!level && !named.empty()) {
    static const std::vector<std::string> levels{"job", "rack", "node", "gpu", "rank"};
    problem("per", "per = \"" + named + "\"" + nearest(named, levels) + ": write " +
                       (cluster ? "gpu, node or rack" : "job, rack, node, gpu or rank"));
  }
  return level ? named : "";
}

std::string text_at(lua_State* state, int index) {
  std::size_t size = 0;
  const char* data = lua_tolstring(state, index, &size);
  const std::string text{data, size};
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = rest.front() == '\0' ? 0 : stream::utf8_length(rest);
    if (length == 0)
      Host::of(state).stop(state, std::string{"a text "} + (rest.front() == '\0' ? "with NUL" : "that is not UTF-8") +
                                      ", which neither an alert nor a label can show: take the byte out");
    rest.remove_prefix(length);
  }
  return text;
}

std::string name_argument(lua_State* state, const char* word) {
  if (lua_type(state, 1) != LUA_TSTRING)
    Host::of(state).stop(state, std::string{word} + " wants a name: " + word + " \"…\"");
  std::string name = text_at(state, 1);
  if (name.empty() || name.size() > 100)
    Host::of(state).stop(state, std::string{word} + " wants a name of 1 to 100 letters");
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }))
    Host::of(state).stop(state,
                         std::string{word} + " wants a name on one line: it stands in alerts, labels and commands");
  return name;
}

Collection& collection_of(lua_State* state) {
  Host& host = Host::of(state);
  if (!host.collection) host.stop(state, "files declare while they load; evaluate cannot");
  return *host.collection;
}

Table table_argument(lua_State* state, int index, const std::string& word) {
  if (!lua_istable(state, index)) Host::of(state).stop(state, word + " wants a table: " + word + " { … }");
  return Table{state, index, collection_of(state), Host::where(state)};
}

}  // namespace tocsin::dsl
