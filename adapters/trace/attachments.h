#pragma once

#include <sys/types.h>

#include <chrono>
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

  using Clock = std::chrono::steady_clock;

  // A process has mapped this library: sets all its probes, if it has none yet.
  void attach(pid_t pid, const MappedLibrary& library, Clock::time_point now);
  // Removes the probes of libraries that no process had mapped since then: a probe keeps the file system in use.
  void expire(Clock::time_point unseen_since);
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

  struct Attached {
    Clock::time_point seen{};
    std::map<std::uint32_t, std::vector<Link>> links{};  // by budget
  };

  const KernelProgram& program_;
  std::map<Inode, Attached> files_;
  std::map<std::pair<Inode, std::uint64_t>, Link> returns_;  // by their places
  std::set<std::uint32_t> stopped_;
  std::vector<std::string> notes_;
  std::set<std::string> noted_;
};

}  // namespace tocsin::adapters::trace
