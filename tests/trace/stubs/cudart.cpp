// A libcudart.so.12 whose calls are calls of the driver, as the real one's are.
#include <cstddef>

#define DRIVER(name, ...) extern "C" int name(__VA_ARGS__)
#define API(name, ...) extern "C" __attribute__((visibility("default"), noinline)) int name(__VA_ARGS__)

DRIVER(cuDevicePrimaryCtxRetain, void**, int);
DRIVER(cuLaunchKernel, void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
       void**);
DRIVER(cuMemcpyHtoDAsync_v2, void*, const void*, std::size_t, void*);
DRIVER(cuMemcpyDtoHAsync_v2, void*, const void*, std::size_t, void*);
DRIVER(cuStreamSynchronize, void*);

API(cudaSetDevice, int) {
  void* context = nullptr;
  return cuDevicePrimaryCtxRetain(&context, 0);
}
API(cudaLaunchKernel, void* function, void** arguments, void* stream) {
  return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}
API(cudaMemcpyAsync, void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return kind == 1 ? cuMemcpyHtoDAsync_v2(to, from, bytes, stream) : cuMemcpyDtoHAsync_v2(to, from, bytes, stream);
}
API(cudaStreamSynchronize, void* stream) {
  const int failed = cuStreamSynchronize(stream);
  return failed + 0 * (stream != nullptr);
}
