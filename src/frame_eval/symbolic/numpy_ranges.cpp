// arange, linspace, meshgrid.
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_creation.h"
#include "symbolic/numpy_extern.h"
#include "symbolic/numpy_handlers.h"
#include "symbolic/numpy_store.h"

namespace numlift::frame_eval {

namespace {

// In a loop also one that only the run knows.
bool is_int(Tracer& tracer, const Sym& value) {
  if (value->kind == SymKind::kSize) return true;
  if (value->kind == SymKind::kScalar)
    return tracer.in_region() &&
           static_cast<const ScalarValue&>(*value).type.dtype == DType::kInt64;
  return value->kind == SymKind::kObject &&
         PyLong_CheckExact(static_cast<const ObjectValue&>(*value).object.get());
}

// start + i * delta, as NumPy's fill loops compute it.
NodeId ramp(Tracer& tracer, const SizeExpr& length, NodeId start, NodeId delta, DType dtype) {
  const ScopedFpChecks quietly(tracer, kFpNone);
  const NodeId index = cast(tracer, positions(tracer, {length}, 0), dtype);
  const NodeId scaled = elementwise(tracer, Op::kMultiply, {index, delta}, dtype);
  return elementwise(tracer, Op::kAdd, {scaled, start}, dtype);
}

NodeId size_node(Tracer& tracer, const SizeExpr& given, DType dtype) {
  const SizeExpr size = tracer.simplify(given);
  if (const auto constant = size.constant()) return int_node(tracer, *constant, dtype);
  const NodeId node =
      tracer.append(Op::kSizeValue, {}, SizeAttr{size}, numpy_scalar_type(DType::kInt64));
  return cast(tracer, node, dtype);
}

Sym arange_of_ints(Tracer& tracer, const SizeExpr& start, const SizeExpr& stop,
                   const SizeExpr& step, DType dtype) {
  static const std::string reason = "the length of a range";
  if (tracer.decide_equal(step, 0, reason)) throw_break("would_raise", "arange with step 0");
  const bool down = tracer.decide_less(step, 0, reason);
  const SizeExpr distance = tracer.simplify(down ? start - stop : stop - start);
  const SizeExpr stride = tracer.simplify(down ? -step : step);
  const auto is_run_time = [&](const SizeExpr& size) { return tracer.is_run_time(size); };
  // NumPy computes the length in float64. (What changes from iteration to iteration is not asked
  // about: so long an array cannot be had anyway.)
  for (const SizeExpr* size : {&distance, &stride}) {
    if (!is_run_time(*size) && tracer.decide_less(int64_t{1} << 52, *size, reason))
      throw_break("numpy_argument", "a long range");
  }
  const auto steps = [&](const SizeExpr& all) {
    return stride.constant() == 1 ? all : SizeExpr::floor_div(all + (stride - 1), stride);
  };
  SizeExpr length = 0;
  if (is_run_time(distance)) {
    const bool is_known =
        tracer.holds_always(SizeGuard::Relation::kLessEqual, 0, distance, reason) == true;
    length = steps(is_known ? distance : SizeExpr::max(distance, 0));
  } else if (tracer.decide_less_equal(0, distance, reason)) {
    length = steps(distance);
  }
  length = tracer.simplify(length);
  if (dtype != DType::kInt64 && is_integer(dtype)) {
    // Out of its dtype's range an element would wrap or be refused: not traced.
    Ref info = checked(PyObject_CallOneArg(numpy_attribute("iinfo").get(),
                                           numpy_shim::scalar_class_of(dtype).get()));
    Ref low = checked(PyObject_GetAttrString(info.get(), "min"));
    Ref high = checked(PyObject_GetAttrString(info.get(), "max"));
    const int64_t least = PyLong_AsLongLong(low.get());
    const int64_t most = dtype == DType::kUInt64 ? INT64_MAX : PyLong_AsLongLong(high.get());
    for (const SizeExpr& value : {start, stop, tracer.simplify(start + step)}) {
      if (tracer.decide_less(value, least, reason) || tracer.decide_less(most, value, reason)) {
        throw_break("numpy_argument", "a range beyond its dtype");
      }
    }
  }
  if (dtype == DType::kInt64 && start.constant() == 0 && step.constant() == 1) {
    return tracer.new_array(tracer.append(Op::kCopy, {positions(tracer, {length}, 0)}, NoAttr{},
                                          array_type(dtype, {length})));
  }
  if (is_integer(dtype)) {
    const NodeId node = ramp(tracer, length, size_node(tracer, start, DType::kInt64),
                             size_node(tracer, step, DType::kInt64), DType::kInt64);
    return tracer.new_array(cast(tracer, node, dtype));
  }
  // The second element is start + step as an int, made a float once; delta is a difference of
  // floats.
  const NodeId first = size_node(tracer, start, dtype);
  const ScopedFpChecks quietly(tracer, kFpNone);
  const NodeId delta =
      elementwise(tracer, Op::kSubtract,
                  {size_node(tracer, tracer.simplify(start + step), dtype), first}, dtype);
  return tracer.new_array(ramp(tracer, length, first, delta, dtype));
}

ScalarBits element_bits(PyArrayObject* array, npy_intp index, DType dtype) {
  ScalarBits bits;
  bits.dtype = dtype;
  std::memcpy(bits.bytes.data(), PyArray_GETPTR1(array, index),
              static_cast<size_t>(item_size(dtype)));
  return bits;
}

// All arguments are numbers known now: NumPy tells length and first elements.
Sym arange_of_constants(Tracer& tracer, const NumpyArguments& arguments, DType dtype) {
  Ref values = checked(PyTuple_New(3));
  const Sym given[] = {arguments.values[0], arguments.get_unless_none("stop"),
                       arguments.get_unless_none("step")};
  for (Py_ssize_t i = 0; i < 3; ++i) {
    Ref number = Ref::create(Py_None);
    if (const Sym& value = given[i]) {
      auto constant = tracer.as_constant(value, "a range is compiled in");
      if (!constant) return nullptr;
      number = std::move(*constant);
    } else if (i == 2) {
      number = checked(PyLong_FromLong(1));
    }
    PyTuple_SET_ITEM(values.get(), i, number.release());
  }
  Ref keywords = checked(Py_BuildValue("{s:O}", "dtype", numpy_shim::descr_of(dtype).get()));
  Ref made =
      Ref::steal(PyObject_Call(numpy_attribute("arange").get(), values.get(), keywords.get()));
  if (!made) {
    PyErr_Clear();
    throw_break("would_raise", "arange refuses its arguments");
  }
  PyArrayObject* array = numpy_shim::as_array(made);
  const npy_intp length = PyArray_DIM(array, 0);
  if (length < 2) {
    Sym result = empty_array(tracer, dtype, {SizeExpr(length)});
    if (length == 1) {
      tracer.store(static_cast<ArrayValue&>(*result),
                   constant_node(tracer, element_bits(array, 0, dtype)));
    }
    return result;
  }
  const ScalarBits first = element_bits(array, 0, dtype), second = element_bits(array, 1, dtype);
  Ref low = scalar_object(first), next = scalar_object(second);
  Ref delta = checked(PyNumber_Subtract(next.get(), low.get()));
  Ref again = checked(PyNumber_Add(low.get(), delta.get()));
  const NodeId node = ramp(tracer, SizeExpr(length), constant_node(tracer, first),
                           number_node(tracer, delta, dtype), dtype);
  Sym result = tracer.new_array(node);
  if (!(number_bits(again, dtype) == second)) {
    // The loop leaves the second element as it was given.
    const Sym place = slice_axis(tracer, static_cast<ArrayValue&>(*result), 0, 1, 1, 1);
    tracer.store(static_cast<ArrayValue&>(*place), constant_node(tracer, second));
  }
  return result;
}

}  // namespace

Sym call_arange(Tracer& tracer, const NumpyArguments& arguments) {
  if (arguments.get_unless_none("like")) throw_break("numpy_argument", "arange with like=");
  Sym start = arguments.values[0], stop = arguments.get_unless_none("stop");
  Sym step = arguments.get_unless_none("step");
  const auto dtype = dtype_argument(tracer, arguments.get("dtype"), "arange");
  if (is_none(start)) throw_break("numpy_argument", "arange without a start");
  const bool ints =
      is_int(tracer, start) && (!stop || is_int(tracer, stop)) && (!step || is_int(tracer, step));
  const bool floating = dtype == DType::kFloat64 || dtype == DType::kFloat32;
  if (ints && (!dtype || is_integer(*dtype) || floating)) {
    const SizeExpr one = stop ? size_argument(tracer, start, "arange") : SizeExpr(0);
    return arange_of_ints(tracer, one, size_argument(tracer, stop ? stop : start, "arange"),
                          step ? size_argument(tracer, step, "arange") : SizeExpr(1),
                          dtype.value_or(DType::kInt64));
  }
  bool python = true;
  for (const Sym& value : {start, stop, step}) {
    const Ref number = constant_number(value);
    if (value && !(number && (PyFloat_CheckExact(number.get()) || PyLong_CheckExact(number.get()))))
      python = false;
  }
  if (python && (!dtype || floating)) {
    if (Sym made = arange_of_constants(tracer, arguments, dtype.value_or(DType::kFloat64)))
      return made;
  }
  return call_extern_unknown(tracer, arguments);
}

// Step by step as numpy/_core/function_base.py does it, for real numbers.
Sym call_linspace(Tracer& tracer, const NumpyArguments& arguments) {
  static const std::string reason = "the number of samples of linspace";
  for (const char* name : {"start", "stop"}) {
    const auto operand = find_operand(tracer, arguments.get(name));
    const bool python = operand && operand->type.weak && !is_complex(operand->type.dtype);
    const bool numpy = operand && !operand->is_array && operand->type.dtype == DType::kFloat64;
    if (!python && !numpy) return call_extern(tracer, arguments);
  }
  const Sym axis = arguments.get("axis");
  if (axis && constant_int(tracer, axis, "linspace") != 0) return call_extern(tracer, arguments);
  const Sym count = arguments.get("num");
  const SizeExpr length = count ? size_argument(tracer, count, "linspace") : SizeExpr(50);
  if (tracer.decide_less(length, 0, reason))
    throw_break("would_raise", "linspace with a negative number");
  const bool endpoint = constant_bool(tracer, arguments.get("endpoint"), "linspace").value_or(true);
  const bool with_step =
      constant_bool(tracer, arguments.get("retstep"), "linspace").value_or(false);
  const auto wanted = dtype_argument(tracer, arguments.get("dtype"), "linspace");
  constexpr DType kType = DType::kFloat64;
  const NodeId start =
      cast_operand(tracer, as_operand(tracer, arguments.get("start"), "linspace"), kType);
  const NodeId stop =
      cast_operand(tracer, as_operand(tracer, arguments.get("stop"), "linspace"), kType);
  const NodeId delta = elementwise(tracer, Op::kSubtract, {stop, start}, kType);
  const SizeExpr intervals = tracer.simplify(endpoint ? length - 1 : length);
  const std::vector<SizeExpr> dims{tracer.simplify(length)};
  const NodeId index = positions(tracer, dims, 0);
  NodeId node = cast(tracer, index, kType), step = kNoNode;
  if (tracer.decide_less(0, intervals, reason)) {
    step = elementwise(tracer, Op::kDivide, {delta, size_node(tracer, intervals, kType)}, kType);
    const NodeId zero = int_node(tracer, 0, kType);
    // A step that underflows is computed in another way.
    require(tracer, elementwise(tracer, Op::kLogicalOr,
                                {elementwise(tracer, Op::kNotEqual, {step, zero}, DType::kBool),
                                 elementwise(tracer, Op::kEqual, {delta, zero}, DType::kBool)},
                                DType::kBool));
    node = elementwise(tracer, Op::kMultiply, {node, step}, kType);
  } else {
    node = elementwise(tracer, Op::kMultiply, {node, delta}, kType);
  }
  node = elementwise(tracer, Op::kAdd, {node, start}, kType);
  if (endpoint && tracer.decide_less(1, length, reason)) {
    const NodeId last = elementwise(
        tracer, Op::kEqual, {index, size_node(tracer, intervals, DType::kInt64)}, DType::kBool);
    node = elementwise(tracer, Op::kSelect, {last, stop, node}, kType);
  }
  const DType dtype = wanted.value_or(kType);
  if (is_integer(dtype)) node = elementwise(tracer, Op::kFloor, {node}, kType);
  Sym result = tracer.new_array(cast(tracer, node, dtype));
  // NumPy fills a reshaped arange in place.
  if (step != kNoNode && dtype == kType) result = same_view(tracer, *as_array(result));
  if (!with_step) return result;
  const Sym spacing = step == kNoNode ? tracer.constant(checked(PyFloat_FromDouble(NPY_NAN)))
                                      : tracer.new_scalar(step);
  return make_sequence(SymKind::kTuple, {result, spacing});
}

Sym call_meshgrid(Tracer& tracer, const NumpyArguments& arguments) {
  const bool copy = constant_bool(tracer, arguments.get("copy"), "meshgrid").value_or(true);
  const bool sparse = constant_bool(tracer, arguments.get("sparse"), "meshgrid").value_or(false);
  bool swap = true;
  if (const Sym indexing = arguments.get("indexing")) {
    const auto text = tracer.as_constant(indexing, "the indexing of meshgrid");
    if (!text || !PyUnicode_Check(text->get()))
      throw_break("numpy_argument", "meshgrid's indexing");
    swap = PyUnicode_CompareWithASCIIString(text->get(), "xy") == 0;
    if (!swap && PyUnicode_CompareWithASCIIString(text->get(), "ij") != 0) {
      throw_break("would_raise", "Valid values for `indexing` are 'xy' and 'ij'.");
    }
  }
  const size_t rank = arguments.rest.size();
  std::vector<Sym> parts;
  std::vector<SizeExpr> all(rank, SizeExpr(1));
  for (size_t k = 0; k < rank; ++k) {
    const Sym value = as_array_value(tracer, arguments.rest[k], "meshgrid");
    const size_t axis = swap && rank > 1 && k < 2 ? 1 - k : k;
    std::vector<SizeExpr> dims(rank, SizeExpr(1));
    dims[axis] = -1;
    parts.push_back(reshape_array(tracer, static_cast<ArrayValue&>(*value), dims));
    all[axis] = dims_of(tracer, static_cast<ArrayValue&>(*parts.back()))[axis];
  }
  for (Sym& part : parts) {
    if (!sparse) {
      if (!copy) throw_break("numpy_argument", "meshgrid without copies");
      part = broadcast_view(tracer, static_cast<ArrayValue&>(*part), all);
    }
    if (copy) part = copy_array(tracer, static_cast<ArrayValue&>(*part), 'C');
  }
  return make_sequence(SymKind::kTuple, std::move(parts));
}

}  // namespace numlift::frame_eval
