#include "adapters/trace/probes.h"

#include "adapters/trace/kernel_tables.h"

namespace tocsin::adapters::trace {
namespace {

constexpr std::uint64_t delegated = kernel::flag_delegated, delegates = kernel::flag_delegates,
                        peer = kernel::flag_peer, old_string = kernel::flag_old_string;

enum Function : std::uint64_t {
  unknown,
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  gather,
  scatter,
  all_to_all,
  barrier,
  monitored_barrier,
  send,
  recv,
  functions,
};
static_assert(functions <= std::uint64_t{kernel::most_functions});
constexpr std::string_view names[functions] = {
    "",           "all_reduce", "broadcast",         "reduce", "all_gather", "reduce_scatter", "gather", "scatter",
    "all_to_all", "barrier",    "monitored_barrier", "send",   "recv"};

#define GLOO "_ZN4c10d16ProcessGroupGloo"
#define MPI "_ZN4c10d15ProcessGroupMPI"
// Names are mangled up to their arguments, which differ between versions; torch 2.15 renamed *_base to *_single.
constexpr Probe torch[] = {
    {GLOO "C1E", "c10d_gloo"},
    {GLOO "C2E", "c10d_gloo"},
    {GLOO "D2Ev", "c10d_end"},
    {MPI "C1E", "c10d_mpi"},
    {MPI "C2E", "c10d_mpi"},
    {MPI "D2Ev", "c10d_end"},
    {"_ZN4c10d12ProcessGroup12setGroupNameERKNSt7__cxx11", "c10d_name"},
    {"_ZN4c10d12ProcessGroup12setGroupNameERKSs", "c10d_name", old_string},
    {"_ZN4c10d4WorkC2E", "c10d_work"},
    {"_ZN4c10d4WorkC1E", "c10d_work"},
    {"_ZN4c10d4Work6finishE", "c10d_finish"},
    {"_ZN4c10d4Work14finishAndThrowE", "c10d_finish"},
    {"_ZN4c10d4Work4waitE", "c10d_wait"},
    {GLOO "8SendWork4waitE", "c10d_wait"},
    {GLOO "8RecvWork4waitE", "c10d_wait"},
    {GLOO "9allreduceE", "c10d_enter", all_reduce | delegated},
    {GLOO "16allreduce_sparseE", "c10d_enter", all_reduce},
    {GLOO "19allreduce_coalescedE", "c10d_enter", all_reduce},
    {GLOO "9broadcastE", "c10d_enter", broadcast},
    {GLOO "6reduceE", "c10d_enter", reduce},
    {GLOO "9allgatherE", "c10d_enter", all_gather | delegated},
    {GLOO "15_allgather_baseE", "c10d_enter", all_gather | delegates},
    {GLOO "17all_gather_singleE", "c10d_enter", all_gather | delegates},
    {GLOO "19allgather_coalescedE", "c10d_enter", all_gather},
    {GLOO "30allgather_into_tensor_coalescedE", "c10d_enter", all_gather | delegates | delegated},
    {GLOO "27all_gather_single_coalescedE", "c10d_enter", all_gather | delegates | delegated},
    {GLOO "14reduce_scatterE", "c10d_enter", reduce_scatter},
    {GLOO "20_reduce_scatter_baseE", "c10d_enter", reduce_scatter | delegates},
    {GLOO "21reduce_scatter_singleE", "c10d_enter", reduce_scatter | delegates},
    {GLOO "31reduce_scatter_tensor_coalescedE", "c10d_enter", reduce_scatter | delegates | delegated},
    {GLOO "31reduce_scatter_single_coalescedE", "c10d_enter", reduce_scatter | delegates | delegated},
    {GLOO "6gatherE", "c10d_enter", gather},
    {GLOO "7scatterE", "c10d_enter", scatter},
    {GLOO "8alltoallE", "c10d_enter", all_to_all},
    {GLOO "13alltoall_baseE", "c10d_enter", all_to_all},
    {GLOO "17all_to_all_singleE", "c10d_enter", all_to_all},
    {GLOO "7barrierE", "c10d_enter", barrier},
    {GLOO "4sendE", "c10d_enter", send | peer},
    {GLOO "4recvE", "c10d_enter", recv | peer},
    {GLOO "13recvAnysourceE", "c10d_enter", recv | peer},
    {MPI "9allreduceE", "c10d_enter", all_reduce},
    {MPI "9broadcastE", "c10d_enter", broadcast},
    {MPI "6reduceE", "c10d_enter", reduce},
    {MPI "9allgatherE", "c10d_enter", all_gather},
    {MPI "15_allgather_baseE", "c10d_enter", all_gather},
    {MPI "17all_gather_singleE", "c10d_enter", all_gather},
    {MPI "14reduce_scatterE", "c10d_enter", reduce_scatter},
    {MPI "20_reduce_scatter_baseE", "c10d_enter", reduce_scatter},
    {MPI "21reduce_scatter_singleE", "c10d_enter", reduce_scatter},
    {MPI "6gatherE", "c10d_enter", gather},
    {MPI "7scatterE", "c10d_enter", scatter},
    {MPI "8alltoallE", "c10d_enter", all_to_all},
    {MPI "13alltoall_baseE", "c10d_enter", all_to_all},
    {MPI "17all_to_all_singleE", "c10d_enter", all_to_all},
    {MPI "7barrierE", "c10d_enter", barrier},
};
#undef GLOO
#undef MPI

}  // namespace

std::span<const Probe> probes_of(LibraryKind kind) noexcept {
  if (kind == LibraryKind::torch) return torch;
  return {};
}

std::string_view function_name(std::uint64_t number) noexcept { return number < functions ? names[number] : ""; }

}  // namespace tocsin::adapters::trace
