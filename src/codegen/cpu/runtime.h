// What generated code calls back into: parallel loops, long kernels, NumPy's loops, scalar libm by
// the array, libmvec. All of it is plain C calling convention and never throws.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "numlift/codegen/program.h"

namespace numlift::codegen::cpu {

// Name and address of everything that generated code may name. Built once.
const std::vector<std::pair<std::string, void*>>& runtime_symbols();

// ---- openmp.cpp ----

// A chunk of a parallel loop: iterations [begin, end). `chunk` numbers the chunks. 0, or 1 =
// restart.
using LoopBody = int32_t (*)(ProgramFrame* frame, void* captures, int64_t begin, int64_t end,
                             int64_t chunk);

// Runs the loop's chunks of `chunk` iterations each, on several threads when `cost` (simple
// operations in all) is worth it. fixed_chunks: the chunk number matters (partial results of
// reductions), so a serial run makes the same chunks; else it is one call.
int32_t parallel_for(LoopBody body, ProgramFrame* frame, void* captures, int64_t extent,
                     int64_t chunk, int64_t cost, int32_t fixed_chunks) noexcept;

// Iterations of one chunk: depends on sizes only, so that results do. At most kMaxChunks chunks.
int64_t chunk_size(int64_t extent, int64_t work, int64_t granule) noexcept;
inline constexpr int64_t kMaxChunks = 256;

// Loads libomp and registers the fork handler. Without libomp all loops run serially.
void initialize_openmp();

// ---- runtime.cpp ----

// The kernel with the GIL released, if the host gave call-backs for that.
int32_t run_long(ProgramFrame* frame, int32_t (*kernel)(ProgramFrame*)) noexcept;

// One of NumPy's inner loops, with the sizes and strides that it takes; 1 when it raised one of the
// conditions wanted.
int32_t run_numpy_loop(ProgramFrame* frame, void* function, void* data, char** args,
                       const int64_t* dims, int32_t dim_count, const int64_t* steps,
                       int32_t fp_checks) noexcept;

// How often a program's loops look at the clock; begins as zeros.
struct PollState {
  int64_t seen_ns = 0;   // at the last look
  int64_t asked_ns = 0;  // when the host was asked
  int64_t interval = 0;  // back edges between two looks
};
// A look at the clock; asks the host every few milliseconds. Back edges until the next look, or 0:
// the program must stop.
int64_t poll(ProgramFrame* frame, PollState* state) noexcept;

// From this many simple operations on (about 0.3 ms) a kernel lets other Python threads run.
inline constexpr int64_t kLongKernelCost = 2'000'000;

}  // namespace numlift::codegen::cpu
