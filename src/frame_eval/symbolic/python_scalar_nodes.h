// For the files of arithmetic on Python numbers: nodes, and the numbers that they are computed
// from.
#pragma once

#include "symbolic/python_scalars.h"

namespace numlift::frame_eval {

DType dtype_of_number(const Sym& value);
NodeId constant_node(Interpreter& interpreter, double value);
// Of floating-point conditions only `checks` are looked for.
NodeId scalar_node(Interpreter& interpreter, Op op, std::vector<NodeId> operands, DType dtype,
                   uint8_t checks);
// The number of that node; a decision on it computes it from the operands as Python does.
Sym computed(Interpreter& interpreter, NodeId node, std::vector<Sym> operands,
             PythonCompute compute);
// Stops the program where `divisor` is zero (1 / divisor raises that flag, and only then).
void check_nonzero(Interpreter& interpreter, const Sym& divisor);

// ---- complex numbers (python_complex.cpp)
NodeId complex_operand(Interpreter& interpreter, const Sym& value);
// nullopt: left to Python.
std::optional<Sym> complex_binary(Interpreter& interpreter, int nb_op, const Sym& a, const Sym& b);

}  // namespace numlift::frame_eval
