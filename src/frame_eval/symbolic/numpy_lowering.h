// One resolved ufunc loop as a graph node.
#pragma once

#include "numlift/numpy_shim/promotion.h"
#include "symbolic/numpy_common.h"

namespace numlift::frame_eval {

// Nodes in the loop's input dtypes, with the result's dims or rank 0. nullopt: neither code of our
// own nor an inner loop of NumPy's: call the ufunc itself.
std::optional<NodeId> lower_loop(Tracer& tracer, BorrowedRef ufunc, const std::string& name,
                                 const numpy_shim::LoopTypes& loop, std::vector<NodeId> nodes);
bool native_reduction(Op op, DType dtype);
// The op that computes this loop with code of our own, if any.
std::optional<Op> native_op(const std::string& name, const numpy_shim::LoopTypes& loop);

}  // namespace numlift::frame_eval
