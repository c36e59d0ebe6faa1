#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapters/journal/directory.h"
#include "adapters/trace/kernel_tables.h"
#include "stream/values/result.h"

struct bpf_link;
struct bpf_object;

namespace tocsin::adapters::trace {

struct LinkCloser {
  void operator()(bpf_link* link) const noexcept;
};

// A probe, or several of one program on one file, for as long as this exists.
struct Link {
  std::unique_ptr<bpf_link, LinkCloser> alone;
  journal::File several;
};

struct Place {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t cookie = 0;
};

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
  // `one_by_one`: sets each probe alone, as kernels before Linux 6.6 want it.
  [[nodiscard]] static stream::Result<std::unique_ptr<KernelProgram>> load(bool one_by_one = false);
  ~KernelProgram();
  KernelProgram(const KernelProgram&) = delete;
  KernelProgram& operator=(const KernelProgram&) = delete;

  // Probes of this program at places of a file, in all processes. What could not be set is an error each.
  struct Attached {
    std::vector<Link> links;
    std::vector<std::pair<Place, stream::Error>> failed{};
  };
  [[nodiscard]] Attached attach(const char* program, const std::string& path, const std::vector<Place>& places) const;
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
  KernelProgram(bpf_object* object, bool several) : object_(object), several_(several) {}
  [[nodiscard]] static stream::Result<std::unique_ptr<KernelProgram>> load_for(bool several);
  [[nodiscard]] stream::Result<void> find_place() const;
  [[nodiscard]] stream::Result<void> try_a_probe() const;
  [[nodiscard]] stream::Result<Link> attach_several(const char* program, const std::string& path,
                                                    const std::vector<Place>& places) const;
  [[nodiscard]] stream::Result<Link> attach_alone(const char* program, const std::string& path,
                                                  const Place& place) const;
  [[nodiscard]] int table(const char* name) const;

  bpf_object* object_;
  bool several_;  // sets many probes at once
};

}  // namespace tocsin::adapters::trace
