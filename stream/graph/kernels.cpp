#include "stream/graph/kernels.h"

namespace tocsin::stream {

extern const Kernels baseline_kernels, avx2_kernels;  // of kernels_baseline.cpp and kernels_avx2.cpp

namespace {

bool runs_avx2() noexcept { return __builtin_cpu_supports("avx2") != 0; }

const Kernels*& in_use() noexcept {
  static const Kernels* kernels = runs_avx2() ? &avx2_kernels : &baseline_kernels;
  return kernels;
}

}  // namespace

const Kernels& kernels() noexcept { return *in_use(); }

bool choose_kernels(std::string_view name) noexcept {
  if (name == baseline_kernels.name) in_use() = &baseline_kernels;
  else if (name == avx2_kernels.name && runs_avx2()) in_use() = &avx2_kernels;
  else return false;
  return true;
}

double natural_logarithm(double x) noexcept {
  double result;
  baseline_kernels.log(&x, &result, 1);
  return result;
}

}  // namespace tocsin::stream
