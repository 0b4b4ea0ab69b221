// Elementwise ops as LLVM instructions, for scalars and vectors alike, with the exact semantics of
// NumPy's ufunc loops. One file a kind of dtype; OpEmitter::emit() chooses.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>

#include "fp_checks.h"
#include "lanes.h"
#include "numlift/graph/op.h"

namespace numlift::codegen::cpu {

// Dtype of the result of `op` on operands of `loop_dtype`; `declared` where the op does not tell.
DType result_dtype(Op op, DType loop_dtype, DType declared);

class OpEmitter {
 public:
  OpEmitter(llvm::IRBuilder<>& builder, FpChecks& checks) : b_(builder), checks_(checks) {}

  // loop_dtype: dtype of the operands (of the selected values for Select). fp_checks matters to
  // integers here; the caller hands floating results to FpChecks::watch.
  LaneValue emit(Op op, DType loop_dtype, DType declared, uint8_t fp_checks,
                 std::span<const LaneValue> operands);
  LaneValue emit_cast(DType from, DType to, LaneValue value);

 private:
  using Operands = std::span<const LaneValue>;
  llvm::Value* emit_bool(Op op, Operands x);
  llvm::Value* emit_integer(Op op, DType dtype, uint8_t fp_checks, Operands x);
  llvm::Value* emit_integer_division(Op op, bool is_signed, uint8_t fp_checks, llvm::Value* a,
                                     llvm::Value* b);
  void check_overflow(Op op, bool is_signed, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_integer_power(bool is_signed, llvm::Value* base, llvm::Value* exponent);
  llvm::Value* emit_shift(Op op, bool is_signed, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_float(Op op, DType dtype, Operands x);
  llvm::Value* emit_float_division(Op op, llvm::Value* a, llvm::Value* b);
  LaneValue emit_complex(Op op, Operands x);
  LaneValue emit_complex_divide(LaneValue a, LaneValue b);
  LaneValue emit_complex_reciprocal(LaneValue a);
  llvm::Value* emit_complex_absolute(LaneValue a);
  // Comparisons, logical ops and tests: bool results for any dtype. Null: not such an op.
  llvm::Value* emit_predicate(Op op, DType dtype, Operands x);
  llvm::Value* is_true(DType dtype, LaneValue x);
  llvm::Value* float_to_integer(llvm::Value* value, DType to);
  llvm::Value* round_to_half(llvm::Value* value);
  // a * b + c rounded once where NumPy's vector code does that too.
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* number(llvm::Value* like, double value);
  llvm::Value* integer(llvm::Value* like, uint64_t value);

  llvm::IRBuilder<>& b_;
  FpChecks& checks_;
};

}  // namespace numlift::codegen::cpu
