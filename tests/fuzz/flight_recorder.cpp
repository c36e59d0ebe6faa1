// Dumps of PyTorch's flight recorder, and stacks as py-spy and gdb print them: any bytes give a value or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "adapters/evidence/dumped_job.h"
#include "adapters/evidence/flight_recorder.h"
#include "adapters/evidence/groups.h"
#include "adapters/evidence/take.h"

using namespace tocsin::adapters::evidence;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  if (auto dump = read_flight_dump(bytes, 0)) {
    auto other = *dump;
    other.rank = 1;
    const DumpedJob job = join_dumps({std::move(*dump), std::move(other)});
    (void)text_of(job);
    (void)lines_of(job, "job", std::chrono::seconds{2});
  }
  ProcessStack stack;
  stack.way = Way::py_spy;
  if (auto threads = threads_of_py_spy(bytes, 1)) {
    stack.threads = std::move(*threads);
    (void)stacks_json({&stack, 1});
    (void)text_of(stack);
  }
  stack.way = Way::gdb;
  stack.threads = threads_of_gdb(bytes, 1);
  (void)stacks_json({&stack, 1});
  return 0;
}
