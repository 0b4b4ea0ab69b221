// Elementary functions on float32 and float64: glibc's libmvec for vectors, libm for scalars.
//
// A function is used from libmvec only if tests found it within 4 ULP with libm's special values
// (vector_math.cpp lists the exceptions); otherwise its lanes go through libm one by one.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "numlift/graph/op.h"

namespace numlift::codegen::cpu {

// libm's name of the op ("sin" for float64; float32 has the f suffix); "" if it is no such
// function.
std::string_view math_function_name(Op op);

// Emits the call for one or two operands of type float or double, or vectors of these.
llvm::Value* emit_math_call(llvm::IRBuilder<>& builder, std::string_view name,
                            std::span<llvm::Value* const> operands);
// As above, always through libm.
llvm::Value* emit_libm_call(llvm::IRBuilder<>& builder, std::string_view name,
                            std::span<llvm::Value* const> operands);

// Complex function of the op ("exp"), in place on the pair; "" if there is none.
std::string_view complex_function_name(Op op);
std::pair<llvm::Value*, llvm::Value*> emit_complex_call(llvm::IRBuilder<>& builder,
                                                        std::string_view name, llvm::Value* re,
                                                        llvm::Value* im);

void append_math_symbols(std::vector<std::pair<std::string, void*>>* table);

}  // namespace numlift::codegen::cpu
