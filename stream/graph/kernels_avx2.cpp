// The kernels for machines with AVX2.
#define TOCSIN_KERNEL_SET avx2_kernels
#define TOCSIN_KERNEL_NAME "avx2"
#include "stream/graph/kernels_loops.inc"
