// Python ints that the program computes: int64 scalar nodes. Python's ints have no bounds: where a
// result does not fit, or Python would raise, the program restarts.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

bool is_int_node(const Sym& value);
// An int (or bool), constant or of the run: its int64 node. nullopt: it is none, or does not fit.
std::optional<NodeId> int_operand(Interpreter& interpreter, const Sym& value);

// Both are ints, one of them known only when the program runs. nullopt: not traced.
std::optional<Sym> int_node_binary(Interpreter& interpreter, int nb_op, const Sym& a, const Sym& b);
std::optional<Sym> int_node_unary(Interpreter& interpreter, Op op, const Sym& a);
// A run-time Python bool. compare as in number_compare.
Sym int_node_compare(Interpreter& interpreter, int compare, const Sym& a, const Sym& b);
// Both exactly, as floats: the program restarts for ints beyond 2**53.
NodeId exact_float_operand(Interpreter& interpreter, const Sym& number);

}  // namespace numlift::frame_eval
