// trace_caller: calls the stub libraries as stdin says, and answers each line with "ok".
//   attach            takes a context
//   comm RANK SIZE    makes a communicator, the next of all
//   all SIZE          makes SIZE communicators of this process
//   split COLOR       of the first communicator
//   each              an ncclAllReduce in each communicator
//   destroy           the last communicator
//   run THREADS N     each thread N times: see `calls` below
//   calls N           N times, in the main thread
//   odd               one of each that `calls` has not
//   fork THREADS N    the same in a child, which answers with its pid, and ends with stdin
//   exec              the same program: counts begin again
//   wait              for the next line, in cudaStreamSynchronize
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

struct Id {
  char bytes[128];
};
extern "C" {
int ncclCommInitRank(void**, int, Id, int);
int ncclCommInitAll(void**, int, const int*);
int ncclCommSplit(void*, int, int, void**, void*);
int ncclCommDestroy(void*);
int ncclAllReduce(const void*, void*, std::size_t, int, int, void*, void*);
int pncclAllReduce(const void*, void*, std::size_t, int, int, void*, void*);
int ncclBcast(void*, std::size_t, int, int, void*, void*);
int ncclReduce(const void*, void*, std::size_t, int, int, int, void*, void*);
int ncclAllGather(const void*, void*, std::size_t, int, void*, void*);
int ncclSend(const void*, std::size_t, int, int, void*, void*);
int cudaSetDevice(int);
int cudaLaunchKernel(void*, void**, void*);
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int cudaStreamSynchronize(void*);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int cuLaunchKernel_ptsz(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                        void**);
int cuLaunchKernelEx(const void*, void*, void**, void**);
int cuGraphLaunch(void*, void*);
int cuMemAlloc_v2(void**, std::size_t);
int cuMemcpyAsync(void*, const void*, std::size_t, void*);
int cuMemcpy2DAsync_v2(const void*, void*);
}

namespace {

std::deque<void*> comms;  // each stays where NCCL writes it, as in the objects of PyTorch
std::deque<std::vector<void*>> sets;

// Two collectives, a send, two launches, 100 bytes to the device and 10 back: seven calls.
void calls(long count) {
  void* comm = comms.front();
  for (long i = 0; i < count; ++i) {
    ncclAllReduce(nullptr, nullptr, 1024, 7, 0, comm, nullptr);
    ncclReduce(nullptr, nullptr, 1024, 7, 0, 3, comm, nullptr);
    ncclSend(nullptr, 1, 7, 1, comm, nullptr);
    cudaLaunchKernel(nullptr, nullptr, nullptr);
    cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    cudaMemcpyAsync(nullptr, nullptr, 100, 1, nullptr);
    cudaMemcpyAsync(nullptr, nullptr, 10, 2, nullptr);
  }
}

void run(std::istream& words) {
  int threads = 0;
  long count = 0;
  words >> threads >> count;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(calls, count);
  for (auto& one : all) one.join();
}

void odd() {
  void* comm = comms.front();
  pncclAllReduce(nullptr, nullptr, 5, 0, 0, comm, nullptr);
  ncclAllGather(nullptr, nullptr, 6, 9, comm, nullptr);
  ncclBcast(nullptr, 7, 4, 2, comm, nullptr);
  cuLaunchKernel_ptsz(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  cuLaunchKernelEx(nullptr, nullptr, nullptr, nullptr);
  cuGraphLaunch(nullptr, nullptr);
  void* memory = nullptr;
  cuMemAlloc_v2(&memory, 1);
  cuMemcpyAsync(nullptr, nullptr, 1000, nullptr);
  const std::size_t plane[16] = {0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 30, 40};  // from the device to the host
  cuMemcpy2DAsync_v2(plane, nullptr);
}

}  // namespace

int main(int, char** arguments) {
  std::cin.sync_with_stdio(true);
  std::setvbuf(stdin, nullptr, _IONBF, 0);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words{line};
    std::string command;
    words >> command;
    if (command == "attach") cudaSetDevice(0);
    if (command == "comm") {
      int rank = 0, size = 0;
      words >> rank >> size;
      Id id{};
      std::memset(id.bytes, 17 + static_cast<int>(comms.size()), sizeof id.bytes);
      ncclCommInitRank(&comms.emplace_back(), size, id, rank);
    }
    if (command == "all") {
      int size = 0;
      words >> size;
      std::vector<void*>& made = sets.emplace_back(static_cast<std::size_t>(size));
      ncclCommInitAll(made.data(), size, nullptr);
      comms.insert(comms.end(), made.begin(), made.end());
    }
    if (command == "split") {
      int color = 0;
      words >> color;
      ncclCommSplit(comms.front(), color, 0, &comms.emplace_back(), nullptr);
      if (comms.back() == nullptr) comms.pop_back();
    }
    if (command == "each")
      for (void* comm : comms) ncclAllReduce(nullptr, nullptr, 1, 7, 0, comm, nullptr);
    if (command == "destroy") {
      ncclCommDestroy(comms.back());
      comms.pop_back();
    }
    if (command == "run") run(words);
    if (command == "calls") {
      long count = 0;
      words >> count;
      calls(count);
    }
    if (command == "odd") odd();
    if (command == "wait") cudaStreamSynchronize(reinterpret_cast<void*>(1));
    if (command == "exec") ::execl("/proc/self/exe", arguments[0], nullptr);
    if (command == "fork" && ::fork() == 0) {
      run(words);
      std::cout << "child " << ::getpid() << std::endl;
      ::pause();
    }
    if (command != "fork") std::cout << "ok" << std::endl;
  }
}
