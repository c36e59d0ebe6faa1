#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dsl/load/collection.h"
#include "dsl/lua/host.h"

namespace tocsin::dsl {

struct Bytecode;

// The Lua files of a pack, run in their own state: what they declare, and its functions. Lives for one load, or for the
// construction of one host.
class RuleFiles {
 public:
  RuleFiles(const PackFiles& files, const Budgets& budgets)
      : problems(files),
        collection(problems),
        host(std::make_unique<Host>(budgets)),
        files_(&files),
        budgets_(&budgets) {}
  RuleFiles(const RuleFiles&) = delete;
  RuleFiles& operator=(const RuleFiles&) = delete;

  void read();        // all but patterns and parsers
  void read_texts();  // patterns and parsers alone
  // The state, from here on without the collection.
  [[nodiscard]] std::unique_ptr<Host> take_host();

  Problems problems;
  Collection collection;
  std::unique_ptr<Host> host;

 private:
  [[nodiscard]] bool open();
  void report_unfinished();
  void failed(const std::string& file, const std::optional<Failure>& failure);
  void does_not_compile(const std::string& file, std::string message);
  [[nodiscard]] bool readable(const std::string& file, const std::string& text);
  [[nodiscard]] std::unique_ptr<Bytecode> compile(lua_State* state, const std::string& file, const std::string& text);
  void run_shared(lua_State* state, const std::string& file);
  [[nodiscard]] bool run_file(const std::string& file, const std::string& text);
  void read_files();

  const PackFiles* files_;
  const Budgets* budgets_;
};

}  // namespace tocsin::dsl
