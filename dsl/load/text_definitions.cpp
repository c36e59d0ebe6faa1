#include "dsl/load/text_definitions.h"

#include <algorithm>
#include <lua.hpp>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <tuple>

#include "dsl/load/rule_files.h"
#include "dsl/load/tables.h"
#include "dsl/lua/environment.h"

namespace tocsin::dsl {
namespace {

using text::Definition;
using text::Value;
using text::ValueSource;

std::string text_of(const std::optional<stream::Scalar>& scalar) {
  const auto* text = scalar ? std::get_if<std::string>(&*scalar) : nullptr;
  return text ? *text : "";
}

// { "capture", … }, or { find = …, … }
ValueSource read_source(const Table& table, const std::string& name) {
  table.allow(source_keys);
  ValueSource source;
  source.capture = text_of(table.scalar(1));
  source.find = table.text("find").value_or("");
  source.last = table.yes("last").value_or(false);
  source.text = table.text("text").value_or("");
  source.number = table.number("number");
  source.scale = table.number("scale").value_or(1.0);
  source.epoch = table.text("epoch").value_or("");
  source.per_epoch = table.text("per_epoch").value_or("");
  source.first_epoch = table.number("first_epoch").value_or(0.0);
  const int found = !source.capture.empty() + !source.find.empty();
  const int constant = !source.text.empty() + source.number.has_value();
  if (found + constant == 0) table.problem("", name + " needs a capture's name, find, text or number");
  if (found > 1 || constant > 1 || (!source.capture.empty() && constant))
    table.problem("", name + " has two sources in one; write a list of { … }");
  return source;
}

// fields = { name = "capture", other = 1, third = { "capture", scale = 0.001 }, fourth = { { … }, { … } } }
std::vector<Value> read_values(const Table& table, const std::string& key) {
  std::vector<Value> out;
  table.within(key, "{ name = \"capture\" }", [&](const Table& values) {
    values.allow(values.names());
    for (const std::string& name : values.names()) {
      Value& value = out.emplace_back();
      value.name = name;
      if (const auto scalar = values.scalar(name)) {
        ValueSource& source = value.sources.emplace_back();
        if (const auto* number = std::get_if<double>(&*scalar)) source.number = *number;
        else source.capture = text_of(scalar);
        continue;
      }
      const auto add = [&](const Table& source) { value.sources.push_back(read_source(source, name)); };
      values.within(name, "\"capture\", the name of a group, or a table", [&](const Table& one) {
        if (one.length() == 0 || one.scalar(1)) add(one);
        else one.each("", name + " mixes sources and others: write a list of { … }", add);
      });
    }
  });
  return out;
}

}  // namespace

void read_definition(const Table& table, Definition::Kind kind, const std::string& name) {
  const bool pattern = kind == Definition::Kind::pattern;
  table.allow(definition_keys);
  const auto text = [&](const char* key) { return table.text(key).value_or(""); };
  Definition definition;
  definition.kind = kind;
  definition.name = name;
  definition.file = table.place().file;
  definition.line = table.place().line;
  definition.about = text("about");
  using Generic = Definition::Generic;
  definition.generic = table.one_of("generic", {Generic::bars, Generic::lines}).value_or(Generic::no);
  if (pattern && definition.generic != Generic::no)
    table.problem("generic", "generic is for parsers, of which one reads a line; all patterns that match apply");
  definition.lines = table.texts("line");
  definition.scan = text("scan");
  definition.unless = text("unless");
  definition.event = text("event");
  definition.also = text("also");
  if (!definition.also.empty() && definition.event.empty())
    table.problem("also", "`also` names a second event; write `event` first");
  if (std::string source = text("source"); !source.empty()) definition.source = std::move(source);
  definition.fields = read_values(table, "fields");
  for (Value& value : read_values(table, "texts")) {
    value.textual = true;
    definition.fields.push_back(std::move(value));
  }
  definition.samples = read_values(table, "samples");
  for (Value& state : read_values(table, "states")) {  // constants in the place of captures' names
    for (ValueSource& source : state.sources) source.text = std::move(source.capture), source.capture.clear();
    state.textual = true;
    definition.samples.push_back(std::move(state));
  }
  definition.rank = text("rank");
  if (std::string rank = text("rank_if_unknown"); !rank.empty()) {
    if (!definition.rank.empty()) table.problem("rank", "both rank and rank_if_unknown: write one");
    definition.rank = std::move(rank);
    definition.rank_yields = true;
  }
  definition.gpu = text("gpu");
  definition.continues = text("continues");
  definition.until = text("ends");
  definition.wrapped = table.yes("wrapped").value_or(false);
  definition.most_lines = table.whole("lines", 1, 512).value_or(definition.most_lines);
  definition.equal = table.texts("equal");
  definition.same = text("same");
  definition.remembers = text("remembers");
  if (!pattern && !definition.event.empty())
    table.problem("event", "a parser makes samples; write a pattern for the event");
  table.collection().definitions.push_back(std::move(definition));
}

namespace {

// either { [[a]], [[b]] }: an expression that matches any of these; an option such as (?i) holds within its own.
int either(lua_State* state) {
  const Table table = table_argument(state, 1, "either");
  table.allow({}, "key", true);
  if (table.length() == 0) table.problem("", "either lists expressions: either { [[one]], [[another]] }");
  std::string any;
  for (std::size_t i = 1; i <= table.length(); ++i) {
    const auto one = table.scalar(i);
    const auto* text = one ? std::get_if<std::string>(&*one) : nullptr;
    if (text) any += (i == 1 ? "(?:" : "|(?:") + *text + ")";
    else table.problem("", "either lists something that is not a text: write either { [[one]], [[another]] }");
  }
  lua_pushstring(state, ("(?:" + any + ")").c_str());
  return 1;
}

// Patterns come before parsers, generic parsers after all others, and those of a directory that was given later before
// those of earlier ones. Within a directory the order of a file counts, and no file's name: files are in the order of
// the names that they declare first.
void put_in_order(std::vector<Definition>& all, const PackFiles& files) {
  const PackDirectories directories{files};
  std::map<std::string, std::pair<std::string, Definition::Kind>> first;  // of a file, its first definition
  for (const Definition& one : all) first.try_emplace(one.file, one.name, one.kind);
  const auto key = [&](const Definition& one) {
    return std::tuple{one.kind, one.generic, directories.size() - directories.of(one.file), first.at(one.file),
                      one.line};
  };
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

}  // namespace

void register_expressions(lua_State* state) { set_functions(state, {{"either", either}}); }

bool is_text_file(const std::string& path) {
  const auto in = [&](const std::string& folder) {
    return path.starts_with(folder) || path.find('/' + folder) != path.npos;
  };
  return path.ends_with(".lua") && (in("patterns/") || in("progress/"));
}

TextDefinitions read_text_definitions(const PackFiles& files) {
  Budgets budgets;
  budgets.load_instructions = 1'000'000;
  RuleFiles source{files, budgets};
  source.read_texts();
  TextDefinitions out{std::move(source.collection.definitions), {}};
  put_in_order(out.definitions, files);
  for (const Problem& problem : source.problems.take())
    out.problems.push_back(
        {problem.file, problem.line, problem.rule + (problem.rule.empty() ? "" : ": ") + problem.message});
  return out;
}

namespace {

// What Lua and RE2 say of files without a problem, which a store keeps beside the databases.
struct KnownTexts {
  std::vector<Definition> definitions;
  text::Groups groups;

  [[nodiscard]] bool read(std::string_view bytes) {
    stream::Reader in{std::as_bytes(std::span{bytes})};
    in.list(1, [this](stream::Reader& one) { Definition::everything(definitions.emplace_back(), one); });
    in(2, groups);
    if (in.ok()) return true;
    *this = {};
    return false;
  }
  [[nodiscard]] std::string bytes() const {
    stream::Writer out;
    out.list(1, definitions, [](stream::Writer& to, const Definition& one) { Definition::everything(one, to); });
    out(2, groups);
    const auto bytes = out.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

}  // namespace

text::Compiled compile_text(const PackFiles& files, text::DatabaseStore* store) {
  KnownTexts known;
  const std::string of = store == nullptr ? "" : pack_text(files), name = "patterns-texts-" + pack_hash(of);
  const auto stored = store == nullptr ? std::nullopt : store->find(name);
  const bool is_new = !stored || !stored->starts_with(of) || !known.read(std::string_view{*stored}.substr(of.size()));
  if (is_new) {
    TextDefinitions read = read_text_definitions(files);
    if (!read.problems.empty()) return {nullptr, std::move(read.problems), {}};
    known.definitions = std::move(read.definitions);
  }
  text::Compiled compiled = text::compile(known.definitions, known.groups, store);
  if (is_new && store != nullptr && compiled.extraction) store->keep(name, of + known.bytes());
  compiled.definitions = std::make_shared<const std::vector<Definition>>(std::move(known.definitions));
  return compiled;
}

}  // namespace tocsin::dsl
