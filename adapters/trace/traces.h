#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "adapters/trace/kernel_tables.h"
#include "adapters/trace/tracer.h"

namespace tocsin::adapters::trace {

// One life of a process in the kernel's tables: its pid, and when its first call was seen.
using Life = std::pair<std::uint32_t, std::uint64_t>;

template <class Key, class Value>
using Entries = std::vector<std::pair<Key, Value>>;

// What was read of the kernel's tables at one time. Works before groups, groups before processes: so what is completed
// meanwhile is missing nowhere.
struct Tables {
  Entries<kernel::object_key, kernel::work> works;
  Entries<kernel::wait_key, kernel::wait> waits;
  Entries<kernel::object_key, kernel::group> groups;
  Entries<kernel::process_key, kernel::process> processes;
};

inline Life life_of(const kernel::process_key& key, const kernel::process& process) { return {key.pid, process.born}; }
template <class Key>
Life life_of(const Key& key) {
  return {key.pid, key.born};
}

// What these lives have done, by `now` of the tables' clock.
[[nodiscard]] std::map<Life, ProcessTrace> traces_of(const Tables& tables, const std::vector<Life>& lives,
                                                     std::uint64_t now);

}  // namespace tocsin::adapters::trace
