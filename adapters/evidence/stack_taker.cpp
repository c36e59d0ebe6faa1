#include "adapters/evidence/stack_taker.h"

#include <algorithm>
#include <string>
#include <utility>

#include "adapters/evidence/kernel_view.h"
#include "adapters/evidence/take.h"

namespace tocsin::adapters::evidence {

namespace {

// Lines of JSON, one process each.
std::string line_of(ProcessStack stack, const StackTarget& target) {
  stack.pid = target.pid;
  stack.rank = target.rank;
  return formats::dump(to_json(stack)) + '\n';
}

ProcessStack failure(const StackTarget& target, std::string error) {
  ProcessStack stack;
  stack.pid = target.pid;
  stack.rank = target.rank;
  stack.error = std::move(error);
  return stack;
}

// What is quick first: it is there if the rest takes too long.
void look(const StackTarget& target, const StackSettings& settings, int out) {
  const auto same = [&] { return target.start == 0 || start_of(target.pid) == target.start; };
  const ProcessStack gone = failure(target, "the process has ended");
  if (!same()) return write_all_of(out, line_of(gone, target));
  write_all_of(out, line_of(kernel_view(target.pid), target));
  ProcessStack stack = take_stack(target.pid, settings.gdb);
  write_all_of(out, line_of(same() ? std::move(stack) : gone, target));
}

// The last whole line that came; where it was late, its error says so.
ProcessStack best_of(const std::string& bytes, const StackTarget& target, bool late) {
  const char* const reason = late ? "looking into the process took too long" : "looking into the process failed";
  const std::size_t end = bytes.rfind('\n');
  const std::size_t before = end == std::string::npos || end == 0 ? std::string::npos : bytes.rfind('\n', end - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  auto stack = end == std::string::npos ? std::nullopt : stack_from_json(bytes.substr(begin, end - begin));
  if (!stack) return failure(target, reason);
  if (late) stack->error = reason;
  return std::move(*stack);
}

}  // namespace

std::vector<ProcessStack> take_stacks(std::span<const StackTarget> targets, const StackSettings& settings) {
  std::vector<Piece> pieces;
  for (const StackTarget& target : targets)
    pieces.push_back({[&target, &settings](int out) { look(target, settings, out); },
                      settings.gdb ? settings.gdb_limit : settings.limit});
  std::vector<ProcessStack> stacks(targets.size());
  run_pieces(pieces, settings.at_once,
             [&](std::size_t i, std::string bytes, bool late) { stacks[i] = best_of(bytes, targets[i], late); });
  return stacks;
}

void StackTaker::start(std::span<const StackTarget> targets, const StackSettings& settings) {
  targets_.assign(targets.begin(), targets.end());
  const std::size_t rounds = targets.size() / std::max<std::size_t>(settings.at_once, 1) + 2;
  const auto work = [this, &settings](int out) {
    std::string lines;
    const auto stacks = take_stacks(targets_, settings);
    for (std::size_t i = 0; i < stacks.size(); ++i) lines += line_of(stacks[i], targets_[i]);
    write_all_of(out, lines);
  };
  work_.start("tocsin-stacks", work, rounds * (settings.gdb ? settings.gdb_limit : settings.limit));
}

std::optional<std::vector<ProcessStack>> StackTaker::poll() {
  const auto answer = work_.poll();
  if (!answer) return std::nullopt;
  std::vector<ProcessStack> out;
  for (std::string_view rest = *answer; !rest.empty() && out.size() < targets_.size();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    auto stack = stack_from_json(line);
    out.push_back(stack ? std::move(*stack) : failure(targets_[out.size()], "looking into the process failed"));
  }
  while (out.size() < targets_.size())
    out.push_back(failure(targets_[out.size()], "looking into the process did not finish"));
  return out;
}

}  // namespace tocsin::adapters::evidence
