#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/trace/kernel_program.h"
#include "adapters/trace/mapped_libraries.h"

namespace tocsin::adapters::trace {

// The probes that are set, each on a place of a file and so in every process that runs it. Owned by the Tracer.
class Attachments {
 public:
  explicit Attachments(const KernelProgram& program) : program_(program) {}
  ~Attachments();

  // Sets all probes of a library that has none yet.
  void attach(pid_t pid, const MappedLibrary& library);
  // Sets a probe where a wait returns to. False: it cannot be done.
  [[nodiscard]] bool attach_return(pid_t pid, const MappedFile& file, std::uint64_t offset);
  // Removes the probes whose calls are counted under this budget, and sets no more of them.
  void stop(std::uint32_t call);
  [[nodiscard]] bool stopped(std::uint32_t call) const { return stopped_.contains(call); }

  // One line, once.
  void note(std::string text);
  [[nodiscard]] std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  using Inode = std::pair<std::string, std::uint64_t>;  // device and number

  const KernelProgram& program_;
  std::map<std::uint32_t, std::vector<Link>> links_;  // by budget
  std::set<Inode> attached_;
  std::set<std::pair<Inode, std::uint64_t>> returns_;
  std::set<std::uint32_t> stopped_;
  std::vector<std::string> notes_;
  std::set<std::string> noted_;
};

}  // namespace tocsin::adapters::trace
