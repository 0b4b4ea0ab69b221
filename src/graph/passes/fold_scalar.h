// One elementwise op on constants, exactly as NumPy computes it.
#pragma once

#include <optional>
#include <span>

#include "numlift/graph/scalar.h"

namespace numlift {

// nullopt for what is not folded: a dtype or op that is not handled, a floating-point condition,
// integer division by zero, a value on which NumPy's loops differ, an integer overflow unless
// `may_wrap`.
std::optional<ScalarBits> fold_scalar(Op op, std::span<const ScalarBits> operands, DType result,
                                      bool may_wrap);

}  // namespace numlift
