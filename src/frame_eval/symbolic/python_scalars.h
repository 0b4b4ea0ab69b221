// Arithmetic on Python numbers that are known only at run time: ints as size expressions, floats
// and complex numbers as scalar nodes. Where Python would raise (division by zero, overflow of **),
// a check is left in the graph that stops the program, so that CPython runs the call; where the
// outcome is needed now, the numbers are specialised.
#pragma once

#include <functional>

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// A Python number: run-time (kSize, Python kScalar) or a constant bool, int, float or complex.
bool is_python_number(const Sym& value);
bool is_runtime_number(const Sym& value);

// a <op> b as Python computes it on real objects whose operators run no user code. Throws Break
// where Python raises.
Ref python_binary(int nb_op, BorrowedRef a, BorrowedRef b);

// Both are Python numbers and at least one is run-time. nb_op: CPython's NB_ number below 13.
Sym number_binary(Interpreter& interpreter, int nb_op, const Sym& a, const Sym& b);
enum class NumberUnary : uint8_t { kNegative, kPositive, kInvert, kAbsolute };
Sym number_unary(Interpreter& interpreter, NumberUnary op, const Sym& a);
// compare: 0 <, 1 <=, 2 ==, 3 !=, 4 >, 5 >=. A constant bool, or a run-time one where the operands
// were computed from arrays.
Sym number_compare(Interpreter& interpreter, int compare, const Sym& a, const Sym& b);
bool number_truth(Interpreter& interpreter, const Sym& value, const std::string& reason);
// int(x), float(x), complex(x), bool(x) of a run-time number.
Sym number_convert(Interpreter& interpreter, PyTypeObject* type, const Sym& value);
// The number that it is now, guarded; throws Break when it was computed from arrays.
Sym specialize_number(Interpreter& interpreter, const Sym& value, const std::string& reason);

// How Python computes a number from its operands. A decision on the number takes Python's very
// value, not the graph's.
using PythonCompute = std::function<Ref(std::span<const Ref>)>;
// The float that a node of these numbers gives; of floating-point conditions only `checks` are
// looked for.
Sym float_node(Interpreter& interpreter, Op op, const std::vector<Sym>& numbers, uint8_t checks,
               PythonCompute compute);
// The node of a number as a float64; ints are rounded as Python does.
NodeId float_operand(Interpreter& interpreter, const Sym& number);

}  // namespace numlift::frame_eval
