// The kernels for every x86-64.
#define TOCSIN_KERNEL_SET baseline_kernels
#define TOCSIN_KERNEL_NAME "baseline"
#include "stream/graph/kernels_loops.inc"
