#pragma once

#include <span>
#include <string>
#include <string_view>

#include "adapters/evidence/stacks.h"

namespace tocsin::adapters::evidence {

// Where a process stands, in words: what its main thread does, as far as its frames show it.
struct Place {
  std::string doing;  // one of doings(); empty: the frames do not show it
  std::string text;   // innermost first: "next (my_loader.py:88) < train_step (train.py:41) < main (train.py:90)"
  std::string key;    // the functions of the program's own code: equal while it stays in the same functions
  std::string brief;  // as the text, without lines: what ranks are grouped by
};

struct Doing {
  std::string_view name, meaning;
};
// Every word for what a process does, and when it is used.
[[nodiscard]] std::span<const Doing> doings() noexcept;

// Frames of libraries are left out of the text; the innermost of them stands as a word before the program's own.
[[nodiscard]] Place place_of(const ProcessStack& stack);
// Whether a thread of it waits for requests from outside of the job: it serves HTTP, gRPC or the like.
[[nodiscard]] bool takes_requests(const ProcessStack& stack);
// Two moments of one process, or two processes: whether both are known and in the same functions.
[[nodiscard]] bool same_place(const Place& a, const Place& b) noexcept;

}  // namespace tocsin::adapters::evidence
