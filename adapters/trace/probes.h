#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "adapters/trace/mapped_libraries.h"

namespace tocsin::adapters::trace {

// One probe: a program of tracer.bpf.c at the functions of this name, or of C++ names that begin so.
struct Probe {
  std::string_view name;
  const char* program;
  std::uint64_t cookie = 0;

  // CUDA has variants of a function for a default stream of each thread.
  [[nodiscard]] bool is_for(std::string_view function) const noexcept;
  // Which budget its calls are from, as kernel_tables.h counts them.
  [[nodiscard]] std::uint32_t call() const noexcept;
};

[[nodiscard]] std::span<const Probe> probes_of(LibraryKind kind) noexcept;

// PyTorch's name of a function, by the number in its cookie; empty: there is none.
[[nodiscard]] std::string_view function_name(std::uint64_t number) noexcept;
// A function of the driver that waits.
[[nodiscard]] std::string_view wait_name(std::uint64_t number) noexcept;
// What is counted under a budget: "cuLaunchKernel".
[[nodiscard]] std::string_view call_name(std::uint32_t call) noexcept;

}  // namespace tocsin::adapters::trace
