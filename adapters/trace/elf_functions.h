#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/result.h"

namespace tocsin::adapters::trace {

// A function of an ELF file, and where its first instruction lies in the file.
struct ElfFunction {
  std::string name;
  std::uint64_t offset = 0;
  std::size_t wanted = 0;  // which of the prefixes it begins with
};

// The functions of a 64-bit ELF file whose names begin with one of the prefixes, from its dynamic symbols or, where
// these have none, from all symbols; one entry for each prefix and place. The file may be anybody's: nothing in it is
// believed.
[[nodiscard]] stream::Result<std::vector<ElfFunction>> elf_functions(int file,
                                                                     std::span<const std::string_view> prefixes);

}  // namespace tocsin::adapters::trace
