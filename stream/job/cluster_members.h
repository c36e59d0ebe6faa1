#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/record.h"
#include "stream/values/symbols.h"
#include "stream/values/time.h"
#include "stream/windows/history.h"

namespace tocsin::stream {

// What the cluster knows of its nodes and GPUs besides their signals: when each was seen last, so that those that are
// gone can leave, and which job was on a node by its newest lines and events. Owned by the cluster's attempt.
class ClusterMembers {
 public:
  static constexpr Duration kept = std::chrono::hours{24 * 7};  // a member that is not seen for so long leaves
  static constexpr Duration between_looks = std::chrono::hours{1};

  explicit ClusterMembers(Time start) : next_look_(row_end(start + Duration{1}, between_looks)) {}

  void see(Level level, std::span<const Slot> slots, Time arrival);
  // Nobody could see anyone in this time.
  void gap(Time from, Time to);
  // The job of the entry is on the nodes of its lines and events; where it names none, nobody knows which is.
  void place(const Entry& entry);
  // Adds the job on the node to the fields of an event there.
  void name_job(std::string_view node, Symbols& symbols, std::vector<EventField>& fields) const;

  [[nodiscard]] Time next_look() const noexcept { return next_look_; }
  // Retires members that were not seen for long, and GPUs that are on another node now; `leaving` runs before each
  // leaves.
  void look(Topology& topology, const std::function<void(Level, Slot)>& leaving);

  void save(Writer& out) const { fields(*this, out); }
  void load(Reader& in) { fields(*this, in); }

 private:
  void place(std::string_view node, std::string_view job);
  static void fields(auto& self, auto& archive) {
    archive(1, self.next_look_), archive(2, self.nodes_), archive(3, self.gpus_), archive(4, self.jobs_);
  }
  [[nodiscard]] std::vector<Time>& seen(Level level) noexcept { return level == Level::gpu ? gpus_ : nodes_; }

  Time next_look_;
  std::vector<Time> nodes_, gpus_;                        // by slot: when it was seen last
  std::map<std::string, std::string, std::less<>> jobs_;  // by node
};

}  // namespace tocsin::stream
