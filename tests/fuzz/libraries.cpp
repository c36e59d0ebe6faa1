// Anything as an ELF file that a process has mapped, and as the list of its mappings.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "adapters/journal/directory.h"
#include "adapters/trace/elf_functions.h"
#include "adapters/trace/mapped_libraries.h"
#include "adapters/trace/process_life.h"

using namespace tocsin::adapters;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  for (const trace::MappedLibrary& library : trace::mapped_libraries(text))
    if (!library.file.path.starts_with('/')) std::abort();
  (void)trace::code_at(text, 0x7f0000001000);
  (void)trace::start_in_stat(text);
  const journal::File file{::memfd_create("library", MFD_CLOEXEC)};
  if (::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  constexpr std::string_view names[] = {"nccl", "cuLaunchKernel", "_Z"};
  if (const auto found = trace::elf_functions(file.get(), names))
    for (const trace::ElfFunction& function : *found)
      if (!function.name.starts_with(names[function.wanted])) std::abort();
  return 0;
}
