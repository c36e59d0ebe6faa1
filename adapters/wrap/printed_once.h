#pragma once

#include <stdio.h>

#include <cstddef>
#include <set>
#include <string>

namespace tocsin::adapters::wrap {

// Prints each line to stderr once. After `most` different lines it prints that further ones are left out.
class PrintedOnce {
 public:
  explicit PrintedOnce(std::size_t most) : most_(most) {}
  void print(const std::string& line) {
    if (printed_.size() == most_ || !printed_.insert(line).second) return;
    ::fprintf(stderr, "tocsin: %s\n", line.c_str());
    if (printed_.size() == most_)
      ::fprintf(stderr, "tocsin: %zu different messages were printed, further ones are not\n", most_);
  }

 private:
  std::size_t most_;
  std::set<std::string> printed_;
};

}  // namespace tocsin::adapters::wrap
