#include "stream/graph/group_fold.h"

#include <algorithm>
#include <cassert>

namespace tocsin::stream {
namespace {

constexpr std::size_t quorum = 3;  // below it there is no typical value

bool adjoining(std::span<const Slot> members) {
  return members.back() - members.front() + 1 == members.size();
}  // members ascend

double number_or_absent(double x) { return is_number(x) ? x : absent; }

}  // namespace

const double* GroupFold::together(Column in, std::span<const Slot> members) {
  if (adjoining(members)) return in.data() + members.front();
  if (numbers_.size() < in.size()) numbers_.resize(in.size());
  for (std::size_t i = 0; i < members.size(); ++i) numbers_[i] = in[members[i]];
  return numbers_.data();
}

const Truth* GroupFold::together(Mask in, std::span<const Slot> members) {
  if (adjoining(members)) return in.data() + members.front();
  if (truths_.size() < in.size()) truths_.resize(in.size());
  for (std::size_t i = 0; i < members.size(); ++i) truths_[i] = in[members[i]];
  return truths_.data();
}

double GroupFold::fold(Op op, double q, bool peers, const double* x, std::size_t n) {
  const Kernels& kernel = kernels();
  if (op == Op::g_count) {
    const std::size_t count = kernel.count_present(x, n);
    return peers && count < quorum ? absent : static_cast<double>(count);
  }
  if (scratch_.size() < n) scratch_.resize(n);
  if (op == Op::g_median) return kernel.quantile(x, n, 0.5, scratch_.data());
  if (op == Op::g_quantile) return kernel.quantile(x, n, q, scratch_.data());
  if (op == Op::g_mode) return peers && kernel.count_known(x, n) < quorum ? absent : mode(x, n);
  if (op == Op::g_mad) return kernel.mad(x, n, scratch_.data());
  if (peers || op == Op::g_mean || op == Op::g_spread) {
    const std::size_t known = kernel.count_known(x, n);
    if ((peers || op == Op::g_spread) && known < quorum) return absent;
    if (op == Op::g_mean) return known == 0 ? absent : number_or_absent(kernel.sum(x, n) / static_cast<double>(known));
  }
  switch (op) {
    case Op::g_sum: return kernel.sum(x, n);
    case Op::g_min: return kernel.min(x, n);
    case Op::g_max: return kernel.max(x, n);
    case Op::g_spread: return number_or_absent(kernel.max(x, n) - kernel.min(x, n));
    default: assert(false); return absent;
  }
}

double GroupFold::mode(const double* x, std::size_t n) {
  const auto end = std::remove_copy_if(x, x + n, scratch_.begin(), is_nan);
  if (end == scratch_.begin()) return absent;
  if (std::all_of(scratch_.begin(), end, [&](double y) { return y == scratch_.front(); })) return scratch_.front();
  std::sort(scratch_.begin(), end);
  const auto how_often = [&](double y) {
    const auto [first, last] = std::equal_range(scratch_.begin(), end, y);
    return last - first;
  };
  std::ptrdiff_t most = 0;
  for (auto at = scratch_.begin(); at != end; at += how_often(*at)) most = std::max(most, how_often(*at));
  return *std::find_if(x, x + n, [&](double y) { return is_number(y) && how_often(y) == most; });
}

void GroupFold::column(Op op, double q, Of of, Column in, std::span<double> out) {
  if (of.peers) std::fill(out.begin(), out.end(), absent);
  for (std::size_t group = 0; group < of.groups.count(); ++group) {
    const auto members = of.groups.of(group);
    const double nothing = op == Op::g_count ? 0 : absent;
    const double value = members.empty() ? nothing : fold(op, q, of.peers, together(in, members), members.size());
    if (!of.peers) out[group] = value;
    else
      for (const Slot member : members) out[member] = value;
  }
}

Kernels::Tally GroupFold::tally(const Of& of, Mask in, std::span<const Slot> members) {
  if (of.reserved && !members.empty() && members.front() == reserved_slot && in[reserved_slot] == Truth::unknown)
    members = members.subspan(1);
  if (members.empty()) return {0, 0, 0};
  return kernels().tally(together(in, members), members.size());
}

void GroupFold::truths(Op op, Operand limit, Of of, Mask in, std::span<Truth> out) {
  if (of.peers) std::fill(out.begin(), out.end(), Truth::unknown);
  for (std::size_t group = 0; group < of.groups.count(); ++group) {
    const auto members = of.groups.of(group);
    const auto [yes, no, unknown] = tally(of, in, members);
    const auto answer = [&, yes = yes, no = no, unknown = unknown](std::size_t place) {
      if (yes + no + unknown < (of.peers ? quorum : 1)) return Truth::unknown;
      const auto least = static_cast<double>(yes), most = static_cast<double>(yes + unknown);
      switch (op) {
        case Op::m_any: return yes > 0 ? Truth::yes : unknown > 0 ? Truth::unknown : Truth::no;
        case Op::m_all: return no > 0 ? Truth::no : unknown > 0 ? Truth::unknown : Truth::yes;
        case Op::m_at_least: {
          const double n = limit.values[limit.one_for_all ? 0 : place];
          return least >= n ? Truth::yes : most < n ? Truth::no : Truth::unknown;
        }
        case Op::m_at_most: {
          const double n = limit.values[limit.one_for_all ? 0 : place];
          return least > n ? Truth::no : most <= n ? Truth::yes : Truth::unknown;
        }
        default: assert(false); return Truth::unknown;
      }
    };
    if (!of.peers) out[group] = answer(group);
    else
      for (const Slot member : members) out[member] = answer(member);
  }
}

void GroupFold::count(Of of, Mask in, std::span<double> out) {
  if (of.peers) std::fill(out.begin(), out.end(), absent);
  for (std::size_t group = 0; group < of.groups.count(); ++group) {
    const auto members = of.groups.of(group);
    const auto [yes, no, unknown] = tally(of, in, members);
    const double value = yes + no < (of.peers ? quorum : 1) ? absent : static_cast<double>(yes);
    if (!of.peers) out[group] = value;
    else
      for (const Slot member : members) out[member] = value;
  }
}

}  // namespace tocsin::stream
