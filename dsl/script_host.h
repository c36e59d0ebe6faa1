#pragma once

#include <map>
#include <memory>

#include "dsl/tracing.h"

namespace tocsin::dsl {

// Runs the evaluates of scripted rules. Keeps the Lua state that loaded them, with nothing of the load but their functions.
// Owned by the Pack; touched by the thread that evaluates it.
class Scripts : public stream::ScriptHost {
 public:
  explicit Scripts(std::unique_ptr<Host> host) : host_(std::move(host)) {}

  void add(stream::RuleIndex index, const RuleSource& source, const stream::Pack& pack);
  stream::Result<stream::ScriptedAnswer> evaluate(stream::RuleIndex rule, stream::Scratch& scratch) override;

 private:
  struct Script {
    RuleSource source;
    stream::Level per = stream::Level::job;
    std::map<std::string, stream::NodeId> needs;
    std::vector<std::string> value_names;  // that texts want from the second value
  };
  std::unique_ptr<Host> host_;
  std::map<stream::RuleIndex, Script> scripts_;
};

}  // namespace tocsin::dsl
