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
    {GLOO "14reduce_scatterE", "c10d_enter", reduce_scatter | delegates},
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

// At which arguments a call of NCCL has its communicator, count and root.
constexpr std::uint64_t at(std::uint64_t communicator, std::uint64_t count, std::uint64_t root = 0) {
  return communicator << kernel::communicator_shift | count << kernel::count_shift | root << kernel::root_shift;
}

constexpr Probe nccl[] = {
    {"_ZN4c10d16ProcessGroupNCCL8WorkNCCLC1E", "c10d_foreign"},
    {"_ZN4c10d16ProcessGroupNCCL8WorkNCCLC2E", "c10d_foreign"},
    {"ncclCommInitRank", "nccl_init"},
    {"ncclCommInitRankConfig", "nccl_init"},
    {"ncclCommInitRankScalable", "nccl_init_scalable"},
    {"ncclCommInitAll", "nccl_init_all"},
    {"ncclCommSplit", "nccl_split"},
    {"ncclCommDestroy", "nccl_end"},
    {"ncclCommAbort", "nccl_end"},
    {"ncclAllReduce", "nccl_call", all_reduce | at(6, 3)},
    {"ncclBroadcast", "nccl_call", broadcast | at(6, 3, 5)},
    {"ncclReduce", "nccl_call", reduce | at(7, 3, 6)},
    {"ncclAllGather", "nccl_call", all_gather | at(5, 3)},
    {"ncclReduceScatter", "nccl_call", reduce_scatter | at(6, 3)},
    {"ncclAlltoAll", "nccl_call", all_to_all | at(5, 3)},
    {"ncclGather", "nccl_call", gather | at(6, 3, 5)},
    {"ncclScatter", "nccl_call", scatter | at(6, 3, 5)},
    {"ncclSend", "nccl_call", send | peer | at(5, 2)},
    {"ncclRecv", "nccl_call", recv | peer | at(5, 2)},
};

enum Wait : std::uint64_t { context_wait, stream_wait, event_wait, copy_wait, waits };
constexpr std::string_view wait_names[waits] = {"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize",
                                                "cuMemcpyDtoH"};

constexpr std::uint64_t to_device = kernel::copy_to_device, to_host = kernel::copy_to_host,
                        on_device = kernel::copy_on_device, other_copy = kernel::copy_other;
constexpr Probe cuda[] = {
    {"cuCtxCreate_v2", "cuda_attach"},
    {"cuCtxCreate_v3", "cuda_attach"},
    {"cuCtxCreate_v4", "cuda_attach"},
    {"cuDevicePrimaryCtxRetain", "cuda_attach"},
    {"cuLaunchKernel", "cuda_launch"},
    {"cuLaunchKernelEx", "cuda_launch"},
    {"cuLaunchCooperativeKernel", "cuda_launch"},
    {"cuGraphLaunch", "cuda_graph"},
    {"cuMemAlloc_v2", "cuda_allocate"},
    {"cuMemAllocAsync", "cuda_allocate"},
    {"cuMemAllocFromPoolAsync", "cuda_allocate"},
    {"cuMemAllocManaged", "cuda_allocate"},
    {"cuMemAllocPitch_v2", "cuda_allocate"},
    {"cuMemCreate", "cuda_allocate"},
    {"cuMemcpyHtoD_v2", "cuda_copy", to_device},
    {"cuMemcpyHtoDAsync_v2", "cuda_copy", to_device},
    {"cuMemcpyDtoH_v2", "cuda_copy", to_host},
    {"cuMemcpyDtoHAsync_v2", "cuda_copy", to_host},
    {"cuMemcpyDtoD_v2", "cuda_copy", on_device},
    {"cuMemcpyDtoDAsync_v2", "cuda_copy", on_device},
    {"cuMemcpy", "cuda_copy", other_copy},
    {"cuMemcpyAsync", "cuda_copy", other_copy},
    {"cuMemcpy2D_v2", "cuda_copy_2d"},
    {"cuMemcpy2DUnaligned_v2", "cuda_copy_2d"},
    {"cuMemcpy2DAsync_v2", "cuda_copy_2d"},
    {"cuCtxSynchronize", "cuda_wait", context_wait},
    {"cuCtxSynchronize_v2", "cuda_wait", context_wait},
    {"cuStreamSynchronize", "cuda_wait", stream_wait},
    {"cuEventSynchronize", "cuda_wait", event_wait},
    {"cuMemcpyDtoH_v2", "cuda_wait", copy_wait},
};

}  // namespace

bool Probe::is_for(std::string_view function) const noexcept {
  if (!function.starts_with(name)) return false;
  const std::string_view rest = function.substr(name.size());
  return name.starts_with("_Z") || rest.empty() || rest == "_ptsz" || rest == "_ptds";
}

std::uint32_t Probe::call() const noexcept {
  const std::string_view text{program};
  if (text.starts_with("c10d")) return kernel::call_c10d;
  if (text.starts_with("nccl")) return kernel::call_nccl;
  if (text == "cuda_launch") return kernel::call_launch;
  if (text == "cuda_graph") return kernel::call_graph;
  if (text.starts_with("cuda_copy")) return kernel::call_copy;
  if (text == "cuda_allocate") return kernel::call_allocate;
  return text == "cuda_wait" ? kernel::call_wait : kernel::most_calls;
}

std::span<const Probe> probes_of(LibraryKind kind) noexcept {
  if (kind == LibraryKind::torch) return torch;
  if (kind == LibraryKind::nccl) return nccl;
  return cuda;
}

std::string_view wait_name(std::uint64_t number) noexcept { return number < waits ? wait_names[number] : ""; }

std::string_view call_name(std::uint32_t call) noexcept {
  constexpr std::string_view call_names[] = {"c10d",     "nccl",       "cuLaunchKernel",     "cuGraphLaunch",
                                             "cuMemcpy", "cuMemAlloc", "cuStreamSynchronize"};
  return call < std::size(call_names) ? call_names[call] : "";
}

std::string_view function_name(std::uint64_t number) noexcept { return number < functions ? names[number] : ""; }

}  // namespace tocsin::adapters::trace
