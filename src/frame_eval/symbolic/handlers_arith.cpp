// Operators, comparisons, truth.
#include "symbolic/conditions.h"
#include "symbolic/interpreter.h"
#include "symbolic/operators.h"

namespace numlift::frame_eval {

namespace {

constexpr int kFirstInPlace = 13;

void binary_op(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym right = frame.pop(), left = frame.pop();
  const bool in_place = instruction.arg >= kFirstInPlace;
  frame.push(binary_operation(interpreter, instruction.arg - (in_place ? kFirstInPlace : 0),
                              in_place, left, right));
}

template <UnaryOp op>
void unary(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym value = frame.pop();
  frame.push(unary_operation(interpreter, op, value));
}

void unary_not(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym value = frame.pop();
  const auto known = decide_or_branch(interpreter, value, [&](NodeId condition) {
    if (!interpreter.tracer.in_region()) return false;
    frame.push(interpreter.tracer.new_scalar(interpreter.tracer.append(
        Op::kLogicalNot, {condition}, NoAttr{}, py_scalar_type(DType::kBool))));
    return true;
  });
  if (known) frame.push(interpreter.boolean(!*known));
}

void to_bool(Interpreter& interpreter, Frame& frame, const Instruction&) {
  // As with comparisons: a jump on it follows.
  const SymKind kind = frame.peek()->kind;
  if (kind == SymKind::kScalar || kind == SymKind::kSize || kind == SymKind::kGrownList) return;
  Sym value = frame.pop();
  frame.push(interpreter.boolean(truth(interpreter, value)));
}

void compare_op(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym right = frame.pop(), left = frame.pop();
  // Where the result is to be made a bool, a jump on it follows: the truth is asked for there, so
  // that a break leaves the comparison itself in the graph.
  frame.push(compare_operation(interpreter, instruction.arg, left, right));
}

void is_op(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym right = frame.pop(), left = frame.pop();
  frame.push(interpreter.boolean(is_identical(interpreter, left, right) != (instruction.arg == 1)));
}

void contains_op(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym container = frame.pop(), item = frame.pop();
  frame.push(interpreter.boolean(contains(interpreter, container, item) != (instruction.arg == 1)));
}

}  // namespace

void install_arith(HandlerTable& table) {
  auto set = [&](Instr op, InstructionHandler handler) {
    table[static_cast<size_t>(op)] = handler;
  };
  set(Instr::kBinaryOp, binary_op);
  set(Instr::kUnaryNegative, unary<UnaryOp::kNegative>);
  set(Instr::kUnaryPositive, unary<UnaryOp::kPositive>);
  set(Instr::kUnaryInvert, unary<UnaryOp::kInvert>);
  set(Instr::kUnaryNot, unary_not);
  set(Instr::kToBool, to_bool);
  set(Instr::kCompareOp, compare_op);
  set(Instr::kIsOp, is_op);
  set(Instr::kContainsOp, contains_op);
}

}  // namespace numlift::frame_eval
