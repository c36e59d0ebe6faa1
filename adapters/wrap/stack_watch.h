#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapters/evidence/bundle.h"
#include "adapters/evidence/stack_taker.h"
#include "schemas/codec.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// Takes the stacks of this node's ranks at the first sign of a hang (one stays in a collective, or outside of all),
// before it is an alert, three times more within seconds, which tells a loop from work, and then now and then. With the
// second of them it gathers a bundle beside the journal. Owned by the Recorder.
class StackWatch {
 public:
  StackWatch(std::filesystem::path run, std::string job, std::string node)
      : run_(std::move(run)), job_(std::move(job)), node_(std::move(node)) {}

  // Once a second. `standing`: for how long a rank has; `ranks`: whose stacks are taken.
  void look(stream::Time now, stream::Duration standing, std::span<const evidence::StackTarget> ranks);
  [[nodiscard]] int stacks_descriptor() const noexcept { return taker_.descriptor(); }
  [[nodiscard]] int bundle_descriptor() const noexcept { return bundle_.descriptor(); }
  // Writes what has been taken since.
  void write(schemas::EntryBuilder& entry, stream::Time now);

 private:
  struct Seen {
    std::string functions;  // in which it is, without lines
    stream::Time since{};
  };

  void write_stacks(schemas::EntryBuilder& entry, stream::Time now, std::vector<evidence::ProcessStack> stacks);

  std::filesystem::path run_;
  std::string job_, node_;
  std::vector<evidence::StackTarget> targets_;
  evidence::StackTaker taker_;
  evidence::Bundle bundle_;
  std::map<std::uint32_t, Seen> seen_;  // in this hang
  stream::Duration usual_{};            // the longest after which a rank went on; it fades
  stream::Duration standing_{};         // at the last look
  stream::Time next_ = stream::long_ago;
  unsigned taken_ = 0;  // in this hang
};

}  // namespace tocsin::adapters::wrap
