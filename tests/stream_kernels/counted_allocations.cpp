// Counts every allocation of this program. A source of its own: where the compiler sees through new and delete, it
// takes them for a pair that does not match.
#include <cstddef>
#include <cstdlib>
#include <new>

std::size_t allocations_so_far = 0;

void* operator new(std::size_t size) {
  ++allocations_so_far;
  if (void* room = std::malloc(size ? size : 1)) return room;
  throw std::bad_alloc{};
}
void operator delete(void* room) noexcept { std::free(room); }
void operator delete(void* room, std::size_t) noexcept { std::free(room); }
