#include "symbolic/transform_calls.h"

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/pure.h"
#include "symbolic/transforms.h"

namespace numlift::frame_eval {
namespace {

using Intrinsic = Sym (*)(Interpreter& interpreter, const std::vector<Sym>& arguments);

std::string text_of(const Sym& value) { return utf8_text(object_of(value)); }

std::string shape_text(Tracer& tracer, const Type& type) {
  std::string text;
  for (const SizeExpr& dim : type.dims) {
    if (!text.empty()) text += ", ";
    text += std::to_string(tracer.hint(dim));
  }
  return type.rank() == 1 ? "(" + text + ",)" : "(" + text + ")";
}

std::string dtype_name(DType dtype) {
  std::string text;
  switch (kind_of(dtype)) {
    case DTypeKind::kBool:
      return "bool";
    case DTypeKind::kSigned:
      text = "int";
      break;
    case DTypeKind::kUnsigned:
      text = "uint";
      break;
    case DTypeKind::kFloat:
      text = "float";
      break;
    case DTypeKind::kComplex:
      text = "complex";
      break;
  }
  return text + std::to_string(8 * item_size(dtype));
}

// The same value in a node of its own, on which nothing before it depends.
Sym own_value(Tracer& tracer, NodeId node, AxisOrder order) {
  const Type type = tracer.type_of(node);
  const NodeId own = tracer.append(Op::kCast, {node}, NoAttr{}, type);
  return type.value_kind == ValueKind::kArray ? tracer.new_array(own, std::move(order))
                                              : tracer.new_scalar(own);
}

// variable(value, what): stands for `value` in the function that is differentiated.
Sym make_variable(Interpreter& interpreter, const std::vector<Sym>& arguments) {
  Tracer& tracer = interpreter.tracer;
  const std::string what = text_of(arguments[1]);
  Transforms transforms(interpreter);
  const NodeId node = transforms.node_of(arguments[0], what);
  const Type type = tracer.type_of(node);
  if (!is_float(type.dtype) && !is_complex(type.dtype)) {
    throw_break("transform_type",
                fmt::format("{} has dtype {}: only real and complex floating-point numbers have "
                            "derivatives",
                            what, dtype_name(type.dtype)));
  }
  const Operand operand = as_operand(tracer, arguments[0], what);
  AxisOrder order;
  if (operand.is_array) order = like_order(tracer, order_operand(operand));
  return own_value(tracer, node, std::move(order));
}

// pure_call(function, args, kwargs)
Sym pure_call(Interpreter& interpreter, const std::vector<Sym>& arguments) {
  const Transforms transforms(interpreter);
  CallArguments given;
  given.positional = sequence_items(interpreter, arguments[1]);
  for (const auto& [name, value] : dict_items(interpreter, arguments[2])) {
    given.keywords.emplace_back(Ref::create(object_of(name)), value);
  }
  interpreter.direct_caller = nullptr;
  return call_value(interpreter, arguments[0], std::move(given));
}

// check_scalar(value, what): the result that is differentiated.
Sym check_scalar(Interpreter& interpreter, const std::vector<Sym>& arguments) {
  Tracer& tracer = interpreter.tracer;
  const std::string what = text_of(arguments[1]);
  Transforms transforms(interpreter);
  const Type type = tracer.type_of(transforms.node_of(arguments[0], "the result of " + what));
  if (type.rank() != 0 || !is_float(type.dtype)) {
    throw_break("transform_type",
                fmt::format("the result of {} has shape {} and dtype {}: only a "
                            "real number has a gradient",
                            what, shape_text(tracer, type), dtype_name(type.dtype)));
  }
  return interpreter.none();
}

// check_inexact(value, what)
Sym check_inexact(Interpreter& interpreter, const std::vector<Sym>& arguments) {
  Transforms transforms(interpreter);
  const std::string what = text_of(arguments[1]);
  const Type type = interpreter.tracer.type_of(transforms.node_of(arguments[0], what));
  if (!is_float(type.dtype) && !is_complex(type.dtype)) {
    throw_break("transform_type", fmt::format("{} has dtype {}, which has no derivatives", what,
                                              dtype_name(type.dtype)));
  }
  return interpreter.none();
}

// refuse(kind, message): the kinds are "type" and "value"
Sym refuse(Interpreter&, const std::vector<Sym>& arguments) {
  const std::string message = text_of(arguments[1]);
  if (text_of(arguments[0]) == "type") throw_break("transform_type", message);
  throw_break("transform_value", message);
}

std::vector<NodeId> conformed(Interpreter& interpreter, Transforms& transforms, const Sym& list,
                              const std::vector<NodeId>& likes, const std::string& what) {
  const std::vector<Sym> values = sequence_items(interpreter, list);
  if (values.size() != likes.size()) {
    throw_break("transform_value",
                fmt::format("{} {}s are given for {} values", values.size(), what, likes.size()));
  }
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < values.size(); ++i) {
    const Type like = interpreter.tracer.type_of(likes[i]);
    nodes.push_back(
        transforms.conform(transforms.node_of(values[i], "a " + what), like, "a " + what));
  }
  return nodes;
}

// The nodes that variables and examples are, whatever was stored to them since.
std::vector<NodeId> first_nodes(Interpreter& interpreter, Transforms& transforms, const Sym& list) {
  std::vector<NodeId> nodes = transforms.nodes_of(list, "a variable");
  for (NodeId& node : nodes) node = interpreter.tracer.graph().buffer_of(node);
  return nodes;
}

// pull_back(variables, outputs, cotangents)
Sym pull_back_values(Interpreter& interpreter, const std::vector<Sym>& arguments) {
  Transforms transforms(interpreter);
  const auto inputs = first_nodes(interpreter, transforms, arguments[0]);
  const auto outputs = transforms.nodes_of(arguments[1], "a result");
  const auto cotangents = conformed(interpreter, transforms, arguments[2], outputs, "cotangent");
  transforms.settle_sizes();
  return transforms.results_or_break(
      pull_back(&interpreter.tracer.graph(), inputs, outputs, cotangents, transforms), inputs);
}

// push_forward(variables, tangents, outputs)
Sym push_forward_values(Interpreter& interpreter, const std::vector<Sym>& arguments) {
  Transforms transforms(interpreter);
  const auto inputs = first_nodes(interpreter, transforms, arguments[0]);
  const auto outputs = transforms.nodes_of(arguments[2], "a result");
  const auto tangents = conformed(interpreter, transforms, arguments[1], inputs, "tangent");
  transforms.settle_sizes();
  return transforms.results_or_break(
      push_forward(&interpreter.tracer.graph(), inputs, tangents, outputs, transforms), outputs);
}

// ---------------------------------------------------------------- batches

// check_sizes(values, axes, names): the axes as numbers from 0 on, or None.
Sym check_sizes(Interpreter& interpreter, const std::vector<Sym>& arguments) {
  Tracer& tracer = interpreter.tracer;
  const std::vector<Sym> values = sequence_items(interpreter, arguments[0]);
  const std::vector<Sym> axes = sequence_items(interpreter, arguments[1]);
  const std::vector<Sym> names = sequence_items(interpreter, arguments[2]);
  std::vector<Sym> found;
  std::vector<std::pair<SizeExpr, std::string>> sizes;
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_object(axes[i], Py_None)) {
      found.push_back(axes[i]);
      continue;
    }
    const auto axis = constant_int(tracer, axes[i], "an axis of numlift.vmap");
    const ArrayValue* array = as_array(values[i]);
    const int rank = array == nullptr ? 0 : array->type.rank();
    if (!axis || *axis < -rank || *axis >= rank) {
      throw_break("transform_value", fmt::format("{} of numlift.vmap has {} dimensions, and so no "
                                                 "axis {} to map over",
                                                 text_of(names[i]), rank, axis.value_or(0)));
    }
    const int64_t place = *axis < 0 ? *axis + rank : *axis;
    sizes.emplace_back(array->type.dims[static_cast<size_t>(place)],
                       fmt::format("{} along axis {}", text_of(names[i]), place));
    found.push_back(interpreter.integer(place));
  }
  if (sizes.empty()) throw_break("transform_value", "numlift.vmap maps over no argument");
  for (const auto& [size, name] : sizes) {
    if (tracer.decide_equal(size, sizes[0].first, "numlift.vmap maps over arrays of one size"))
      continue;
    std::string text = "numlift.vmap maps over arrays of different sizes";
    for (const auto& [other, place] : sizes) {
      text += fmt::format("{} {}: {}", &other == &sizes[0].first ? ":" : ",", place,
                          tracer.hint(other));
    }
    throw_break("transform_value", text);
  }
  return make_list(std::move(found));
}

// The view in which one axis comes first, or is left out: its first place.
NodeId along_axis(Tracer& tracer, NodeId node, int64_t axis, bool first_only) {
  const Type type = tracer.type_of(node);
  IndexMap map;
  std::vector<SizeExpr> dims;
  if (!first_only) dims.push_back(type.dims[static_cast<size_t>(axis)]);
  for (int64_t i = 0; i < type.rank(); ++i) {
    if (i == axis) {
      map.axes.push_back(first_only ? IndexMap::Axis{0, 0, -1} : IndexMap::Axis{0, 1, 0});
    } else {
      map.axes.push_back({0, 1, static_cast<int>(dims.size())});
      dims.push_back(type.dims[static_cast<size_t>(i)]);
    }
  }
  const bool scalar = dims.empty();
  return tracer.append(Op::kView, {node}, ViewAttr{std::move(map)},
                       result_type_for(type.dtype, dims, scalar));
}

// example(value, axis): stands for each of the values along the axis in the function that is
// mapped.
Sym make_example(Interpreter& interpreter, const std::vector<Sym>& arguments) {
  Tracer& tracer = interpreter.tracer;
  Transforms transforms(interpreter);
  const NodeId node = transforms.node_of(arguments[0], "a value of numlift.vmap");
  const int64_t axis = constant_int(tracer, arguments[1], "an axis").value_or(0);
  Sym one = own_value(tracer, along_axis(tracer, node, axis, true), {});
  transforms.note_example(transforms.node_of(one, "an example"));
  return one;
}

// batch(examples, values, axes, outputs)
Sym batch_values(Interpreter& interpreter, const std::vector<Sym>& arguments) {
  Tracer& tracer = interpreter.tracer;
  Transforms transforms(interpreter);
  const auto examples = first_nodes(interpreter, transforms, arguments[0]);
  const auto values = transforms.nodes_of(arguments[1], "a value of numlift.vmap");
  const std::vector<Sym> axes = sequence_items(interpreter, arguments[2]);
  const auto outputs = transforms.nodes_of(arguments[3], "a result of numlift.vmap");
  transforms.settle_sizes();
  std::vector<NodeId> batched;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t axis = constant_int(tracer, axes[i], "an axis").value_or(0);
    batched.push_back(along_axis(tracer, values[i], axis, false));
  }
  const SizeExpr size = tracer.type_of(batched[0]).dims[0];
  return transforms.results_or_break(
      batch(&tracer.graph(), examples, batched, size, outputs, transforms), outputs);
}

}  // namespace

Sym transform_intrinsic(Interpreter& interpreter, BorrowedRef function,
                        const CallArguments& arguments) {
  static constexpr std::pair<const char*, Intrinsic> kIntrinsics[] = {
      {"variable", make_variable},
      {"pure_call", pure_call},
      {"check_scalar", check_scalar},
      {"check_inexact", check_inexact},
      {"refuse", refuse},
      {"pull_back", pull_back_values},
      {"push_forward", push_forward_values},
      {"check_sizes", check_sizes},
      {"example", make_example},
      {"batch", batch_values}};
  if (!PyFunction_Check(function.get())) return nullptr;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(function.get()), "__name__");
  if (module == nullptr || utf8_text(module) != "numlift.transforms.intrinsics") return nullptr;
  const Ref name = checked(PyObject_GetAttrString(function.get(), "__name__"));
  for (const auto& [text, intrinsic] : kIntrinsics) {
    if (utf8_text(name) != text) continue;
    interpreter.direct_caller = nullptr;
    return intrinsic(interpreter, arguments.positional);
  }
  return nullptr;
}

}  // namespace numlift::frame_eval
