// Ufunc calls: see numpy_ufuncs.h. The lowering of one loop is in numpy_lowering.cpp, operators are
// in numpy_operators.cpp.
#include "symbolic/numpy_ufuncs.h"

#include <algorithm>

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_gufuncs.h"
#include "symbolic/numpy_lowering.h"
#include "symbolic/numpy_products.h"
#include "symbolic/numpy_scatter.h"

namespace numlift::frame_eval {

using numpy_shim::LoopTypes;

namespace {

const PyUFuncObject* ufunc_info(BorrowedRef ufunc) {
  return reinterpret_cast<const PyUFuncObject*>(ufunc.get());
}

std::optional<int> comparison_number(const std::string& name) {
  static constexpr const char* kNames[] = {"less",      "less_equal", "equal",
                                           "not_equal", "greater",    "greater_equal"};
  for (int k = 0; k < 6; ++k) {
    if (name == kNames[k]) return k;
  }
  return std::nullopt;
}

// -1: the weak Python int lies below the dtype's range, 1: above it, 0: inside.
int side_of_range(Tracer& tracer, const Operand& operand, DType dtype) {
  if (!is_integer(dtype) || !operand.type.weak || operand.type.dtype != DType::kInt64) return 0;
  Ref info = checked(PyObject_CallOneArg(numpy_attribute("iinfo").get(),
                                         numpy_shim::scalar_class_of(dtype).get()));
  Ref low = checked(PyObject_GetAttrString(info.get(), "min"));
  Ref high = checked(PyObject_GetAttrString(info.get(), "max"));
  if (operand.constant) {
    const int below = PyObject_RichCompareBool(operand.constant.get(), low.get(), Py_LT);
    const int above = PyObject_RichCompareBool(operand.constant.get(), high.get(), Py_GT);
    if (below < 0 || above < 0) throw PyError();
    return below != 0 ? -1 : above;
  }
  const SizeExpr* size = operand.size();
  if (size == nullptr || dtype == DType::kInt64) return 0;
  const std::string reason = fmt::format("a Python int is compared with {}", dtype_text(dtype));
  if (tracer.decide_less(*size, PyLong_AsLongLong(low.get()), reason)) return -1;
  if (dtype == DType::kUInt64) return 0;
  return tracer.decide_less(PyLong_AsLongLong(high.get()), *size, reason) ? 1 : 0;
}

// NumPy compares with a Python int that the loop's dtype cannot hold correctly: the answer is the
// same for all elements. nullopt: all operands fit.
std::optional<bool> constant_comparison(Tracer& tracer, const std::string& name,
                                        std::span<const Operand> operands, const LoopTypes& loop) {
  const auto number = comparison_number(name);
  if (!number) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) {
    const int side = side_of_range(tracer, operands[k], loop.inputs[k]);
    if (side == 0) continue;
    if (operands[1 - k].type.dtype == DType::kBool) {
      throw_break("would_raise", "a bool array is compared with an int beyond 64 bits");
    }
    const int order = k == 1 ? -side : side;  // sign of (left - right)
    switch (*number) {
      case 0:
      case 1:
        return order < 0;
      case 2:
        return false;
      case 3:
        return true;
      default:
        return order > 0;
    }
  }
  return std::nullopt;
}

// uint64 with a signed integer: NumPy compares by value (its own loop has C's `long long` types,
// which are not ours).
std::optional<LoopTypes> mixed_sign_loop(const std::string& name,
                                         std::span<const OperandType> types) {
  if (!comparison_number(name) || types[0].weak || types[1].weak) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) {
    if (types[k].dtype == DType::kUInt64 && kind_of(types[1 - k].dtype) == DTypeKind::kSigned) {
      LoopTypes loop{{DType::kInt64, DType::kInt64}, {DType::kBool}};
      loop.inputs[k] = DType::kUInt64;
      return loop;
    }
  }
  return std::nullopt;
}

NodeId compare_mixed_signs(Tracer& tracer, const std::string& name, NodeId a, NodeId b) {
  static constexpr Op kOps[] = {Op::kLess,     Op::kLessEqual, Op::kEqual,
                                Op::kNotEqual, Op::kGreater,   Op::kGreaterEqual};
  static constexpr int kSwapped[] = {4, 5, 2, 3, 0, 1};
  int number = *comparison_number(name);
  if (tracer.type_of(a).dtype == DType::kUInt64) {
    std::swap(a, b);
    number = kSwapped[number];
  }
  // Now a is signed: below every unsigned number when it is negative.
  const NodeId negative =
      elementwise(tracer, Op::kLess, {a, int_node(tracer, 0, DType::kInt64)}, DType::kBool);
  const NodeId compared =
      elementwise(tracer, kOps[number], {cast(tracer, a, DType::kUInt64), b}, DType::kBool);
  if (number == 0 || number == 1 || number == 3) {
    return elementwise(tracer, Op::kLogicalOr, {negative, compared}, DType::kBool);
  }
  return elementwise(tracer, Op::kLogicalAnd,
                     {elementwise(tracer, Op::kLogicalNot, {negative}, DType::kBool), compared},
                     DType::kBool);
}

NodeId bool_node(Tracer& tracer, bool value) {
  return number_node(tracer, value ? Py_True : Py_False, DType::kBool);
}

// Operands that have the loop's dtype already, one shape and Fortran order: NumPy runs them in one
// go and gives the result their order as it is, axes of size 1 included.
bool is_trivially_fortran(Tracer& tracer, std::span<const Operand> operands,
                          const LoopTypes& loop) {
  const Operand* first = nullptr;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Operand& operand = operands[k];
    if (operand.rank() == 0) continue;
    if (operand.rank() < 3 || operand.type.dtype != loop.inputs[k]) return false;
    if (first == nullptr) first = &operand;
    if (operand.rank() != first->rank()) return false;
    for (size_t axis = 0; axis < operand.dims.size(); ++axis) {
      if (!(tracer.simplify(operand.dims[axis]) == tracer.simplify(first->dims[axis])))
        return false;
    }
  }
  if (first == nullptr) return false;
  const auto one = std::find_if(first->dims.begin(), first->dims.end(),
                                [](const SizeExpr& dim) { return dim.constant() == 1; });
  if (one == first->dims.end()) return false;  // the general rule gives the same
  for (const Operand& operand : operands) {
    if (operand.rank() == 0) continue;
    if (is_c_contiguous(tracer, operand.type.dtype, operand.dims, operand.strides) ||
        !is_f_contiguous(tracer, operand.type.dtype, operand.dims, operand.strides)) {
      return false;
    }
  }
  return true;
}

AxisOrder ufunc_order(Tracer& tracer, char order, std::span<const Operand> operands,
                      const std::vector<SizeExpr>& dims, const LoopTypes& loop) {
  if (dims.size() < 2) return {};
  if ((order == 'K' || order == 'A') && is_trivially_fortran(tracer, operands, loop)) {
    return fortran_order(static_cast<int>(dims.size()));
  }
  std::vector<OrderOperand> layouts;
  for (const Operand& operand : operands) {
    if (operand.rank() > 0) layouts.push_back(order_operand(operand));
  }
  return result_order(tracer, order, dims, layouts);
}

// Integer powers: NumPy raises for negative exponents. The exponent that the loop gets is never
// negative, so that NumPy's own loop can't raise in the middle of the program.
void watch_integer_power(Tracer& tracer, DType dtype, std::vector<NodeId>* nodes) {
  if (kind_of(dtype) != DTypeKind::kSigned) return;
  NodeId& exponent = (*nodes)[1];
  const NodeId zero = int_node(tracer, 0, dtype);
  const Node& known = tracer.graph().node(exponent);
  if (known.op == Op::kConstant) {
    const Ref value = scalar_object(attr_of<ConstantAttr>(known).value);
    const int negative =
        PyObject_RichCompareBool(value.get(), checked(PyLong_FromLong(0)).get(), Py_LT);
    if (negative < 0) throw PyError();
    if (negative != 0) {
      throw_break("would_raise", "Integers to negative integer powers are not allowed.");
    }
    return;
  }
  NodeId fits = elementwise(tracer, Op::kGreaterEqual, {exponent, zero}, DType::kBool);
  const Type type = tracer.type_of(fits);
  if (!type.dims.empty()) {
    ReduceAttr all;
    for (int axis = 0; axis < type.rank(); ++axis) all.axes.push_back(axis);
    fits = tracer.append(Op::kReduceAll, {fits}, std::move(all), numpy_scalar_type(DType::kBool));
  }
  require(tracer, fits);
  exponent = elementwise(tracer, Op::kMaximum, {exponent, zero}, dtype);
}

Sym make_tuple(std::vector<Sym> items) {
  auto tuple = std::make_shared<SequenceValue>(SymKind::kTuple);
  tuple->items = std::move(items);
  return tuple;
}

Sym store_result(Tracer& tracer, const UfuncOptions& options, const Sym& result,
                 const std::string& name) {
  const Operand value = as_operand(tracer, result, name);
  return store_out(tracer, options.out, cast_operand(tracer, value, value.type.dtype), name,
                   options.casting.c_str());
}

// NumPy runs the ufunc itself inside the program.
Sym extern_ufunc(Tracer& tracer, BorrowedRef ufunc, std::span<const Sym> operands,
                 const UfuncOptions& options) {
  const std::string name = callable_name(ufunc);
  if (options.where) {
    throw_break("numpy_argument", fmt::format("numpy.{} with where=", name));
  }
  std::vector<std::pair<Ref, Sym>> keywords;
  const auto add = [&](const char* keyword, Ref value) {
    keywords.emplace_back(checked(PyUnicode_FromString(keyword)),
                          tracer.constant(std::move(value)));
  };
  if (options.dtype) add("dtype", Ref::create(numpy_shim::descr_of(*options.dtype)));
  if (options.order != 'K') add("order", checked(PyUnicode_FromStringAndSize(&options.order, 1)));
  if (options.casting != "same_kind")
    add("casting", checked(PyUnicode_FromString(options.casting.c_str())));
  const Sym result = tracer.extern_call(ufunc, operands, keywords, "numpy." + name);
  return options.out ? store_result(tracer, options, result, name) : result;
}

Sym apply_gufunc(Tracer& tracer, BorrowedRef gufunc, std::span<const Sym> operands,
                 const UfuncOptions& options) {
  const bool is_plain = !options.where && options.order == 'K' && options.casting == "same_kind" &&
                        !options.keep_array;
  Sym made;
  if (is_plain && !options.dtype && callable_name(gufunc) == "matmul")
    made = native_product(tracer, operands[0], operands[1]);
  if (is_plain && !made) made = call_gufunc(tracer, gufunc, operands, options.dtype);
  if (!made) return extern_ufunc(tracer, gufunc, operands, options);
  return options.out ? store_result(tracer, options, made, callable_name(gufunc)) : made;
}

}  // namespace

Sym apply_ufunc(Tracer& tracer, const char* name, std::span<const Sym> operands,
                const UfuncOptions& options) {
  return apply_ufunc(tracer, numpy_attribute(name), operands, options);
}

Sym apply_ufunc(Tracer& tracer, BorrowedRef ufunc, std::span<const Sym> operand_values,
                const UfuncOptions& options) {
  const std::string name = callable_name(ufunc);
  const PyUFuncObject* info = ufunc_info(ufunc);
  if (info->core_enabled != 0) return apply_gufunc(tracer, ufunc, operand_values, options);
  if (info->nout != 1) {
    if (name != "divmod" || options.out || options.where) {
      return extern_ufunc(tracer, ufunc, operand_values, options);
    }
    return make_tuple({apply_ufunc(tracer, "floor_divide", operand_values, options),
                       apply_ufunc(tracer, "remainder", operand_values, options)});
  }

  std::vector<Operand> operands;
  std::vector<OperandType> types;
  bool any_array = false;
  for (const Sym& value : operand_values) {
    operands.push_back(as_operand(tracer, value, name));
    types.push_back(operands.back().type);
    any_array = any_array || operands.back().is_array;
  }
  auto loop = numpy_shim::resolve_ufunc(ufunc, types, options.dtype);
  const bool mixed_signs = !loop && !options.dtype && (loop = mixed_sign_loop(name, types));
  if (!loop) {
    throw_break("would_raise",
                fmt::format("numpy.{} has no loop for these types that is traced", name));
  }
  const bool any_input = name.starts_with("logical_");  // their inputs are cast to bool by any rule
  for (size_t k = 0; k < operands.size() && !any_input; ++k) {
    if (!types[k].weak &&
        !numpy_shim::can_cast(types[k].dtype, loop->inputs[k], options.casting.c_str())) {
      throw_break("would_raise",
                  fmt::format("numpy.{}: cannot cast input {} with casting rule '{}'", name, k,
                              options.casting));
    }
  }

  std::vector<std::vector<SizeExpr>> all_dims;
  for (const Operand& operand : operands) all_dims.push_back(operand.dims);
  std::vector<SizeExpr> dims = broadcast_dims(tracer, all_dims, name);
  const std::vector<SizeExpr> result_dims = dims;

  NodeId node;
  if (const auto answer = constant_comparison(tracer, name, operands, *loop)) {
    node = bool_node(tracer, *answer);
    if (!dims.empty()) {
      node = broadcast_node(tracer, node, dims, false);
      node = tracer.append(Op::kCopy, {node}, NoAttr{}, array_type(DType::kBool, dims));
    }
  } else {
    std::vector<NodeId> nodes;
    for (size_t k = 0; k < operands.size(); ++k) {
      nodes.push_back(cast_operand(tracer, operands[k], loop->inputs[k]));
    }
    if (name == "power" && is_integer(loop->inputs[0]))
      watch_integer_power(tracer, loop->inputs[1], &nodes);
    for (NodeId& operand : nodes) operand = broadcast_node(tracer, operand, dims);
    if (mixed_signs) {
      node = compare_mixed_signs(tracer, name, nodes[0], nodes[1]);
    } else {
      const auto lowered = lower_loop(tracer, ufunc, name, *loop, nodes);
      if (!lowered) return extern_ufunc(tracer, ufunc, operand_values, options);
      node = *lowered;
    }
  }

  if (!options.out) {
    if (options.where) {
      throw_break("numpy_argument", fmt::format("numpy.{} with where= but no out=", name));
    }
    if (result_dims.empty() && options.keep_array) {
      node = tracer.append(Op::kCopy, {node}, NoAttr{}, array_type(tracer.type_of(node).dtype, {}));
    }
    return new_result(tracer, node, ufunc_order(tracer, options.order, operands, dims, *loop));
  }
  if (options.where) {
    ArrayValue* target = as_array(options.out);
    if (target == nullptr) throw_break("would_raise", "out= is not an array");
    const Operand mask = as_operand(tracer, options.where, name);
    if (mask.type.dtype != DType::kBool) {
      throw_break("numpy_argument", fmt::format("numpy.{}: where= is not bool", name));
    }
    if (!numpy_shim::can_cast(tracer.type_of(node).dtype, target->type.dtype,
                              options.casting.c_str())) {
      throw_break("would_raise", fmt::format("numpy.{}: cannot cast the output", name));
    }
    const std::vector<SizeExpr> three[] = {dims, mask.dims, target->type.dims};
    dims = broadcast_dims(tracer, three, name);
    if (!same_dims(tracer, dims, target->type.dims, name)) {
      throw_break("would_raise", fmt::format("numpy.{}: non-broadcastable output operand", name));
    }
    const NodeId value = broadcast_node(tracer, cast(tracer, node, target->type.dtype), dims);
    const NodeId choose = broadcast_node(tracer, cast_operand(tracer, mask, DType::kBool), dims);
    node =
        elementwise(tracer, Op::kSelect, {choose, value, tracer.read(*target)}, target->type.dtype);
    return store_out(tracer, options.out, node, name);
  }
  return store_out(tracer, options.out, node, name, options.casting.c_str());
}

Sym out_argument(const Sym& value, bool* keep_array) {
  if (is_none(value)) return nullptr;
  if (value->kind == SymKind::kArray) return value;
  if (value->kind == SymKind::kTuple) {
    const auto& items = static_cast<const SequenceValue&>(*value).items;
    if (items.size() == 1) return out_argument(items[0], keep_array);
  }
  if (value->kind == SymKind::kObject && keep_array != nullptr &&
      static_cast<const ObjectValue&>(*value).object.get() == Py_Ellipsis) {
    *keep_array = true;
    return nullptr;
  }
  throw_break("numpy_argument", "an out= argument that is not one array");
}

Sym call_ufunc(Tracer& tracer, BorrowedRef ufunc, std::span<const Sym> args, Keywords kwargs) {
  const PyUFuncObject* info = ufunc_info(ufunc);
  const std::string name = callable_name(ufunc);
  const auto inputs = static_cast<size_t>(info->nin);
  if (args.size() < inputs || args.size() > static_cast<size_t>(info->nargs)) {
    throw_break("would_raise", fmt::format("numpy.{} takes {} operands", name, inputs));
  }
  UfuncOptions options;
  if (args.size() > inputs + 1) throw_break("numpy_argument", "several outputs given by position");
  if (args.size() == inputs + 1) options.out = out_argument(args[inputs], &options.keep_array);
  for (const auto& [keyword, value] : kwargs) {
    const std::string key = PyUnicode_AsUTF8(keyword.get());
    if (key == "out") {
      if (options.out) throw_break("would_raise", "out is given twice");
      options.out = out_argument(value, &options.keep_array);
    } else if (key == "where") {
      const Ref constant =
          value->kind == SymKind::kObject ? static_cast<const ObjectValue&>(*value).object : Ref();
      if (constant.get() != Py_True) options.where = value;
    } else if (key == "dtype") {
      options.dtype = dtype_argument(tracer, value, name);
    } else if (key == "casting") {
      options.casting = casting_argument(tracer, value, "same_kind");
    } else if (key == "order") {
      options.order = order_argument(tracer, value, 'K');
    } else if (key == "subok") {
      constant_bool(tracer, value, name);  // only exact arrays are traced: it changes nothing
    } else {
      throw_break("numpy_argument", fmt::format("numpy.{} with {}=", name, key));
    }
  }
  return apply_ufunc(tracer, ufunc, args.first(inputs), options);
}

Sym call_ufunc_method(Tracer& tracer, BorrowedRef method, std::span<const Sym> args,
                      Keywords kwargs) {
  const BorrowedRef ufunc = PyCFunction_GET_SELF(method.get());
  const std::string ufunc_name = callable_name(ufunc);
  const std::string name = callable_name(method);
  if (name == "reduce") {
    static const numpy_shim::FunctionEntry entry = [] {
      numpy_shim::FunctionEntry made;
      made.path = "numpy.ufunc.reduce";
      for (const char* parameter :
           {"array", "axis", "dtype", "out", "keepdims", "initial", "where"}) {
        made.parameters.push_back({parameter, made.parameters.empty(), false, false});
      }
      return made;
    }();
    const NumpyArguments bound = bind_arguments(entry, method, args, kwargs);
    ReduceOptions options;
    options.axis = bound.get("axis");
    options.all_axes = false;
    options.dtype = dtype_argument(tracer, bound.get("dtype"), ufunc_name);
    options.out = out_argument(bound.get("out"));
    options.keepdims = constant_bool(tracer, bound.get("keepdims"), ufunc_name).value_or(false);
    options.initial = bound.get("initial");
    options.where = bound.get("where");
    const Sym result = reduce_ufunc(tracer, ufunc_name, bound.get("array"), options);
    if (result) return result;
    if (options.out)
      throw_break("numpy_argument", fmt::format("numpy.{}.reduce with out=", ufunc_name));
    return tracer.extern_call(method, args, kwargs, fmt::format("numpy.{}.reduce", ufunc_name));
  }
  if (name == "outer" && args.size() == 2 && kwargs.empty()) {
    const Sym left = as_array_value(tracer, args[0], ufunc_name);
    const Operand right = as_operand(tracer, args[1], ufunc_name);
    const auto& array = static_cast<const ArrayValue&>(*left);
    // left[..., None, …]: an axis of size 1 for each of right's.
    const size_t rank = array.type.dims.size();
    ViewStep step;
    IndexMap map;
    std::vector<SizeExpr> dims = array.type.dims, strides = array.strides;
    for (size_t k = 0; k < rank; ++k) map.axes.push_back({0, 1, static_cast<int>(k)});
    for (int k = 0; k < right.rank(); ++k) {
      dims.emplace_back(1);
      strides.emplace_back(0);
    }
    if (right.rank() == 0) return apply_ufunc(tracer, ufunc, args);
    step.attr = ViewAttr{std::move(map)};
    step.type = array_type(array.type.dtype, std::move(dims));
    const Sym operands[] = {tracer.new_view(array, std::move(step), std::move(strides)), args[1]};
    return apply_ufunc(tracer, ufunc, operands);
  }
  if (name == "at") {
    if (kwargs.empty() && update_at(tracer, ufunc_name, args))
      return tracer.constant(Ref::create(Py_None));
    static const numpy_shim::FunctionEntry entry = [] {
      numpy_shim::FunctionEntry made;
      made.path = "numpy.ufunc.at";
      return made;
    }();
    return call_changing_function(tracer, bind_arguments(entry, method, args, kwargs));
  }
  if (name == "accumulate" || name == "reduceat" || name == "outer") {
    for (const auto& [keyword, value] : kwargs) {
      if (PyUnicode_CompareWithASCIIString(keyword.get(), "out") == 0 && !is_none(value)) {
        throw_break("numpy_argument", fmt::format("numpy.{}.{} with out=", ufunc_name, name));
      }
    }
    const size_t most = name == "accumulate" ? 3 : name == "reduceat" ? 4 : 2;  // out comes next
    if (args.size() > most) {
      throw_break("numpy_argument", fmt::format("numpy.{}.{} with out=", ufunc_name, name));
    }
    return tracer.extern_call(method, args, kwargs, fmt::format("numpy.{}.{}", ufunc_name, name));
  }
  throw_break("numpy_argument", fmt::format("numpy.{}.{}", ufunc_name, name));
}

}  // namespace numlift::frame_eval
