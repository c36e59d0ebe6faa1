#include "stream/rules/script_runtime.h"

#include <cassert>

namespace tocsin::stream {

ScriptRuntime::ScriptRuntime(PackPtr pack) : pack_(std::move(pack)) {
  if (pack_->scripts) copy_.emplace(*pack_->graph);
}

Graph& ScriptRuntime::scratch() {
  assert(copy_);
  return *copy_;
}

Result<ScriptedAnswer> ScriptRuntime::evaluate(RuleIndex rule, Scratch& scratch) {
  if (!pack_->scripts) return Error{Errc::refused, "no host for scripted rules"};
  if (!host_) {
    auto made = pack_->scripts->make(*pack_);
    if (!made) return made.error();
    host_ = std::move(*made);
  }
  return host_->evaluate(rule, scratch);
}

bool ScriptRuntime::truncate(std::size_t mark) {
  if (!copy_ || copy_->mark() <= mark) return false;
  copy_->truncate(mark);
  return true;
}

}  // namespace tocsin::stream
