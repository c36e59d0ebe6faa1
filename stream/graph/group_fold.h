#pragma once

#include <vector>

#include "stream/graph/kernels.h"
#include "stream/graph/operations.h"
#include "stream/topology/topology.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// Reductions across members. The result has one value per group. Of peers, every member has its group's value; a member
// without a group has none. Owned by an Evaluator; keeps the buffer in which members of scattered groups are gathered.
//
// Columns: over the known members. Unknown where none is known, except for a count (of peers it is unknown, too).
// Peers, and median, mad, quantile and spread of any group, need three known members. Masks: exact in the presence of
// unknown members; unknown for a group without members and for peers of fewer than three; a count is over the known
// members.
class GroupFold {
 public:
  struct Of {
    const Groups& groups;
    bool peers = false;
    bool reserved = false;  // slot 0 is the reserved member: counts only where its value is known
  };

  void column(Op op, double q, Of of, Column in, std::span<double> out);    // g_*
  void truths(Op op, Operand limit, Of of, Mask in, std::span<Truth> out);  // m_any m_all m_at_least m_at_most
  void count(Of of, Mask in, std::span<double> out);                        // m_count

 private:
  // The values of these members as one array.
  const double* together(Column in, std::span<const Slot> members);
  const Truth* together(Mask in, std::span<const Slot> members);
  double mode(const double* x, std::size_t n);
  double fold(Op op, double q, bool peers, const double* x, std::size_t n);
  Kernels::Tally tally(const Of& of, Mask in, std::span<const Slot> members);

  std::vector<double> numbers_, scratch_;
  std::vector<Truth> truths_;
};

}  // namespace tocsin::stream
