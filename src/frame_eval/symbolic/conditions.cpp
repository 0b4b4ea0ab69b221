#include "symbolic/conditions.h"

#include "numlift/graph/scalar.h"
#include "symbolic/frame_state.h"
#include "symbolic/numpy_common.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

std::optional<NodeId> run_time_truth(Interpreter& interpreter, const Sym& value) {
  Tracer& tracer = interpreter.tracer;
  NodeId node = kNoNode;
  if (value->kind == SymKind::kSize) {
    node = tracer.size_node(as<SizeValue>(value).expr);
  } else if (value->kind == SymKind::kScalar) {
    node = as<ScalarValue>(value).node;
  } else {
    return std::nullopt;
  }
  const Type type = tracer.type_of(node);
  if (type.dtype == DType::kBool) return node;
  ScalarBits zero;
  zero.dtype = type.dtype;
  return tracer.append(Op::kNotEqual, {node, constant_node(tracer, zero, type.value_kind)},
                       NoAttr{}, py_scalar_type(DType::kBool));
}

std::optional<bool> decide_or_branch(Interpreter& interpreter, const Sym& value,
                                     const std::function<bool(NodeId)>& branch) {
  Tracer& tracer = interpreter.tracer;
  if (value->kind == SymKind::kGrownList)
    return decide_or_branch(interpreter, length_of(interpreter, value), branch);
  if (value->kind == SymKind::kSize && tracer.is_run_time(as<SizeValue>(value).expr)) {
    const auto always =
        tracer.holds_always(SizeGuard::Relation::kNotEqual, as<SizeValue>(value).expr, 0,
                            "truth of an int at " + interpreter.location_text());
    if (always) return *always;
    if (branch(*run_time_truth(interpreter, value))) return std::nullopt;
  }
  try {
    return truth(interpreter, value);
  } catch (const Break& reason) {
    const bool needs_run = reason.category == "generic_jump" || reason.category == "data_dependent";
    const auto condition = needs_run && value->kind == SymKind::kScalar
                               ? run_time_truth(interpreter, value)
                               : std::nullopt;
    if (condition && branch(*condition)) return std::nullopt;
    throw;
  }
}

Sym select_number(Tracer& tracer, NodeId condition, const Sym& a, const Sym& b) {
  const auto x = state_type(a), y = state_type(b);
  const auto type = x && y ? join(*x, *y) : std::nullopt;
  if (!type || type->kind == StateKind::kArray)
    throw_break("data_dependent", "a choice between values that are no numbers of one kind");
  const Type made = type->kind == StateKind::kInt ? py_scalar_type(DType::kInt64) : type->type;
  const Sym value = tracer.new_scalar(tracer.append(
      Op::kSelect,
      {condition, number_node(tracer, a, made.dtype), number_node(tracer, b, made.dtype)}, NoAttr{},
      made));
  as<ScalarValue>(value).either = type->either;
  return value;
}

}  // namespace numlift::frame_eval
