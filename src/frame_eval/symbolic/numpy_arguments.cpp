// Constant arguments of NumPy calls: flags, dtypes, axes.
#include <algorithm>

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_views.h"

namespace numlift::frame_eval {

std::optional<bool> constant_bool(Tracer& tracer, const Sym& value, std::string_view what) {
  if (value == nullptr) return std::nullopt;
  const auto constant = tracer.as_deep_constant(value, fmt::format("a flag of {}", what));
  if (!constant)
    throw_break("data_dependent", fmt::format("{}: a flag that is not a constant", what));
  const int truth = PyObject_IsTrue(constant->get());
  if (truth < 0) {
    PyErr_Clear();
    throw_break("would_raise", fmt::format("{}: a flag without truth value", what));
  }
  return truth != 0;
}

std::optional<int64_t> constant_int(Tracer& tracer, const Sym& value, std::string_view what) {
  if (is_none(value)) return std::nullopt;
  const auto constant =
      tracer.as_deep_constant(value, fmt::format("an integer argument of {}", what));
  if (!constant)
    throw_break("data_dependent", fmt::format("{}: an integer that is not a constant", what));
  Ref index = Ref::steal(PyNumber_Index(constant->get()));
  int overflow = 0;
  const long long number = index ? PyLong_AsLongLongAndOverflow(index.get(), &overflow) : 0;
  if (!index || overflow != 0) {
    PyErr_Clear();
    throw_break("would_raise", fmt::format("{}: an argument that is not an integer", what));
  }
  return number;
}

std::optional<DType> dtype_argument(Tracer& tracer, const Sym& value, std::string_view what) {
  if (is_none(value)) return std::nullopt;
  const auto constant = tracer.as_constant(value, fmt::format("the dtype asked of {}", what));
  if (!constant)
    throw_break("numpy_argument", fmt::format("{}: a dtype that is not a constant", what));
  PyArray_Descr* raw = nullptr;
  if (PyArray_DescrConverter(constant->get(), &raw) == NPY_FAIL) {
    PyErr_Clear();
    throw_break("would_raise", fmt::format("{}: no data type", what));
  }
  Ref descr = Ref::steal(reinterpret_cast<PyObject*>(raw));
  const auto dtype = numpy_shim::dtype_of_descr(descr);
  if (!dtype) {
    const Ref name = checked(PyObject_Str(descr.get()));
    throw_break("opaque_dtype",
                fmt::format("{}: the dtype {}", what, PyUnicode_AsUTF8(name.get())));
  }
  return dtype;
}

int normalize_axis(int64_t axis, int rank, std::string_view what) {
  if (axis < -rank || axis >= rank) {
    throw_break("would_raise", fmt::format("{}: axis {} is out of bounds for array of dimension {}",
                                           what, axis, rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> axes_argument(Tracer& tracer, const Sym& value, int rank, std::string_view what) {
  std::vector<int> axes;
  if (is_none(value)) {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  const auto items = value->kind == SymKind::kList ? std::nullopt : sequence_items(tracer, value);
  if (items) {
    for (const Sym& item : *items) {
      if (is_none(item)) throw_break("would_raise", fmt::format("{}: an axis is None", what));
      axes.push_back(normalize_axis(*constant_int(tracer, item, what), rank, what));
    }
  } else {
    const int64_t axis = *constant_int(tracer, value, what);
    // NumPy takes axis 0 and -1 of a 0-d operand for "all axes".
    if (rank == 0 && (axis == 0 || axis == -1)) return axes;
    axes.push_back(normalize_axis(axis, rank, what));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    throw_break("would_raise", fmt::format("{}: duplicate value in 'axis'", what));
  }
  return axes;
}

std::string casting_argument(Tracer& tracer, const Sym& value, const char* missing) {
  if (value == nullptr) return missing;
  const auto constant = tracer.as_constant(value, "the casting rule asked for");
  if (constant && PyUnicode_Check(constant->get())) {
    const std::string text = PyUnicode_AsUTF8(constant->get());
    for (const char* known : {"no", "equiv", "safe", "same_kind", "unsafe"}) {
      if (text == known) return text;
    }
  }
  throw_break("numpy_argument", "a casting rule that is not known");
}

}  // namespace numlift::frame_eval
