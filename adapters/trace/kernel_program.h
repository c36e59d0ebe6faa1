#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapters/trace/kernel_tables.h"
#include "stream/values/result.h"

struct bpf_link;
struct bpf_object;

namespace tocsin::adapters::trace {

struct LinkCloser {
  void operator()(bpf_link* link) const noexcept;
};
using Link = std::unique_ptr<bpf_link, LinkCloser>;

// A table of the kernel's program.
template <class Key, class Value>
class Table {
 public:
  explicit Table(int descriptor) : descriptor_(descriptor) {}
  // All entries; one that is added or removed meanwhile may be among them.
  [[nodiscard]] std::vector<std::pair<Key, Value>> read() const;
  void erase(const Key& key) const noexcept;

 private:
  int descriptor_;
};

// tracer.bpf.c, loaded into the kernel. Everything it is goes when this goes.
class KernelProgram {
 public:
  [[nodiscard]] static stream::Result<std::unique_ptr<KernelProgram>> load();
  ~KernelProgram();
  KernelProgram(const KernelProgram&) = delete;
  KernelProgram& operator=(const KernelProgram&) = delete;

  // A probe of this program at that place of a file, in all processes.
  [[nodiscard]] stream::Result<Link> attach(const char* program, const std::string& path, std::uint64_t offset,
                                            std::uint64_t cookie, bool at_return = false) const;
  [[nodiscard]] Table<kernel::process_key, kernel::process> processes() const {
    return Table<kernel::process_key, kernel::process>{table("processes")};
  }
  [[nodiscard]] Table<kernel::object_key, kernel::group> groups() const {
    return Table<kernel::object_key, kernel::group>{table("groups")};
  }
  [[nodiscard]] Table<kernel::object_key, kernel::work> works() const {
    return Table<kernel::object_key, kernel::work>{table("works")};
  }
  [[nodiscard]] Table<kernel::wait_key, kernel::wait> waits() const {
    return Table<kernel::wait_key, kernel::wait>{table("waits")};
  }
  // How many entries found no room in their tables.
  [[nodiscard]] std::uint32_t lost() const;

 private:
  explicit KernelProgram(bpf_object* object) : object_(object) {}
  [[nodiscard]] stream::Result<void> find_place() const;
  [[nodiscard]] stream::Result<void> try_a_probe() const;
  [[nodiscard]] int table(const char* name) const;

  bpf_object* object_;
};

}  // namespace tocsin::adapters::trace
