#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/load/collection.h"
#include "dsl/load/keys.h"

struct lua_State;

namespace tocsin::dsl {

// Reads a table of a file, key by key in the order of keys. An error becomes a problem at the line of its key, and
// reading continues. Lives for one declaration.
class Table {
 public:
  // The table at `index` (absolute), declared at this place.
  Table(lua_State* state, int index, Collection& collection, Host::Place place);

  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] std::size_t length() const noexcept { return length_; }  // of its list part
  [[nodiscard]] bool has(const std::string& key) const;
  void problem(const std::string& key, std::string message) const;
  // Refuses names that are not in this list, and values without a name unless the table lists some.
  void allow(const KeyTable& keys) const { allow(keys.names(), "key", !keys.items.empty()); }
  void allow(const std::vector<std::string>& known, const std::string& what = "key", bool lists = false) const;

  [[nodiscard]] std::optional<std::string> text(const std::string& key, const std::string& example = "") const;
  [[nodiscard]] std::optional<std::string> address(const std::string& key) const;  // http:// or https://
  [[nodiscard]] std::optional<double> number(const std::string& key) const;
  [[nodiscard]] std::optional<std::uint32_t> whole(const std::string& key, std::uint32_t least,
                                                   std::uint32_t most) const;
  [[nodiscard]] std::optional<bool> yes(const std::string& key) const;
  [[nodiscard]] std::optional<stream::Duration> duration(const std::string& key) const;
  [[nodiscard]] std::optional<stream::Persistence> persistence(const std::string& key) const;
  [[nodiscard]] std::vector<std::string> texts(const std::string& key) const;  // one, or a list
  [[nodiscard]] std::map<std::string, std::string> text_map(const std::string& key) const;
  [[nodiscard]] std::map<std::string, std::vector<std::string>> texts_map(const std::string& key) const;
  [[nodiscard]] std::map<std::string, ParamValue> params(const std::string& key) const;
  // One of these values of an enumeration, by its name().
  template <class E>
  [[nodiscard]] std::optional<E> one_of(const std::string& key, std::initializer_list<E> all) const {
    std::vector<std::string> names;
    for (const E value : all) names.emplace_back(name(value));
    const auto place = one_of(key, names);
    return place ? std::optional{all.begin()[*place]} : std::nullopt;
  }
  // severity = "critical" into the first, or severity = { stopped = "critical", otherwise = "warning" } into both.
  void severity(std::optional<stream::Severity>& highest, std::map<std::string, stream::Severity>& by_cause) const;
  [[nodiscard]] std::optional<stream::Mode> mode() const;
  [[nodiscard]] stream::Scope scope() const;
  // A level's name that rules of the scope can have; empty: it was reported.
  [[nodiscard]] std::string per(stream::Scope scope) const;

  // A number or a text under a key, or in the list; nothing: it is another value, or none.
  [[nodiscard]] std::optional<stream::Scalar> scalar(const std::string& key) const;
  [[nodiscard]] std::optional<stream::Scalar> scalar(std::size_t place) const;
  // The table under a key, if there is one; `example` is what to write.
  void within(const std::string& key, const std::string& example, const std::function<void(const Table&)>& read) const;
  // The tables that this one lists; of others in the list, `usage` is the problem, at the line of the key.
  void each(const std::string& key, const std::string& usage, const std::function<void(const Table&)>& read) const;

  // Pushes the value of a key, or of an index of the list.
  void push(const std::string& key) const;
  void push(std::size_t place) const;
  [[nodiscard]] Host::Place place() const noexcept { return place_; }
  [[nodiscard]] int line_of(const std::string& key) const;
  [[nodiscard]] lua_State* state() const noexcept { return state_; }
  [[nodiscard]] Collection& collection() const noexcept { return *collection_; }

 private:
  // Pushes the value of a key, if it is of this type of Lua. False: there is none, or it was reported.
  [[nodiscard]] bool find(const std::string& key, int type, const std::string& example) const;
  [[nodiscard]] std::optional<std::size_t> one_of(const std::string& key, const std::vector<std::string>& names) const;
  bool wrong(const std::string& key, const std::string& example) const;

  lua_State* state_;
  int index_;
  Collection* collection_;
  Host::Place place_;
  std::vector<std::string> names_;
  std::size_t length_ = 0;
  bool unnamed_ = false;  // it has values without a name
};

// The text on the stack, whole. What alerts, labels and JSON could not show as it is, NUL or bytes that are no UTF-8,
// stops the file.
std::string text_at(lua_State* state, int index);
// The name behind a word, as of rule "x"; ends the call where it is none.
[[nodiscard]] std::string name_argument(lua_State* state, const char* word);
// Of a function that files call while they load; it stops where none may declare.
Collection& collection_of(lua_State* state);
// The table that was given to `word`.
Table table_argument(lua_State* state, int index, const std::string& word);

}  // namespace tocsin::dsl
