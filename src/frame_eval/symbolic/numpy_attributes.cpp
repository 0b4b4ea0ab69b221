// Attributes of arrays and NumPy scalars, len() and iteration.
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/function_table.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "numlift/support/options.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/numpy_indexing.h"
#include "symbolic/numpy_store.h"

namespace numlift::frame_eval {

namespace {

Sym int_object(Tracer& tracer, int64_t value) {
  return tracer.constant(checked(PyLong_FromLongLong(value)));
}

Sym size_tuple(Tracer& tracer, const std::vector<SizeExpr>& sizes) {
  std::vector<Sym> items;
  for (const SizeExpr& size : sizes) items.push_back(tracer.new_size(size));
  return make_sequence(SymKind::kTuple, std::move(items));
}

// Strides as the user sees them. Those of axes without extent are whatever they are: not traced.
Sym strides_of(Tracer& tracer, const ArrayValue& array) {
  static const std::string reason = "the strides of an array are asked for";
  for (const SizeExpr& dim : dims_of(tracer, array)) {
    if (tracer.decide_equal(dim, 0, reason))
      throw_break("numpy_argument", "strides of an empty array");
    if (array.storage->is_input && tracer.decide_equal(dim, 1, reason)) {
      throw_break("numpy_argument", "strides of an array with axes of size 1");
    }
  }
  return size_tuple(tracer, array.strides);
}

Sym transposed(Tracer& tracer, const ArrayValue& array) { return reverse_all_axes(tracer, array); }

// Null: no attribute of this kind, perhaps a method.
Sym array_attribute(Tracer& tracer, const Sym& value, const std::string& name) {
  const auto& array = static_cast<const ArrayValue&>(*value);
  const DType dtype = array.type.dtype;
  const std::vector<SizeExpr> dims = dims_of(tracer, array);
  if (name == "shape") return size_tuple(tracer, dims);
  if (name == "ndim") return int_object(tracer, array.type.rank());
  if (name == "size") return tracer.new_size(element_count(tracer, dims));
  if (name == "dtype") return tracer.constant(Ref::create(numpy_shim::descr_of(dtype)));
  if (name == "itemsize") return int_object(tracer, item_size(dtype));
  if (name == "nbytes") return tracer.new_size(element_count(tracer, dims) * item_size(dtype));
  if (name == "strides") return strides_of(tracer, array);
  if (name == "T") return transposed(tracer, array);
  if (name == "mT") {
    const int rank = array.type.rank();
    if (rank < 2) throw_break("would_raise", "matrix transpose with ndim < 2 is undefined");
    std::vector<int> axes;
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    std::swap(axes[static_cast<size_t>(rank) - 1], axes[static_cast<size_t>(rank) - 2]);
    return permute_axes(tracer, array, axes);
  }
  if (name == "real" || name == "imag") return part_of(tracer, value, name == "imag");
  if (name == "device") return tracer.constant(checked(PyUnicode_FromString("cpu")));
  return nullptr;
}

// A run-time NumPy scalar.
Sym scalar_attribute(Tracer& tracer, const Sym& value, const std::string& name) {
  const auto& scalar = static_cast<const ScalarValue&>(*value);
  const DType dtype = scalar.type.dtype;
  if (name == "shape" || name == "strides") return make_sequence(SymKind::kTuple, {});
  if (name == "ndim") return int_object(tracer, 0);
  if (name == "size") return int_object(tracer, 1);
  if (name == "dtype") return tracer.constant(Ref::create(numpy_shim::descr_of(dtype)));
  if (name == "itemsize" || name == "nbytes") return int_object(tracer, item_size(dtype));
  if (name == "T") return value;
  if (name == "device") return tracer.constant(checked(PyUnicode_FromString("cpu")));
  if (name == "real" || name == "imag") {
    if (is_complex(dtype)) {
      return tracer.new_scalar(elementwise(tracer, name == "real" ? Op::kReal : Op::kImag,
                                           {scalar.node}, real_part(dtype)));
    }
    if (name == "real") return value;
    return tracer.new_scalar(int_node(tracer, 0, dtype));
  }
  return nullptr;
}

bool is_method(BorrowedRef name) {
  return numpy_shim::find_method(PyUnicode_AsUTF8(name.get())) != nullptr;
}

}  // namespace

Sym numpy_get_attribute(Tracer& tracer, const Sym& value, BorrowedRef name) {
  const std::string text = PyUnicode_AsUTF8(name.get());
  Sym found;
  if (value->kind == SymKind::kArray || value->kind == SymKind::kScalar) {
    found = tracer.operation([&] { return "numpy.ndarray." + text; },
                             [&] {
                               return value->kind == SymKind::kArray
                                          ? array_attribute(tracer, value, text)
                                          : scalar_attribute(tracer, value, text);
                             });
  } else if (!is_method(name)) {
    const auto constant =
        tracer.as_constant(value, "an attribute of a NumPy scalar is compiled in");
    if (!constant) throw_break("unsupported_value", "an attribute of a NumPy scalar");
    Ref content = Ref::steal(PyObject_GetAttr(constant->get(), name.get()));
    if (!content) PyErr_Clear();
    if (!content) throw_break("would_raise", fmt::format("no attribute '{}'", text));
    if (PyCallable_Check(content.get()))
      throw_break("unsupported_numpy", fmt::format("method '{}'", text));
    return tracer.constant(std::move(content));
  }
  if (found) return found;
  if (is_method(name)) return std::make_shared<MethodValue>(value, nullptr, Ref::create(name));
  const bool is_known =
      value->kind == SymKind::kArray && _PyType_Lookup(&PyArray_Type, name.get()) != nullptr;
  throw_break(value->kind != SymKind::kArray || is_known ? "unsupported_numpy" : "would_raise",
              fmt::format("attribute '{}' of an array", text));
}

void numpy_set_attribute(Tracer& tracer, const Sym& value, BorrowedRef name, const Sym& content) {
  const std::string text = PyUnicode_AsUTF8(name.get());
  if (value->kind == SymKind::kArray && (text == "real" || text == "imag")) {
    const bool imaginary = text == "imag";
    if (imaginary && !is_complex(static_cast<ArrayValue&>(*value).type.dtype)) {
      throw_break("would_raise", "array does not have imaginary part to set");
    }
    const Sym part = part_of(tracer, value, imaginary);
    assign(tracer, static_cast<ArrayValue&>(*part), content);
    return;
  }
  throw_break("unsupported_numpy", fmt::format("assignment to attribute '{}'", text));
}

Sym numpy_length(Tracer& tracer, const Sym& value) {
  const ArrayValue* array = as_array(value);
  if (array == nullptr || array->type.rank() == 0)
    throw_break("would_raise", "len() of unsized object");
  return tracer.new_size(dims_of(tracer, *array)[0]);
}

int64_t numpy_row_count(Tracer& tracer, const Sym& value) {
  const ArrayValue* array = as_array(value);
  if (array == nullptr || array->type.rank() == 0)
    throw_break("would_raise", "iteration over a 0-d array");
  const SizeExpr length = dims_of(tracer, *array)[0];
  if (tracer.hint(length) > options().unroll_limit) {
    throw_break("too_long", fmt::format("iteration over {} rows of an array", tracer.hint(length)));
  }
  return tracer.specialize(length, "the rows of an array are traced one by one");
}

std::vector<Sym> numpy_iterate(Tracer& tracer, const Sym& value) {
  const int64_t count = numpy_row_count(tracer, value);
  std::vector<Sym> items;
  for (int64_t i = 0; i < count; ++i) items.push_back(item_at(tracer, *as_array(value), i));
  return items;
}

}  // namespace numlift::frame_eval
