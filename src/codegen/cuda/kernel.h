// A loop nest as CUDA C++: one kernel or several that run one after the other.
#pragma once

#include <string>
#include <vector>

#include "numlift/codegen/program.h"

namespace numlift::codegen::cuda {

inline constexpr int kBlockThreads = 256;
// Of a reduction of the whole nest: what one block leaves, and blocks at most. The number of blocks
// depends on the extent only, so that the result does, too.
inline constexpr int64_t kPartialBytes = 32;
inline constexpr int64_t kMostPartials = 1024;
inline constexpr int64_t kIterationsPerPartial = 4096;

// A member of the parameter struct: 8 bytes each, a complex128 scalar 16.
struct KernelParameter {
  enum class Kind : uint8_t {
    kBuffer,    // memory of buffer `index`
    kPrivate,   // scratch of buffer `index` for all blocks (threads) of the grid
    kSymbol,    // value of symbol `index`
    kScalar,    // scalar input `index`, of `dtype`
    kScratch,   // the nest's own: what its kernels hand to each other
    kPartials,  // number of blocks of the reduction kernel before
    kStatus,    // an i32 that becomes 1 when the program must restart
  };
  Kind kind = Kind::kBuffer;
  uint32_t index = 0;
  DType dtype = DType::kInt64;
  bool operator==(const KernelParameter&) const = default;
};

struct Kernel {
  enum class Shape : uint8_t {
    kThreads,   // a thread an iteration (or several, one after the other)
    kBlocks,    // a block an iteration
    kPartials,  // one reduction over all iterations: each block leaves its part
    kOneBlock,
    kOneThread,
  };
  std::string name;
  Shape shape = Shape::kThreads;
  SizeExpr iterations;  // kThreads, kBlocks, kPartials
  std::vector<KernelParameter> parameters;
  bool has_barriers = false;
  std::string text;
};

struct NestKernels {
  std::vector<Kernel> kernels;
  int64_t scratch_bytes = 0;
  // Buffers, each once.
  std::vector<BufferId> read, written;
  uint32_t location = 0;  // of the last operation: the user's line for messages
};

// Kernels named `<name>_0`, `<name>_1`, ...
NestKernels print_kernels(const Program& program, const LoopNest& nest, const std::string& name);

}  // namespace numlift::codegen::cuda
