#include "dsl/load/reference.h"

#include <array>
#include <utility>

#include "dsl/load/keys.h"
#include "stream/graph/graph.h"
#include "stream/graph/operations.h"
#include "stream/graph/time_range.h"
#include "stream/windows/panes.h"

namespace tocsin::dsl {
namespace {

using stream::Op;
using stream::Operation;
using stream::Shape;
using stream::Takes;

bool word(const Operation& entry) { return !entry.name.empty(); }
bool sign(const Operation& entry) { return word(entry) && !(entry.name[0] >= 'a' && entry.name[0] <= 'z'); }
bool function(const Operation& entry) { return entry.takes == Takes::columns; }
bool unary(const Operation& entry) { return entry.takes == Takes::nothing; }

// As written: x:quantile(q, "group").
std::string usage(const Operation& entry) {
  const std::string name{entry.name};
  if (sign(entry)) return unary(entry) ? name + "x" : "a " + name + " b";
  if (function(entry)) return name + "(a, b, …)";
  const std::string before = entry.on == Shape::window    ? "w:"
                             : entry.on == Shape::mask    ? "m:"
                             : entry.on == Shape::finding ? "f:"
                             : entry.on == Shape::job     ? "job:"
                                                          : "x:";
  switch (entry.takes) {
    case Takes::column: return before + name + "(y)";
    case Takes::low_high: return before + name + "(low[, high])";
    case Takes::literals: return before + name + "(value, …)";
    case Takes::group: return before + name + "(\"group\")";
    case Takes::number_group: return before + name + "(" + (entry.op == Op::g_quantile ? "q" : "n") + ", \"group\")";
    case Takes::number: return before + name + (entry.op == Op::w_quantile ? "(q)" : "(n)");
    case Takes::count: return before + name + "([n or \"field\"])";
    case Takes::field: return before + name + "(\"field\")";
    case Takes::fields: return before + name + " { field = value }";
    case Takes::bits: return before + name + " { bits = m }";
    case Takes::level: return before + name + "(\"level\")";
    case Takes::choice: return before + name + "(a, b)";
    default: return before + name + "()";
  }
}

std::string_view unit_rule(const Operation& entry) {
  if (entry.gives != Shape::column) return "";
  if (entry.op == Op::w_where || entry.op == Op::w_except) return "";
  switch (entry.unit) {
    case stream::UnitRule::keep: return "its own";
    case stream::UnitRule::none: return "none";
    case stream::UnitRule::seconds: return "seconds";
    case stream::UnitRule::count: return "count";
    case stream::UnitRule::ratio: return "ratio";
    case stream::UnitRule::per_second: return "its own, per second";
    case stream::UnitRule::sum: return "that of all";
    case stream::UnitRule::product: return "the product";
    case stream::UnitRule::quotient: return "the quotient";
    case stream::UnitRule::field: return "the field's";
  }
  return "";
}

struct Chapter {
  std::string_view title, introduction;
  bool (*has)(const Operation&);
};

bool concrete(const Operation& entry) { return entry.op == Op::number || entry.op == Op::yes || entry.op == Op::each; }
bool across(const Operation& entry) { return entry.takes == Takes::group || entry.takes == Takes::number_group; }

constexpr std::array chapters{
    Chapter{"Windows", "A need over a span of time. One word makes a column of it, a value per member, or a mask.",
            [](const Operation& e) { return word(e) && e.on == Shape::window; }},
    Chapter{"The job", "The first argument of evaluate: its needs, and one word of its own.",
            [](const Operation& e) { return word(e) && e.on == Shape::job; }},
    Chapter{"Findings", "The answer of another rule. One word makes a mask of it.",
            [](const Operation& e) { return word(e) && e.on == Shape::finding; }},
    Chapter{"Columns, member by member",
            "Two levels meet at the finer of both; a bare number takes the unit of what it meets.",
            [](const Operation& e) {
              return word(e) && e.on == Shape::column && e.gives == Shape::column && !across(e) && !concrete(e);
            }},
    Chapter{"Columns, across members", "The group is \"peers\", \"gpu\", \"node\", \"rack\" or \"job\".",
            [](const Operation& e) { return word(e) && e.on == Shape::column && across(e); }},
    Chapter{"From columns to masks", "A mask says yes, no or unknown of each member.",
            [](const Operation& e) { return word(e) && e.on == Shape::column && e.gives == Shape::mask; }},
    Chapter{"Masks", "Joined in Kleene's logic: unknown stays unknown where it matters.",
            [](const Operation& e) { return word(e) && e.on == Shape::mask && !across(e) && !concrete(e); }},
    Chapter{"Masks, across members", "Exact with unknown members.",
            [](const Operation& e) { return word(e) && e.on == Shape::mask && across(e); }},
    Chapter{
        "Concrete values",
        "For what columns cannot say. They make a rule scripted: it runs in Lua at each evaluation, under a budget.",
        concrete},
};

std::string cell(std::string_view text) {  // of a Markdown table
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string class_of(Shape shape) { return "tocsin." + std::string{name(shape)}; }

// The annotations of one word's parameters, and their names.
std::pair<std::string, std::string> parameters(const Operation& entry) {
  const std::string groups = "\"peers\"|\"gpu\"|\"node\"|\"rack\"|\"job\"";
  switch (entry.takes) {
    case Takes::column: return {"---@param y tocsin.column|number|string\n", "y"};
    case Takes::low_high:
      return {"---@param low tocsin.column|number|string\n---@param high? tocsin.column|number|string\n", "low, high"};
    case Takes::literals: return {"---@param ... number|string\n", "..."};
    case Takes::columns: return {"---@param ... tocsin.column|number\n", "..."};
    case Takes::group: return {"---@param group " + groups + "\n", "group"};
    case Takes::number_group: return {"---@param n number|tocsin.column\n---@param group " + groups + "\n", "n, group"};
    case Takes::number: return {"---@param n number\n", "n"};
    case Takes::count: return {"---@param n? integer|string\n", "n"};
    case Takes::field: return {"---@param field string\n", "field"};
    case Takes::fields: return {"---@param fields table<string, number|string|(number|string)[]>\n", "fields"};
    case Takes::bits: return {"---@param mask { bits: integer }\n", "mask"};
    case Takes::level: return {"---@param level \"rack\"|\"node\"|\"gpu\"|\"rank\"\n", "level"};
    case Takes::choice: return {"---@param a tocsin.column|number\n---@param b tocsin.column|number\n", "a, b"};
    default: return {"", ""};
  }
}

std::string result(const Operation& entry) {
  if (entry.op == Op::number) return "number?";
  if (entry.op == Op::yes) return "boolean?";
  if (entry.op == Op::each) return "fun(): (integer|string), (number|boolean|string)?";
  return class_of(entry.gives);
}

std::string stub(const Operation& entry, Shape on) {
  const auto [annotations, names] = parameters(entry);
  const std::string called =
      function(entry) ? std::string{entry.name} : std::string{name(on)} + ":" + std::string{entry.name};
  const std::string gives = entry.op == Op::at ? class_of(on) : result(entry);
  return "--- " + std::string{entry.documentation} + "\n" + annotations + "---@return " + gives + "\nfunction " +
         called + "(" + names + ") end\n\n";
}

constexpr std::string_view declarations = R"lua(---@class tocsin.need

---@class tocsin.case_value

---@alias tocsin.source string|number|tocsin.place|tocsin.place[]

---@param name string
---@return fun(head: tocsin.rule)
function rule(name) end

---@param name string
---@return fun(changes: tocsin.tune)
function tune(name) end

---@param name string
---@return fun(body: tocsin.case)
function case(name) end

---@param name string
---@return fun(body: tocsin.definition)
function pattern(name) end

---@param name string
---@return fun(body: tocsin.definition)
function parser(name) end

--- An expression that matches any of these: `either { [[one]], [[another]] }`.
---@param expressions string[]
---@return string
function either(expressions) end

---@param declared table<string, tocsin.signal>
function signals(declared) end

---@param declared table<string, "rank"|"gpu"|"node"|"rack"|"job">
function coordinates(declared) end

---@param policy tocsin.verdict
function verdict(policy) end

---@param name string
---@return fun(span: tocsin.span): tocsin.need
function signal(name) end

--- What a file of shared/ returns.
---@param name string
---@return table<string, any>
function shared(name) end

--- The answer of another rule, or of several.
---@param rules string|string[]
---@return tocsin.need
function finding(rules) end

---@param seconds number
---@param from? number
---@return tocsin.case_value
function steps(seconds, from) end

---@param mean number
---@param deviation number
---@return tocsin.case_value
function noise(mean, deviation) end

---@param from number
---@param to number
---@return tocsin.case_value
function ramp(from, to) end

---@type tocsin.case_value
silent = nil
---@type number
nan = nil

)lua";

std::string when_known() {
  stream::WindowSpec attempt;
  attempt.span = stream::WindowSpec::Span::attempt;
  const std::string least = std::to_string(stream::least_of(attempt));
  const std::string rows = std::to_string(stream::Panes<float>::rows_a_pane);
  return R"md(
## When a window is known

Words that reduce many values to one are unknown where too few came. `count`, `age`, `first`, `last`, `seen`, `within`,
`older_than` and the words about events and states need no more than one; a count of 0, and an age before the first
record, are known only where the signal's source was covered. `least` is )md" +
         least + R"md(, or all points that are asked for if they are fewer, unless the need gives it.

| Window | Known |
|---|---|
| a time, with `lag` at most 5 minutes | where its values, each as long as the member's usual interval, make half of it |
| a longer time | from `least` values on; it is read in panes of )md" +
         rows + R"md( rows, and those that it cuts at its ends do not count |
| a number of points, or `"attempt"` | from `least` values on |
| `"earlier"` | once all attempts before are over, from `least` values on; in the first attempt only that the count is 0 |
| a time with `full = true` | once it has passed since the attempt began, where its source was covered throughout |
| a number of points with `full = true` | once so many came |
)md";
}

std::string chapter_of(const KeyTable& table) {
  std::string out =
      "\n## " + std::string{table.title} + "\n\n`" + std::string{table.written} + "`" +
      (table.other_keys.empty() ? "" : ". Other keys are names of signals or fields, with their values.") +
      "\n\n| Key | Type | Meaning |\n|---|---|---|\n";
  for (const Key& key : table.keys) {
    std::string type{key.type};
    for (std::size_t at; (at = type.find("tocsin.")) != std::string::npos;) type.erase(at, 7);
    out += "| `" + std::string{key.name} + "`" + (key.needed ? " (required)" : "") + " | `" + cell(type) + "` | " +
           cell(key.meaning) + " |\n";
  }
  return out;
}

constexpr std::string_view other_words = R"md(
## Values in a case

| Written | Meaning |
|---|---|
| `0.9`, `"eval"` | The same value from there on. |
| `steps(seconds[, from])` | Of `step`: a step each so many seconds, from the last one, or from this number on. |
| `noise(mean, deviation)` | Normally distributed, the same in every run. |
| `ramp(from, to)` | From one value to the other over the segment. |
| `silent` | No value from there on. |
| `nan` | A measured NaN. |

## Other words of files

| Written | Meaning |
|---|---|
| `finding "rule"`, `finding { "a", "b" }`, `finding "*"` | A need: the answer of that rule, whether one of several says yes, or any other rule. |
| `shared "name"` | What `shared/name.lua` returns: functions and constants, at the top of a file of rules. |
| `either { [[one]], [[another]] }` | An expression that matches any of these. |
| `coordinates { stage = "rank" }` | In signals.lua: names of places of members in the job, for `peers`. |
)md";

}  // namespace

std::string reference() {
  std::string out =
      "# The words of rules\n\nUnknown flows: what is computed from an unknown value is unknown, unless the word says "
      "otherwise.\n";
  for (const Chapter& chapter : chapters) {
    out += "\n## " + std::string{chapter.title} + "\n\n" + std::string{chapter.introduction} +
           "\n\n| Written | Gives | Unit | Meaning |\n|---|---|---|---|\n";
    for (const Operation& entry : stream::operations())
      if (chapter.has(entry))
        out += "| `" + cell(usage(entry)) + "` | " + (concrete(entry) ? "Lua values" : std::string{name(entry.gives)}) +
               " | " + std::string{concrete(entry) ? "" : unit_rule(entry)} + " | " + cell(entry.documentation) +
               " |\n";
  }
  out += when_known();
  for (const KeyTable* table : key_tables()) out += chapter_of(*table);
  return out + std::string{other_words};
}

std::string editor_stubs() {
  std::string out = "---@meta\n-- The words of rules, for editors. Not loaded by the engine.\n\n";
  for (const Shape shape : {Shape::job, Shape::window, Shape::finding, Shape::column, Shape::mask}) {
    const std::string local{name(shape)};
    out += "---@class " + class_of(shape) + "\n";
    if (shape == Shape::job) out += "---@field [string] tocsin.window|tocsin.finding\n";
    if (shape == Shape::column)
      for (const char* operation : {"add", "sub", "mul", "div"})
        for (const char* other : {"number", "tocsin.column"})
          out += std::string{"---@operator "} + operation + "(" + other + "): tocsin.column\n";
    if (shape == Shape::column) out += "---@operator unm: tocsin.column\n";
    if (shape == Shape::mask)
      out +=
          "---@operator band(tocsin.mask): tocsin.mask\n---@operator bor(tocsin.mask): tocsin.mask\n---@operator bnot: "
          "tocsin.mask\n";
    out += "local " + local + " = {}\n\n";
    for (const Operation& entry : stream::operations())
      if (word(entry) && !sign(entry) && !function(entry) && stream::find_operation(entry.name, shape) == entry.op)
        out += stub(entry, shape);
  }
  for (const Operation& entry : stream::operations())
    if (function(entry)) out += stub(entry, Shape::column);
  for (const KeyTable* table : key_tables()) {
    out += "---@class " + std::string{table->type} + "\n";
    for (const Key& key : table->keys)
      out += "---@field " + std::string{key.name} + (key.needed ? " " : "? ") + std::string{key.type} + " " +
             std::string{key.meaning} + "\n";
    if (!table->items.empty()) out += "---@field [integer] " + std::string{table->items} + "\n";
    if (!table->other_keys.empty()) out += "---@field [string] " + std::string{table->other_keys} + "\n";
    out += "\n";
  }
  return out + std::string{declarations};
}

}  // namespace tocsin::dsl
