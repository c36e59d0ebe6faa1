#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stream/values/time.h"

// The telemetry of the benchmarks of the service: what jobs of healthy ranks send in one second, encoded ahead.
namespace tocsin::bench {

// How samples are cut into messages.
//   node      what a node's collectors send: a message of its eight GPUs, one of its eight ranks, one of their lines;
//   50 signals MxW       M ranks and W of the ten signals of ranks that rules of the pack read
struct Form {
  unsigned members = 0, width = 0;  // 0: node
};

struct Telemetry {
  unsigned jobs = 1, ranks = 1024, partitions = 1;
  Form form;
  unsigned lines = 0;  // a second and rank
  unsigned variants = 2;
};

// One message of each second. What differs from second to second is written in place before it is sent.
struct Prepared {
  std::vector<std::byte> bytes;
  std::uint32_t job = 0, samples = 0, lines = 0;
  std::vector<std::uint32_t> times, steps;  // where they are in the bytes; steps are floats
  std::vector<std::uint32_t> progress;      // in lines: texts of the form of `progress_mark`
  std::uint32_t sequence = 0;               // 0: it has none

  void set(stream::Time time, std::uint64_t second);
};

class Workload {
 public:
  explicit Workload(const Telemetry& telemetry);

  [[nodiscard]] const std::string& job(std::uint32_t number) const { return jobs_[number].name; }
  [[nodiscard]] int partition(std::uint32_t job) const { return jobs_[job].partition; }
  // What says that the jobs have begun, and who their members are.
  [[nodiscard]] std::vector<std::byte> start(std::uint32_t job, stream::Time time) const;
  // The messages of a second, in the order in which they are sent.
  [[nodiscard]] std::vector<Prepared>& second(std::uint64_t number) { return variants_[number % variants_.size()]; }
  // A message of `count` lines, of a node's ranks in turn; one producer numbers one message a second.
  [[nodiscard]] Prepared lines(std::uint32_t job, unsigned node, unsigned count, const std::string& producer) const;

 private:
  struct Job {
    std::string name;
    int partition = 0;
  };
  Telemetry telemetry_;
  std::vector<Job> jobs_;
  std::vector<std::vector<Prepared>> variants_;
};

}  // namespace tocsin::bench
