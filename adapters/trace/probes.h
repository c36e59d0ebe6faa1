#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "adapters/trace/mapped_libraries.h"

namespace tocsin::adapters::trace {

// One probe: a program of tracer.bpf.c at the functions whose names begin so.
struct Probe {
  std::string_view prefix;
  const char* program;
  std::uint64_t cookie = 0;
};

[[nodiscard]] std::span<const Probe> probes_of(LibraryKind kind) noexcept;

// PyTorch's name of a function, by the number in its cookie; empty: there is none.
[[nodiscard]] std::string_view function_name(std::uint64_t number) noexcept;

}  // namespace tocsin::adapters::trace
