// Which op computes a ufunc's loop: one of ours where it has NumPy's exact meaning for the dtype,
// else NumPy's own inner loop.
#include "symbolic/numpy_lowering.h"

#include <cstring>

#include "numlift/codegen/target.h"
#include "symbolic/numpy_ufuncs.h"

namespace numlift::frame_eval {

using numpy_shim::LoopTypes;

namespace {

// Arithmetic of booleans is logic.
std::optional<Op> bool_op(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMaximum:
    case Op::kFmax:
      return Op::kLogicalOr;
    case Op::kMultiply:
    case Op::kMinimum:
    case Op::kFmin:
      return Op::kLogicalAnd;
    case Op::kBitwiseAnd:
      return Op::kLogicalAnd;
    case Op::kBitwiseOr:
      return Op::kLogicalOr;
    case Op::kBitwiseXor:
      return Op::kLogicalXor;
    case Op::kInvert:
      return Op::kLogicalNot;
    default:
      return std::nullopt;
  }
}

bool is_known_number(Tracer& tracer, NodeId node) {
  const Node& known = tracer.graph().node(node);
  if (known.op != Op::kConstant) return false;
  const double value = PyFloat_AsDouble(scalar_object(attr_of<ConstantAttr>(known).value).get());
  return value == value;
}

// NumPy's clip: a NaN value stays, a NaN bound wins. Its loop for bounds that are numbers leaves a
// value that equals the bound; the loop for arrays of bounds takes the bound (the sign of zero).
NodeId lower_clip(Tracer& tracer, const std::vector<NodeId>& nodes, DType dtype) {
  const auto compare = [&](Op op, NodeId a, NodeId b) {
    return elementwise(tracer, op, {a, b}, DType::kBool);
  };
  const auto select = [&](NodeId condition, NodeId a, NodeId b) {
    return elementwise(tracer, Op::kSelect, {condition, a, b}, dtype);
  };
  const auto is_nan = [&](NodeId node) {
    return elementwise(tracer, Op::kIsnan, {node}, DType::kBool);
  };
  const NodeId low = nodes[1], high = nodes[2];
  const bool numbers = tracer.type_of(low).dims.empty() && tracer.type_of(high).dims.empty();
  if (numbers || !is_float(dtype)) {
    NodeId node = select(compare(Op::kLess, nodes[0], low), low, nodes[0]);
    node = select(compare(Op::kGreater, node, high), high, node);
    for (NodeId bound : {high, low}) {
      if (is_float(dtype) && !is_known_number(tracer, bound))
        node = select(is_nan(bound), bound, node);
    }
    return node;
  }
  const auto bounded = [&](NodeId value, NodeId bound, Op inside) {
    const NodeId keep = elementwise(tracer, Op::kLogicalOr,
                                    {is_nan(value), compare(inside, value, bound)}, DType::kBool);
    return select(keep, value, bound);
  };
  return bounded(bounded(nodes[0], low, Op::kGreater), high, Op::kLess);
}

}  // namespace

std::optional<Op> native_op(const std::string& name, const LoopTypes& loop) {
  if (loop.outputs.size() != 1) return std::nullopt;
  const DType dtype = loop.inputs[0];
  for (DType other : loop.inputs) {
    if (other != dtype) return std::nullopt;
  }
  Op op;
  if (name == "radians") {
    op = Op::kDeg2rad;
  } else if (name == "degrees") {
    op = Op::kRad2deg;
  } else if (name == "float_power") {
    op = Op::kPower;
  } else if (name == "fabs") {
    op = Op::kAbsolute;
  } else if (!parse_op(name, &op)) {
    return std::nullopt;
  }
  if (op_info(op).op_class != OpClass::kElementwise) return std::nullopt;
  if (op_info(op).arity != static_cast<int>(loop.inputs.size())) return std::nullopt;
  if (dtype == DType::kBool) {
    if (auto logic = bool_op(op)) op = *logic;
  }
  const DType out = loop.outputs[0];
  switch (op_info(op).result) {
    case ResultRule::kSame:
      if (out != dtype) return std::nullopt;
      break;
    case ResultRule::kBool:
      if (out != DType::kBool) return std::nullopt;
      break;
    case ResultRule::kReal:
      if (out != real_part(dtype)) return std::nullopt;
      break;
    case ResultRule::kOwn:
      if (op != Op::kBitwiseCount) return std::nullopt;
      break;
  }
  if (!codegen::native_supports(op, dtype)) return std::nullopt;
  return op;
}

bool native_reduction(Op op, DType dtype) { return codegen::native_supports(op, dtype); }

namespace {

// Of a constant, whatever it is cast to: its value.
std::optional<double> constant_value(Tracer& tracer, NodeId id) {
  while (tracer.graph().node(id).op == Op::kCast) id = tracer.graph().node(id).operands[0];
  const auto* constant = std::get_if<ConstantAttr>(&tracer.graph().node(id).attr);
  if (constant == nullptr) return std::nullopt;
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, constant->value.bytes.data(), sizeof value);
    return static_cast<double>(value);
  };
  switch (constant->value.dtype) {
    case DType::kInt64:
      return read(int64_t{});
    case DType::kFloat32:
      return read(float{});
    case DType::kFloat64:
      return read(double{});
    default:
      return std::nullopt;
  }
}

// NumPy's float power loop has shortcuts of its own when one exponent serves all elements (0.5 is a
// square root, also of -inf and -0.0). True when the exponent is a constant for which it has none.
bool is_ordinary_exponent(Tracer& tracer, NodeId id) {
  const auto value = constant_value(tracer, id);
  return value && *value != 0.5 && *value != 2.0;
}

bool has_shortcuts(Tracer& tracer, Op op, const std::vector<NodeId>& nodes) {
  if (op != Op::kPower || tracer.type_of(nodes[0]).rank() == 0) return false;
  const Type& exponent = tracer.type_of(nodes[1]);
  return is_float(exponent.dtype) && exponent.rank() == 0 &&
         !is_ordinary_exponent(tracer, nodes[1]);
}

}  // namespace

namespace {

// A constant small power of real floats as products: as exact as a pow within 4 ULP, and it
// overflows and vanishes where that does.
std::optional<NodeId> lower_power(Tracer& tracer, const std::vector<NodeId>& nodes, DType dtype) {
  const auto value = constant_value(tracer, nodes[1]);
  if (!is_float(dtype) || dtype == DType::kFloat16 || !value || (*value != 3.0 && *value != 4.0))
    return std::nullopt;
  const auto times = [&](NodeId a, NodeId b) {
    return elementwise(tracer, Op::kMultiply, {a, b}, dtype);
  };
  const NodeId square = times(nodes[0], nodes[0]);
  return times(square, *value == 3.0 ? nodes[0] : square);
}

}  // namespace

std::optional<NodeId> lower_loop(Tracer& tracer, BorrowedRef ufunc, const std::string& name,
                                 const LoopTypes& loop, std::vector<NodeId> nodes) {
  if (const auto op = native_op(name, loop); op && !has_shortcuts(tracer, *op, nodes)) {
    if (*op == Op::kPower) {
      if (const auto product = lower_power(tracer, nodes, loop.outputs[0])) return product;
    }
    return elementwise(tracer, *op, std::move(nodes), loop.outputs[0]);
  }
  if (name == "absolute" && loop.inputs[0] == DType::kBool) {
    const NodeId operand = nodes[0];
    return elementwise(tracer, Op::kLogicalOr, {operand, operand}, DType::kBool);
  }
  if (name == "clip" && !is_complex(loop.inputs[0]) && loop.inputs[0] != DType::kBool) {
    return lower_clip(tracer, nodes, loop.inputs[0]);
  }
  const auto inner = numpy_shim::inner_loop(ufunc, loop);
  if (!inner) return std::nullopt;
  auto& loops = tracer.graph().loops;
  LoopAttr attr;
  while (attr.loop < loops.size() && loops[attr.loop].name != inner->name) ++attr.loop;
  if (attr.loop == loops.size()) loops.push_back(*inner);
  return elementwise(tracer, Op::kNumpyLoop, std::move(nodes), loop.outputs[0], attr);
}

NodeId ufunc_node(Tracer& tracer, const char* name, std::vector<NodeId> operands) {
  const Ref ufunc = numpy_attribute(name);
  std::vector<OperandType> types;
  for (NodeId node : operands) types.push_back({tracer.type_of(node).dtype, false});
  const auto loop = numpy_shim::resolve_ufunc(ufunc, types);
  NUMLIFT_CHECK(loop, "numpy.{} has no loop", name);
  for (size_t k = 0; k < operands.size(); ++k) {
    NUMLIFT_CHECK(loop->inputs[k] == types[k].dtype, "numpy.{}: operand {} is not in loop dtype",
                  name, k);
  }
  const auto node = lower_loop(tracer, ufunc, callable_name(ufunc), *loop, std::move(operands));
  if (!node) throw_break("unsupported_numpy", fmt::format("numpy.{} without a loop", name));
  return *node;
}

}  // namespace numlift::frame_eval
