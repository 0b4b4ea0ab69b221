// Which dtypes an elementwise op or reduction has a loop for, and what it gives.
#pragma once

#include <optional>
#include <span>

#include "numlift/graph/graph.h"

namespace numlift {

// For ops whose operands all have the loop dtype (not Select, Cast, MakeComplex, NumpyLoop).
bool op_accepts(Op op, DType loop_dtype);
// The result dtype the op table fixes for these operand dtypes; nullopt when the node states its
// own (Cast, NumpyLoop).
std::optional<DType> result_dtype(Op op, std::span<const DType> operands);
// "" when the operand dtypes fit the op, else why not.
std::string check_operand_dtypes(Op op, std::span<const DType> operands);
// The conditions (FpChecks) that NumPy could report in this op on this loop dtype; see FpChecks on
// integers. For Cast `loop_dtype` is the operand's.
uint8_t possible_conditions(Op op, DType loop_dtype, const Type& result);

}  // namespace numlift
