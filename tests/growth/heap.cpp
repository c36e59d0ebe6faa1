// Replaces new and delete by ones that count. A source of its own: where the compiler sees through them, it reports a
// pair that does not match.
#include "tests/growth/heap.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace {
tocsin::tests::Heap counted;
}

tocsin::tests::Heap tocsin::tests::heap() noexcept { return counted; }

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size ? size : 1);
  if (memory == nullptr) throw std::bad_alloc{};
  ++counted.allocations;
  counted.bytes += malloc_usable_size(memory);
  return memory;
}
void operator delete(void* memory) noexcept {
  counted.bytes -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
