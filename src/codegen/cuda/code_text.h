// Words of CUDA C++: types, numbers, sizes, operations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "numlift/graph/graph.h"

namespace numlift::codegen::cuda {

// "f64", "c128", "bool".
std::string_view type_name(DType dtype);
// "1.5", "1.0f", "nl_half(0x3c00)", "c64(1.0f, -0.0f)".
std::string constant_code(const ScalarBits& constant);
// Of symbols named s<index>; brackets where it is more than one factor.
std::string size_code(const SizeExpr& size);
std::string size_factor(const SizeExpr& size);

// The expression for one operation, operands by name.
std::string op_code(Op op, DType loop_dtype, DType result,
                    const std::vector<std::string>& operands);
// Conditions, besides those that a floating result tells of, under which the program must restart.
std::vector<std::string> check_codes(Op op, DType loop_dtype, uint8_t fp_checks,
                                     const std::vector<std::string>& operands);
// What an infinite result of finite operands means: "true" (division by zero), "false" (overflow)
// or a condition.
std::string divides_by_zero_code(Op op, const std::vector<std::string>& operands);

}  // namespace numlift::codegen::cuda
