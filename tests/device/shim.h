// What CUDA C++ needs of its compiler, for a C++ compiler on the host: a block's threads take
// turns, from barrier to barrier. Printed in front of a module by fake_cuda.cpp.
#include <math.h>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ static

struct ShimIndex {
  unsigned x, y, z;
};
struct Shim {
  ShimIndex thread, block, blocks;
  void (*barrier)();
};
extern "C" {
__attribute__((visibility("default"))) Shim* numlift_shim;
}
#define threadIdx (numlift_shim->thread)
#define blockIdx (numlift_shim->block)
#define gridDim (numlift_shim->blocks)
#define __syncthreads() numlift_shim->barrier()
