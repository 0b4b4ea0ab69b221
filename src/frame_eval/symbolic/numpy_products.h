// Products of vectors and matrices in captured loops, where a call of BLAS costs more than the
// work.
#pragma once

#include "symbolic/tracer.h"

namespace numlift::frame_eval {

// np.dot and np.matmul of vectors, or of a matrix and a vector, of one dtype. Null: left to NumPy.
// Sums are ours: pairwise or in lanes, as those of np.sum.
Sym native_product(Tracer& tracer, const Sym& a, const Sym& b, bool warns);

}  // namespace numlift::frame_eval
