// A libnccl.so.2 that does nothing, with NCCL's names: pncclX is ncclX, and ncclBcast calls ncclBroadcast.
#include <cstddef>
#include <cstdlib>

struct ncclComm {
  int size, rank;
};
using Comm = ncclComm*;
struct ncclUniqueId {
  char bytes[128];
};

#define API(name, ...)                                                                      \
  extern "C" __attribute__((visibility("default"), alias(#name))) int p##name(__VA_ARGS__); \
  extern "C" __attribute__((visibility("default"), weak, noinline)) int name(__VA_ARGS__)

API(ncclCommInitRank, Comm* comm, int size, ncclUniqueId, int rank) {
  *comm = new ncclComm{size, rank};
  return 0;
}
API(ncclCommInitRankConfig, Comm* comm, int size, ncclUniqueId, int rank, void*) {
  *comm = new ncclComm{size, rank};
  return 0;
}
API(ncclCommInitAll, Comm* comms, int count, const int*) {
  for (int i = 0; i < count; ++i) comms[i] = new ncclComm{count, i};
  return 0;
}
API(ncclCommSplit, Comm, int color, int, Comm* comm, void*) {
  *comm = color < 0 ? nullptr : new ncclComm{0, 0};
  return 0;
}
API(ncclCommDestroy, Comm comm) {
  delete comm;
  return 0;
}
API(ncclAllReduce, const void*, void*, std::size_t, int, int, Comm comm, void*) { return comm == nullptr; }
API(ncclBroadcast, const void*, void*, std::size_t, int, int, Comm comm, void*) { return comm == nullptr; }
API(ncclBcast, void* buffer, std::size_t count, int type, int root, Comm comm, void* stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
API(ncclReduce, const void*, void*, std::size_t, int, int, int, Comm comm, void*) { return comm == nullptr; }
API(ncclAllGather, const void*, void*, std::size_t, int, Comm comm, void*) { return comm == nullptr; }
API(ncclReduceScatter, const void*, void*, std::size_t, int, int, Comm comm, void*) { return comm == nullptr; }
API(ncclSend, const void*, std::size_t, int, int, Comm comm, void*) { return comm == nullptr; }
API(ncclRecv, void*, std::size_t, int, int, Comm comm, void*) { return comm == nullptr; }
