#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tocsin::dsl {

// A key of a table that files of a pack give to a word. One list for the loader, which refuses other keys, the
// reference, and the stubs for editors.
struct Key {
  std::string_view name;
  std::string_view type;  // of the Lua language server
  std::string_view meaning;
  bool needed = false;
};
struct KeyTable {
  std::string_view title;    // of its chapter in the reference
  std::string_view written;  // as in a file
  std::string_view type;     // in the stubs
  std::span<const Key> keys;
  std::string_view items{};       // the type of what it lists without names; empty: it lists nothing
  std::string_view other_keys{};  // the type of other keys, which the pack declares; empty: there are none

  [[nodiscard]] std::vector<std::string> names() const;
};

extern const KeyTable rule_keys, tune_keys, need_keys, case_keys, segment_keys, case_event_keys, case_line_keys,
    expectation_keys, definition_keys, source_keys, signal_keys, verdict_keys;
[[nodiscard]] std::vector<const KeyTable*> key_tables();  // in the order of the reference

}  // namespace tocsin::dsl
