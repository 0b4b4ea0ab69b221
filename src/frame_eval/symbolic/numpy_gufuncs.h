// Generalized ufuncs (np.matmul, np.vecdot, those behind np.linalg) as NumPy's own inner loops on
// the program's memory, without a call through Python.
#pragma once

#include "symbolic/tracer.h"

namespace numlift::frame_eval {

// gufunc(*operands). Null where the call is left to NumPy: several results, operands that are no
// arrays, more than one batch axis, sizes that do not fit together.
Sym call_gufunc(Tracer& tracer, BorrowedRef gufunc, std::span<const Sym> operands,
                std::optional<DType> dtype = std::nullopt);

}  // namespace numlift::frame_eval
