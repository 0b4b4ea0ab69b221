// Products and norms that code of ours computes as a multiplication and a sum, fused like any other
// operation.
#pragma once

#include "symbolic/tracer.h"

namespace numlift::frame_eval {

// np.dot and np.matmul of vectors, or of a small matrix and a vector, of one dtype, in captured
// loops, where a call of BLAS costs more than the work. Null: left to NumPy's loops. Sums are ours:
// pairwise or in lanes, as those of np.sum.
Sym native_product(Tracer& tracer, const Sym& a, const Sym& b);

}  // namespace numlift::frame_eval
