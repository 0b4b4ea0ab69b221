// Operands, constants, casts, results and requirements of the NumPy handlers.
#include "symbolic/numpy_common.h"

#include "numlift/graph/scalar.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"
#include "symbolic/grown_list.h"
#include "symbolic/numpy_creation.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

using numpy_shim::descr_of;

Ref numpy_attribute(const char* name) {
  Ref numpy = checked(PyImport_ImportModule("numpy"));
  return checked(PyObject_GetAttrString(numpy.get(), name));
}

std::string callable_name(BorrowedRef callable) {
  Ref name = Ref::steal(PyObject_GetAttrString(callable.get(), "__name__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "?" : text;
}

bool is_none(const Sym& value) {
  return value == nullptr || (value->kind == SymKind::kObject &&
                              static_cast<const ObjectValue&>(*value).object.get() == Py_None);
}

// ---------------------------------------------------------------- operands

const SizeExpr* Operand::size() const {
  return value != nullptr && value->kind == SymKind::kSize
             ? &static_cast<const SizeValue&>(*value).expr
             : nullptr;
}

namespace {

// A Python or NumPy number that is ours to handle; its type for promotion.
std::optional<OperandType> number_type(BorrowedRef object) {
  if (PyBool_Check(object.get())) return OperandType{DType::kBool, false};
  if (PyLong_CheckExact(object.get())) return OperandType{DType::kInt64, true};
  if (PyFloat_CheckExact(object.get())) return OperandType{DType::kFloat64, true};
  if (PyComplex_CheckExact(object.get())) return OperandType{DType::kComplex128, true};
  if (auto dtype = numpy_shim::dtype_of_scalar_class(object.type()))
    return OperandType{*dtype, false};
  return std::nullopt;
}

Operand array_operand(Tracer& tracer, const Sym& value) {
  const auto& array = static_cast<const ArrayValue&>(*value);
  Operand operand;
  operand.value = value;
  operand.type = {array.type.dtype, false};
  operand.node = tracer.read(array);
  operand.is_array = true;
  operand.dims = array.type.dims;
  operand.strides = array.strides;
  for (SizeExpr& dim : operand.dims) dim = tracer.simplify(dim);
  return operand;
}

}  // namespace

Ref constant_number(const Sym& value) {
  if (value == nullptr || value->kind != SymKind::kObject) return {};
  const Ref& object = static_cast<const ObjectValue&>(*value).object;
  return number_type(object) ? object : Ref();
}

std::optional<Operand> find_operand(Tracer& tracer, const Sym& value) {
  Operand operand;
  operand.value = value;
  switch (value->kind) {
    case SymKind::kArray:
      return array_operand(tracer, value);
    case SymKind::kScalar: {
      const auto& scalar = static_cast<const ScalarValue&>(*value);
      operand.node = scalar.node;
      const bool weak =
          scalar.type.value_kind == ValueKind::kPyScalar && scalar.type.dtype != DType::kBool;
      operand.type = {scalar.type.dtype, weak};
      return operand;
    }
    case SymKind::kSize: {
      const SizeExpr expr = tracer.simplify(static_cast<const SizeValue&>(*value).expr);
      operand.type = {DType::kInt64, true};
      if (const auto number = expr.constant()) {
        operand.constant = checked(PyLong_FromLongLong(*number));
      } else {
        operand.node =
            tracer.append(Op::kSizeValue, {}, SizeAttr{expr}, py_scalar_type(DType::kInt64));
      }
      return operand;
    }
    case SymKind::kObject: {
      if (PyTuple_CheckExact(static_cast<const ObjectValue&>(*value).object.get())) {
        return array_operand(tracer, array_from_sequence(tracer, value));
      }
      Ref number = constant_number(value);
      if (!number) return std::nullopt;
      const auto constant = tracer.as_constant(value, "its value is compiled in");
      if (!constant) return std::nullopt;
      operand.constant = *constant;
      operand.type = *number_type(*constant);
      return operand;
    }
    case SymKind::kTuple:
    case SymKind::kList: {
      return array_operand(tracer, array_from_sequence(tracer, value));
    }
    case SymKind::kGrownList:
      return array_operand(tracer, grown_array(tracer, as<GrownList>(value)));
    case SymKind::kNull:
    case SymKind::kSet:
    case SymKind::kDict:
    case SymKind::kSlice:
    case SymKind::kFunction:
    case SymKind::kMethod:
    case SymKind::kCell:
    case SymKind::kIterator:
    case SymKind::kException:
      return std::nullopt;
  }
  NUMLIFT_UNREACHABLE();
}

Operand as_operand(Tracer& tracer, const Sym& value, std::string_view what) {
  if (value == nullptr) throw_break("would_raise", fmt::format("{}: an argument is missing", what));
  auto operand = find_operand(tracer, value);
  if (!operand) {
    throw_value_break(value, fmt::format("{}: an operand that is not an array or number", what));
  }
  return std::move(*operand);
}

// ---------------------------------------------------------------- constants

NodeId constant_node(Tracer& tracer, const ScalarBits& bits, ValueKind kind) {
  const Type type =
      kind == ValueKind::kPyScalar ? py_scalar_type(bits.dtype) : numpy_scalar_type(bits.dtype);
  return tracer.append(Op::kConstant, {}, ConstantAttr{bits}, type);
}

RaiseOnWarning::RaiseOnWarning() {
  Ref make = numpy_attribute("errstate");
  Ref arguments = checked(PyTuple_New(0));
  Ref keywords = checked(Py_BuildValue("{s:s,s:s,s:s,s:s}", "divide", "raise", "over", "raise",
                                       "invalid", "raise", "under", "ignore"));
  state_ = checked(PyObject_Call(make.get(), arguments.get(), keywords.get()));
  checked(PyObject_CallMethod(state_.get(), "__enter__", nullptr));
}

RaiseOnWarning::~RaiseOnWarning() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Py_XDECREF(PyObject_CallMethod(state_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  PyErr_Restore(type, value, traceback);
}

ScalarBits number_bits(BorrowedRef number, DType dtype) {
  const RaiseOnWarning raise;
  Py_INCREF(descr_of(dtype).get());
  Ref array = Ref::steal(PyArray_FromAny(
      number.get(), reinterpret_cast<PyArray_Descr*>(descr_of(dtype).get()), 0, 0, 0, nullptr));
  if (!array) {
    PyErr_Clear();
    throw_break("would_raise", fmt::format("a number is out of bounds for {}", dtype_text(dtype)));
  }
  ScalarBits bits;
  bits.dtype = dtype;
  std::memcpy(bits.bytes.data(), PyArray_DATA(numpy_shim::as_array(array)),
              static_cast<size_t>(item_size(dtype)));
  return bits;
}

NodeId number_node(Tracer& tracer, BorrowedRef number, DType dtype) {
  return constant_node(tracer, number_bits(number, dtype));
}

NodeId int_node(Tracer& tracer, int64_t value, DType dtype) {
  return number_node(tracer, checked(PyLong_FromLongLong(value)), dtype);
}

Ref scalar_object(const ScalarBits& bits) {
  std::array<unsigned char, 16> bytes = bits.bytes;
  return checked(PyArray_Scalar(
      bytes.data(), reinterpret_cast<PyArray_Descr*>(descr_of(bits.dtype).get()), nullptr));
}

// ---------------------------------------------------------------- casts

NodeId elementwise(Tracer& tracer, Op op, std::vector<NodeId> operands, DType result, Attr attr) {
  Type type = numpy_scalar_type(result);
  for (NodeId operand : operands) {
    const Type& of = tracer.type_of(operand);
    if (!of.dims.empty()) {
      type = array_type(result, of.dims);
      break;
    }
  }
  return tracer.append(op, std::move(operands), std::move(attr), std::move(type));
}

NodeId cast(Tracer& tracer, NodeId node, DType dtype) {
  const DType from = tracer.type_of(node).dtype;
  if (from == dtype) return node;
  if (is_complex(from) && !is_complex(dtype) && dtype != DType::kBool) {
    throw_break("would_raise", "casting complex to real discards the imaginary part (a warning)");
  }
  return elementwise(tracer, Op::kCast, {node}, dtype);
}

namespace {

struct IntRange {
  int64_t low, high;
};

// What an int64 must lie in to fit the dtype.
std::optional<IntRange> int64_range(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return IntRange{INT8_MIN, INT8_MAX};
    case DType::kInt16:
      return IntRange{INT16_MIN, INT16_MAX};
    case DType::kInt32:
      return IntRange{INT32_MIN, INT32_MAX};
    case DType::kUInt8:
      return IntRange{0, UINT8_MAX};
    case DType::kUInt16:
      return IntRange{0, UINT16_MAX};
    case DType::kUInt32:
      return IntRange{0, UINT32_MAX};
    case DType::kUInt64:
      return IntRange{0, INT64_MAX};
    case DType::kBool:
    case DType::kInt64:
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kComplex64:
    case DType::kComplex128:
      return std::nullopt;
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace

NodeId cast_operand(Tracer& tracer, const Operand& operand, DType dtype) {
  if (operand.constant) return number_node(tracer, operand.constant, dtype);
  const DType from = operand.type.dtype;
  if (!operand.type.weak || from == dtype) return cast(tracer, operand.node, dtype);
  if (const SizeExpr* size = operand.size()) {
    if (const auto range = int64_range(dtype)) {
      const std::string reason = fmt::format("a Python int fits in {}", dtype_text(dtype));
      if (tracer.decide_less(*size, range->low, reason) ||
          tracer.decide_less(range->high, *size, reason)) {
        throw_break("would_raise",
                    fmt::format("a Python int is out of bounds for {}", dtype_text(dtype)));
      }
    }
  } else if (from == DType::kInt64 && is_integer(dtype)) {
    // A run-time Python int that is no size: in range, or the call runs in CPython.
    const auto range = int64_range(dtype);
    require(tracer, elementwise(tracer, Op::kGreaterEqual,
                                {operand.node, int_node(tracer, range->low, from)}, DType::kBool));
    require(tracer, elementwise(tracer, Op::kLessEqual,
                                {operand.node, int_node(tracer, range->high, from)}, DType::kBool));
  }
  // NumPy goes by way of a Python float: an int rounds twice on its way to a small float.
  NodeId node = operand.node;
  if (from == DType::kInt64 && !is_integer(dtype) && dtype != DType::kBool) {
    node = cast(tracer, node, DType::kFloat64);
  }
  return cast(tracer, node, dtype);
}

// ---------------------------------------------------------------- results

OrderOperand order_operand(const Operand& operand) {
  return {operand.type.dtype, operand.dims, operand.strides};
}

Type result_type_for(DType dtype, const std::vector<SizeExpr>& dims, bool scalar) {
  return scalar && dims.empty() ? numpy_scalar_type(dtype) : array_type(dtype, dims);
}

NodeId elementwise_scalar(Tracer& tracer, NodeId node) {
  const Type& type = tracer.type_of(node);
  if (type.value_kind == ValueKind::kNumpyScalar) return node;
  return tracer.append(Op::kCast, {node}, NoAttr{}, numpy_scalar_type(type.dtype));
}

Sym new_result(Tracer& tracer, NodeId node, AxisOrder order) {
  if (tracer.type_of(node).value_kind == ValueKind::kArray)
    return tracer.new_array(node, std::move(order));
  return tracer.new_scalar(node);
}

ArrayValue* as_array(const Sym& value) {
  return value != nullptr && value->kind == SymKind::kArray ? static_cast<ArrayValue*>(value.get())
                                                            : nullptr;
}

Sym as_array_value(Tracer& tracer, const Sym& value, std::string_view what) {
  if (value->kind == SymKind::kArray) return value;
  const Operand operand = as_operand(tracer, value, what);
  if (operand.is_array) return operand.value->kind == SymKind::kArray ? operand.value : value;
  const NodeId number = cast_operand(tracer, operand, operand.type.dtype);
  return tracer.new_array(
      tracer.append(Op::kCopy, {number}, NoAttr{}, array_type(operand.type.dtype, {})));
}

Sym store_out(Tracer& tracer, const Sym& out, NodeId node, std::string_view what,
              const char* casting) {
  ArrayValue* target = as_array(out);
  if (target == nullptr) {
    throw_break("would_raise", fmt::format("{}: return arrays must be of ArrayType", what));
  }
  if (!target->writeable)
    throw_break("would_raise", fmt::format("{}: output array is read-only", what));
  const Type type = tracer.type_of(node);
  if (!numpy_shim::can_cast(type.dtype, target->type.dtype, casting)) {
    throw_break("would_raise",
                fmt::format("{}: cannot cast output from {} to {} with casting rule '{}'", what,
                            dtype_text(type.dtype), dtype_text(target->type.dtype), casting));
  }
  NodeId value = cast(tracer, node, target->type.dtype);
  if (!type.dims.empty()) {
    const std::vector<SizeExpr> both[] = {type.dims, target->type.dims};
    const auto dims = broadcast_dims(tracer, both, what);
    if (!same_dims(tracer, dims, target->type.dims, what)) {
      throw_break("would_raise", fmt::format("{}: non-broadcastable output operand", what));
    }
    value = broadcast_node(tracer, value, target->type.dims);
  }
  tracer.store(*target, value);
  return out;
}

// ---------------------------------------------------------------- requirements

void require(Tracer& tracer, NodeId node) {
  // A division by zero stops the program: there is no other way to ask for it in the graph.
  const ScopedFpChecks divide(tracer, kFpDivide);
  const NodeId one = int_node(tracer, 1, DType::kFloat64);
  elementwise(tracer, Op::kDivide, {one, cast(tracer, node, DType::kFloat64)}, DType::kFloat64);
}

void check_int(Tracer& tracer, Op comparison, NodeId integer, int64_t bound) {
  const NodeId limit =
      constant_node(tracer, make_scalar(DType::kInt64, bound), ValueKind::kPyScalar);
  tracer.control(Op::kCheck, tracer.append(comparison, {integer, limit}, NoAttr{},
                                           py_scalar_type(DType::kBool)));
}

}  // namespace numlift::frame_eval
