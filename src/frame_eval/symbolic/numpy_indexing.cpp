#include "symbolic/numpy_indexing.h"

#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/numpy_extern.h"
#include "symbolic/numpy_gather.h"

namespace numlift::frame_eval {

namespace {

PyObject* object_of(const Sym& value) {
  return value->kind == SymKind::kObject ? static_cast<const ObjectValue&>(*value).object.get()
                                         : nullptr;
}

bool is_new_axis(const Sym& value) { return object_of(value) == Py_None; }
bool is_bool_object(const Sym& value) {
  PyObject* object = object_of(value);
  return object != nullptr && (PyBool_Check(object) || PyArray_IsScalar(object, Bool));
}
bool is_integer_object(const Sym& value) {
  PyObject* object = object_of(value);
  return object != nullptr && !is_bool_object(value) &&
         (PyLong_CheckExact(object) || PyArray_IsScalar(object, Integer));
}
bool is_slice(const Sym& value) {
  return value->kind == SymKind::kSlice ||
         (object_of(value) != nullptr && PySlice_Check(object_of(value)));
}
// A number that only the run knows. (An array of rank 0 is another matter: it gives a copy.)
bool is_integer_scalar(const Sym& value) {
  return value->kind == SymKind::kScalar &&
         is_integer(static_cast<const ScalarValue&>(*value).type.dtype);
}

}  // namespace

bool is_ellipsis(const Sym& value) { return object_of(value) == Py_Ellipsis; }
bool is_basic_index(const Sym& value) {
  return is_new_axis(value) || is_ellipsis(value) || is_integer_object(value) || is_slice(value) ||
         value->kind == SymKind::kSize || is_integer_scalar(value);
}
bool keeps_axes(const Sym& value) { return is_ellipsis(value) || is_slice(value); }

namespace {

// Whether the result's size depends on the values of this index. Break for what is no index.
bool is_data_sized(const Sym& value) {
  if (value->kind == SymKind::kArray) {
    const DType dtype = static_cast<const ArrayValue&>(*value).type.dtype;
    if (dtype == DType::kBool) return true;
    if (!is_integer(dtype))
      throw_break("would_raise", "an index array must be of integer or boolean type");
    return false;
  }
  if (value->kind == SymKind::kScalar) {
    const DType dtype = static_cast<const ScalarValue&>(*value).type.dtype;
    if (dtype == DType::kBool) return true;
    if (!is_integer(dtype)) throw_break("would_raise", "only integers are valid indices");
    return false;
  }
  if (is_bool_object(value)) return true;
  if (value->kind == SymKind::kList || value->kind == SymKind::kTuple) {
    bool data_sized = false;
    for (const Sym& item : static_cast<const SequenceValue&>(*value).items) {
      if (!is_basic_index(item)) data_sized = is_data_sized(item) || data_sized;
    }
    return data_sized;
  }
  throw_break("unsupported_value", "an index of a kind that is not traced");
}

// A real slice object as symbolic bounds.
Sym bound_of(Tracer& tracer, PyObject* bound) { return tracer.constant(Ref::create(bound)); }

SliceRange slice_range(Tracer& tracer, const Sym& value, const SizeExpr& length) {
  if (value->kind == SymKind::kSlice) {
    const auto& slice = static_cast<const SliceValue&>(*value);
    return resolve_slice(tracer, slice.start, slice.stop, slice.step, length);
  }
  const auto constant = tracer.as_constant(value, "a slice is compiled in");
  if (!constant) throw_break("unsupported_value", "a slice object that is not a constant");
  auto* slice = reinterpret_cast<PySliceObject*>(constant->get());
  return resolve_slice(tracer, bound_of(tracer, slice->start), bound_of(tracer, slice->stop),
                       bound_of(tracer, slice->step), length);
}

// An index that changes from iteration to iteration: counted from the end where it is negative.
SizeExpr index_in_run(Tracer& tracer, const SizeExpr& at, const SizeExpr& length) {
  static const std::string reason = "an index lies inside its axis";
  using Relation = SizeGuard::Relation;
  const auto is_negative = tracer.holds_always(Relation::kLess, at, 0, reason);
  SizeExpr place = at;
  if (!is_negative) {
    const auto scalar = [&](Op op, std::vector<NodeId> operands, DType dtype) {
      return tracer.append(op, std::move(operands), NoAttr{}, py_scalar_type(dtype));
    };
    const NodeId index = tracer.size_node(at);
    const NodeId below = scalar(Op::kLess, {index, tracer.size_node(0)}, DType::kBool);
    const NodeId from_end = tracer.size_node(at + length);
    place = tracer.size_of(scalar(Op::kSelect, {below, from_end, index}, DType::kInt64),
                           tracer.hint(at) < 0 ? tracer.hint(at + length) : tracer.hint(at));
  } else if (*is_negative) {
    place = at + length;
  }
  const auto require = [&](const SizeExpr& a, const SizeExpr& b) {
    if (tracer.decide_less_equal(a, b, reason)) return;
    throw_break("would_raise", "an index is out of bounds in a loop");
  };
  require(0, place);
  require(place, length - 1);
  return tracer.simplify(place);
}

SizeExpr integer_index(Tracer& tracer, const Sym& value, const SizeExpr& length) {
  static const std::string reason = "an index lies inside its axis";
  if (is_integer_scalar(value) && !tracer.in_region()) return place_of_index(tracer, value, length);
  SizeExpr at = size_argument(tracer, value, "an index");
  if (tracer.is_run_time(at) || tracer.is_run_time(length)) return index_in_run(tracer, at, length);
  const bool negative = tracer.decide_less(at, 0, "an index is not negative");
  if (negative) at = at + length;
  if ((negative && tracer.decide_less(at, 0, reason)) ||
      (!negative && tracer.decide_less_equal(length, at, reason))) {
    throw_break("would_raise", fmt::format("index {} is out of bounds for an axis of size {}",
                                           tracer.simplify(at).text(), length.text()));
  }
  return tracer.simplify(at);
}

}  // namespace

IndexKey parse_index(Tracer& tracer, const Sym& key) {
  IndexKey parsed;
  if (key->kind == SymKind::kTuple) {
    parsed.items = static_cast<const SequenceValue&>(*key).items;
  } else if (object_of(key) != nullptr && PyTuple_CheckExact(object_of(key))) {
    parsed.items = *sequence_items(tracer, key);
  } else {
    parsed.items = {key};
  }
  for (const Sym& item : parsed.items) {
    if (is_basic_index(item)) continue;
    parsed.kind = IndexKey::Kind::kAdvanced;
    parsed.data_sized = is_data_sized(item) || parsed.data_sized;
  }
  if (parsed.items.size() == 1 && parsed.data_sized) {
    const ArrayValue* mask = as_array(parsed.items[0]);
    if (mask != nullptr && mask->type.rank() > 0) parsed.kind = IndexKey::Kind::kMask;
  }
  return parsed;
}

Sym basic_view(Tracer& tracer, const ArrayValue& array, const IndexKey& key, bool* element) {
  size_t taken = 0;
  bool ellipsis = false;
  *element = true;
  for (const Sym& item : key.items) {
    if (is_ellipsis(item)) {
      if (ellipsis) throw_break("would_raise", "an index can only have a single ellipsis ('...')");
      ellipsis = true;
    } else if (!is_new_axis(item)) {
      ++taken;
    }
    if (is_ellipsis(item) || is_new_axis(item) || is_slice(item)) *element = false;
  }
  const std::vector<SizeExpr> from = dims_of(tracer, array);
  if (taken > from.size()) throw_break("would_raise", "too many indices for array");
  if (taken < from.size()) *element = false;
  std::vector<Sym> items = key.items;
  if (!ellipsis) items.push_back(tracer.constant(Ref::create(Py_Ellipsis)));

  IndexMap map;
  std::vector<SizeExpr> dims, strides;
  size_t axis = 0;
  const auto next_axis = [&] { return static_cast<int>(dims.size()); };
  for (const Sym& item : items) {
    if (is_new_axis(item)) {
      dims.emplace_back(1);
      strides.emplace_back(0);
    } else if (is_ellipsis(item)) {
      for (const size_t end = axis + from.size() - taken; axis < end; ++axis) {
        map.axes.push_back({0, 1, next_axis()});
        dims.push_back(from[axis]);
        strides.push_back(array.strides[axis]);
      }
    } else if (is_slice(item)) {
      const SliceRange range = slice_range(tracer, item, from[axis]);
      map.axes.push_back({range.start, range.step, next_axis()});
      dims.push_back(range.count);
      strides.push_back(array.strides[axis] * range.step);
      ++axis;
    } else {
      map.axes.push_back({integer_index(tracer, item, from[axis]), 0, -1});
      ++axis;
    }
  }
  for (SizeExpr& dim : dims) dim = tracer.simplify(dim);
  return view_of(tracer, array, std::move(map), std::move(dims), std::move(strides));
}

Sym item_at(Tracer& tracer, const ArrayValue& array, int64_t index) {
  IndexKey key;
  key.items = {tracer.constant(checked(PyLong_FromLongLong(index)))};
  bool element = false;
  Sym item = basic_view(tracer, array, key, &element);
  if (!element) return item;
  return tracer.new_scalar(
      elementwise_scalar(tracer, tracer.read(static_cast<ArrayValue&>(*item))));
}

namespace {

Sym get_item(Tracer& tracer, const Sym& value, const Sym& key) {
  const ArrayValue* array = as_array(value);
  if (array == nullptr) {
    const auto items = sequence_items(tracer, key);
    if (items && items->empty()) return value;  // scalar[()]
    throw_break("would_raise", "a NumPy scalar is indexed");
  }
  const IndexKey parsed = parse_index(tracer, key);
  if (parsed.kind == IndexKey::Kind::kBasic) {
    bool element = false;
    Sym view = basic_view(tracer, *array, parsed, &element);
    if (!element) return view;
    return tracer.new_scalar(
        elementwise_scalar(tracer, tracer.read(static_cast<ArrayValue&>(*view))));
  }
  if (!parsed.data_sized && !tracer.leaves_calls) {
    if (Sym gathered = gather_items(tracer, *array, parsed)) return gathered;
  }
  // NumPy gathers the elements inside the program.
  Ref module = checked(PyImport_ImportModule("operator"));
  const Ref getitem = checked(PyObject_GetAttrString(module.get(), "getitem"));
  const Sym arguments[] = {value, key};
  return tracer.extern_call(getitem, arguments, {}, "numpy.ndarray.__getitem__",
                            parsed.data_sized ? ExternDims::kUnknown : ExternDims::kGuess);
}

}  // namespace

Sym numpy_get_item(Tracer& tracer, const Sym& value, const Sym& key) {
  return tracer.operation([] { return "numpy.ndarray.__getitem__"; },
                          [&] { return get_item(tracer, value, key); });
}

}  // namespace numlift::frame_eval
