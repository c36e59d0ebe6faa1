#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "adapters/wrap/descriptor.h"
#include "adapters/wrap/nvml.h"
#include "schemas/codec.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// The GPUs of this machine, looked at once a second by a process of its own, since a GPU that is ill may block whoever
// asks. Where the job's processes are seen on some GPUs, only these are written down; before, and where none can be
// known, all that the job may use. Owned by the Recorder.
class GpuWatch {
 public:
  ~GpuWatch();

  // `devices`: what the job may use until it is seen on some, in the form of CUDA_VISIBLE_DEVICES; null: all.
  void start(const char* devices);
  [[nodiscard]] int descriptor() const noexcept { return reports_.get(); }  // -1: there is nothing to wait for

  // The rank that a process is, or is below; none: it is not of the job. In the second form: of the job, and of no
  // rank.
  struct Owner {
    bool ours = false;
    std::optional<std::uint32_t> rank{};
    pid_t pid = 0;  // of the rank's process
  };
  using OwnerOf = std::function<Owner(pid_t)>;
  // Writes what has been reported since: samples and errors of GPUs, and to which ranks they belong. `about` names the
  // attempt that the entry is of.
  void write(schemas::EntryBuilder& entry, stream::Time now, const std::string& node, const OwnerOf& owner);
  // Errors of the driver are reported for these: that none came means none.
  void cover(schemas::EntryBuilder& entry, const std::string& node) const;
  void forget_ranks() { gpu_of_.clear(), named_.clear(); }  // a new attempt has its own members

 private:
  void take(const GpuReport& report, schemas::EntryBuilder& entry, stream::Time now, const std::string& node,
            const OwnerOf& owner);

  pid_t pid_ = -1;
  const char* devices_ = nullptr;
  Descriptor reports_;
  std::set<std::string> used_;   // PCI addresses of GPUs on which a process of the job was seen
  std::set<std::string> named_;  // of those that are members
  std::set<std::string> covered_;
  std::map<std::uint32_t, std::string> gpu_of_;  // by rank
};

// Whether CUDA_VISIBLE_DEVICES, if it is set, names a GPU: by its number or (the begin of) its UUID.
[[nodiscard]] bool visible(const char* devices, unsigned index, std::string_view uuid);

}  // namespace tocsin::adapters::wrap
