#pragma once

#include <vector>

#include "stream/graph/kernels.h"
#include "stream/graph/operations.h"
#include "stream/topology/topology.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// Reductions across members. The result has one value per group; of peers, every member has its own group's value, and members
// without a group have none. Keeps the room that members of scattered groups are gathered in; one an Evaluator.
//
// Columns: of the known members; a count is never unknown but over peers, all else is where none is known; peers, and median, mad,
// quantile and spread of any group, need three. Masks: exact with unknown members; a group without members, and peers of fewer than
// three, are unknown; a count is of the known members.
class GroupFold {
 public:
  struct Of {
    const Groups& groups;
    bool peers = false;
    bool reserved = false;  // slot 0 is the reserved member: it takes part only where its value is known
  };

  void column(Op op, double q, Of of, Column in, std::span<double> out);    // g_*
  void truths(Op op, Operand limit, Of of, Mask in, std::span<Truth> out);  // m_any m_all m_at_least m_at_most
  void count(Of of, Mask in, std::span<double> out);                        // m_count

 private:
  // The values of these members, side by side.
  const double* together(Column in, std::span<const Slot> members);
  const Truth* together(Mask in, std::span<const Slot> members);
  double fold(Op op, double q, bool peers, const double* x, std::size_t n);
  Kernels::Tally tally(const Of& of, Mask in, std::span<const Slot> members);

  std::vector<double> numbers_, scratch_;
  std::vector<Truth> truths_;
};

}  // namespace tocsin::stream
