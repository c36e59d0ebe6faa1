#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stream/rules/alert_lifecycle.h"
#include "stream/topology/topology.h"
#include "stream/values/archive.h"

namespace tocsin::stream {

class Judge;

// What rules of scope "job" carry from one attempt to the next. The state and the alert of a member are in the attempt
// that evaluated the rule for it last: an attempt takes them from the others before it evaluates. What is left of an
// attempt that goes is kept here. Owned by its Subject, and outlives its attempts' judges.
class JobRules {
 public:
  // A member by what names it: slots differ from attempt to attempt.
  struct Member {
    std::uint32_t rank = 0;
    std::string node, gpu, rack;
    static Member of(const Topology& topology, Level level, Slot slot);
    // Its slot, if it exists there.
    [[nodiscard]] std::optional<Slot> in(const Topology& topology, Level level) const;
    static void fields(auto& self, auto& archive) {
      archive(1, self.rank), archive(2, self.node), archive(3, self.gpu), archive(4, self.rack);
    }
  };
  struct State {
    Member member;
    std::vector<std::pair<std::string, double>> values;  // by name of the field
    static void fields(auto& self, auto& archive) { archive(1, self.member), archive(2, self.values); }
  };
  std::map<std::string, std::vector<State>> left;  // by rule
  AlertLifecycle::OfSubject lifecycles;            // of its attempts

  void enter(Judge* judge) { judges_.push_back(judge); }
  void leave(Judge* judge) { std::erase(judges_, judge); }
  [[nodiscard]] const std::vector<Judge*>& judges() const noexcept { return judges_; }

  [[nodiscard]] bool empty() const noexcept { return left.empty(); }
  void save(Writer& out) const;
  void load(Reader& in);

 private:
  std::vector<Judge*> judges_;
};

}  // namespace tocsin::stream
