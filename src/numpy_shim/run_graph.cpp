// GraphRunner: each node by the NumPy call that defines it.
#include "numlift/numpy_shim/run_graph.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "copy_in_place.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/linear_algebra.h"
#include "numlift/numpy_shim/errstate.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift::numpy_shim {

namespace {

Ref numpy_module() { return checked(PyImport_ImportModule("numpy")); }

Ref numpy_attribute(const char* name) {
  return checked(PyObject_GetAttrString(numpy_module().get(), name));
}

PyArray_Descr* new_descr(DType dtype) {
  auto* descr = reinterpret_cast<PyArray_Descr*>(descr_of(dtype).get());
  Py_INCREF(descr);
  return descr;
}

Ref tuple_of(const std::vector<Ref>& items) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Ref(items[i]).release());
  }
  return tuple;
}

// An ndarray for array types, a NumPy scalar for scalars.
Ref normalized(Ref value, const Type& type) {
  if (type.value_kind == ValueKind::kObject) return value;
  if (type.value_kind == ValueKind::kArray) {
    if (PyArray_Check(value.get())) return value;
    return checked(PyArray_FromAny(value.get(), new_descr(type.dtype), 0, 0, 0, nullptr));
  }
  if (PyArray_IsScalar(value.get(), Generic)) return value;
  Ref array = checked(PyArray_FromAny(value.get(), new_descr(type.dtype), 0, 0, 0, nullptr));
  return checked(PyArray_ToScalar(PyArray_DATA(as_array(array)), as_array(array)));
}

Ref in_order(Ref value, const AxisOrder& order) {
  PyArrayObject* array = as_array(value);
  const int rank = PyArray_NDIM(array);
  std::vector<npy_intp> strides(static_cast<size_t>(rank));
  npy_intp step = PyArray_ITEMSIZE(array);
  bool same = true;
  for (int k = rank; k-- > 0;) {
    const int axis = order.empty() ? k : order[static_cast<size_t>(k)];
    strides[static_cast<size_t>(axis)] = step;
    same = same && PyArray_STRIDE(array, axis) == step;
    step *= PyArray_DIM(array, axis);
  }
  if (same || step == 0) return value;
  PyArray_Descr* descr = PyArray_DESCR(array);
  Py_INCREF(descr);
  Ref fresh = checked(PyArray_NewFromDescr(&PyArray_Type, descr, rank, PyArray_DIMS(array),
                                           strides.data(), nullptr, 0, nullptr));
  check_status(PyArray_CopyInto(as_array(fresh), array));
  return fresh;
}

}  // namespace

Ref copy_in_place(PyArrayObject* array) {
  Ref packed = checked(PyArray_NewCopy(array, NPY_KEEPORDER));
  const npy_intp* strides = PyArray_STRIDES(array);
  if (std::equal(strides, strides + PyArray_NDIM(array), PyArray_STRIDES(as_array(packed)))) {
    return packed;
  }
  npy_intp before = 0, bytes = PyArray_ITEMSIZE(array);
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
    const npy_intp reach = (PyArray_DIM(array, axis) - 1) * PyArray_STRIDE(array, axis);
    before += std::max<npy_intp>(-reach, 0);
    bytes += std::abs(reach);
  }
  const Ref block = checked(PyArray_ZEROS(1, &bytes, NPY_UINT8, 0));
  PyArray_Descr* descr = PyArray_DESCR(array);
  Py_INCREF(descr);
  Ref copy = checked(PyArray_NewFromDescr(
      &PyArray_Type, descr, PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array),
      PyArray_BYTES(as_array(block)) + before, NPY_ARRAY_WRITEABLE, nullptr));
  check_status(PyArray_SetBaseObject(as_array(copy), Ref(block).release()));
  check_status(PyArray_CopyInto(as_array(copy), array));
  return copy;
}

namespace {

Ref as_ndarray(BorrowedRef value) {
  if (PyArray_Check(value.get())) return Ref::create(value);
  return checked(PyArray_FromAny(value.get(), nullptr, 0, 0, 0, nullptr));
}

const char* reducing_ufunc(Op op) {
  switch (op) {
    case Op::kReduceSum:
      return "add";
    case Op::kReduceProd:
      return "multiply";
    case Op::kReduceMin:
      return "minimum";
    case Op::kReduceMax:
      return "maximum";
    case Op::kReduceAll:
      return "logical_and";
    case Op::kReduceAny:
      return "logical_or";
    default:
      NUMLIFT_UNREACHABLE();
  }
}

// Ufuncs wrap integers silently, the operators of NumPy's scalars tell.
bool tells_overflow(const Graph& graph, const Node& node) {
  const bool is_scalar = node.type.value_kind == ValueKind::kNumpyScalar ||
                         node.type.value_kind == ValueKind::kPyScalar;
  return is_scalar && (node.fp_checks & kFpOver) != 0 &&
         is_integer(graph.node(node.operands[0]).type.dtype) && wraps_silently_on_arrays(node.op);
}

Ref by_operator(Op op, std::vector<Ref> operands) {
  for (Ref& operand : operands) {
    if (PyArray_Check(operand.get()))
      operand = checked(PyArray_ToScalar(PyArray_DATA(as_array(operand)), as_array(operand)));
  }
  PyObject* const a = operands[0].get();
  switch (op) {
    case Op::kAdd:
      return checked(PyNumber_Add(a, operands[1].get()));
    case Op::kSubtract:
      return checked(PyNumber_Subtract(a, operands[1].get()));
    case Op::kMultiply:
      return checked(PyNumber_Multiply(a, operands[1].get()));
    case Op::kNegative:
      return checked(PyNumber_Negative(a));
    case Op::kAbsolute:
      return checked(PyNumber_Absolute(a));
    default:
      NUMLIFT_UNREACHABLE();
  }
}

Ref zeros(DType dtype, std::vector<int64_t>* dims) {
  return checked(PyArray_Zeros(static_cast<int>(dims->size()),
                               reinterpret_cast<npy_intp*>(dims->data()), new_descr(dtype), 0));
}

// Memory of its own, in the order that the node says.
bool is_fresh(const Node& node) {
  if (node.type.value_kind != ValueKind::kArray) return false;
  if (node.op == Op::kStore || node.op == Op::kMerge || node.op == Op::kResize ||
      node.op == Op::kPlaceholder || node.op == Op::kExternItem)
    return false;
  return op_info(node.op).op_class != OpClass::kView;
}

// The public function that runs this loop.
Ref gufunc_of(const std::string& loop) {
  const std::string name = loop.substr(0, loop.find('.'));
  for (const LinearAlgebra& row : kLinearAlgebra) {
    if (name != row.gufunc) continue;
    const std::string function(row.path.substr(row.path.rfind('.') + 1));
    return checked(PyObject_GetAttrString(numpy_attribute("linalg").get(), function.c_str()));
  }
  return numpy_attribute(name.c_str());
}

}  // namespace

Ref laid_out(Ref value, const Node& node) {
  return is_fresh(node) ? in_order(std::move(value), node.order) : value;
}

Ref numpy_function_of(const Graph& graph, const Node& node) {
  const OpClass op_class = op_info(node.op).op_class;
  if (op_class == OpClass::kReduction) {
    if (node.op == Op::kReduceArgmin) return numpy_attribute("argmin");
    if (node.op == Op::kReduceArgmax) return numpy_attribute("argmax");
    return checked(
        PyObject_GetAttrString(numpy_attribute(reducing_ufunc(node.op)).get(), "reduce"));
  }
  if (op_class == OpClass::kGufunc)
    return gufunc_of(graph.loops[attr_of<LoopAttr>(node).loop].name);
  if (op_class != OpClass::kElementwise) return {};
  switch (node.op) {
    case Op::kCast:
      if (node.type.value_kind == ValueKind::kArray) return numpy_attribute("astype");
      return Ref::create(scalar_class_of(node.type.dtype));
    case Op::kSelect:
      return numpy_attribute("where");
    case Op::kReal:
      return numpy_attribute("real");
    case Op::kImag:
      return numpy_attribute("imag");
    case Op::kMakeComplex:
      return {};
    case Op::kNumpyLoop: {
      const std::string& name = graph.loops[attr_of<LoopAttr>(node).loop].name;
      return numpy_attribute(name.substr(0, name.find('.')).c_str());
    }
    default:  // elementwise ops are named after their ufunc
      return numpy_attribute(std::string(op_info(node.op).text).c_str());
  }
}

GraphRunner::GraphRunner(const Graph& graph, std::vector<Ref> inputs, std::vector<int64_t> symbols,
                         ExternCaller call_extern)
    : graph_(graph),
      inputs_(std::move(inputs)),
      symbols_(std::move(symbols)),
      call_extern_(std::move(call_extern)) {}

int64_t GraphRunner::size(const SizeExpr& expr) {
  std::vector<SymbolId> used;
  expr.collect_symbols(&used);
  for (SymbolId id : used) {
    // Known once the extern has run.
    const Symbol& symbol = graph_.symbols[static_cast<size_t>(id)];
    if (symbol.kind == SymbolKind::kExternDim && symbol.input < graph_.size()) {
      (void)value(NodeId{symbol.input});
    }
  }
  const auto value = expr.evaluate(symbols_);
  if (!value && in_order_) {
    PyErr_SetString(PyExc_OverflowError, "an integer of the program leaves int64");
    throw PyError();
  }
  NUMLIFT_CHECK(value.has_value(), "size {} overflows", expr.text());
  return *value;
}

std::vector<int64_t> GraphRunner::sizes(const std::vector<SizeExpr>& exprs) {
  std::vector<int64_t> values;
  for (const SizeExpr& expr : exprs) values.push_back(size(expr));
  return values;
}

void GraphRunner::take_extern_item(NodeId id, BorrowedRef item) {
  const Type& type = graph_.node(id).type;
  if (type.value_kind != ValueKind::kArray) return;
  bool fits =
      is_exact_ndarray(item) && PyArray_NDIM(as_array(item)) == type.rank() &&
      dtype_of_descr(reinterpret_cast<PyObject*>(PyArray_DESCR(as_array(item)))) == type.dtype;
  for (int axis = 0; fits && axis < type.rank(); ++axis) {
    const SizeExpr& dim = type.dims[static_cast<size_t>(axis)];
    const int64_t found = PyArray_DIM(as_array(item), axis);
    const auto id_of_symbol = dim.as_symbol();
    const Symbol* symbol =
        id_of_symbol ? &graph_.symbols[static_cast<size_t>(*id_of_symbol)] : nullptr;
    if (symbol != nullptr && symbol->kind == SymbolKind::kExternDim &&
        symbol->input == index_of(id)) {
      fits = (found == 1) == (symbol->hint == 1);  // the trace took it to broadcast, or not
      symbols_[static_cast<size_t>(*id_of_symbol)] = found;
    } else {
      fits = size(dim) == found;
    }
  }
  if (fits) return;
  PyErr_SetString(PyExc_RuntimeError, "an extern call gave another type than when it was traced");
  throw PyError();
}

Ref GraphRunner::value(NodeId id) {
  if (values_.size() < graph_.size()) values_.resize(graph_.size());
  if (!values_[index_of(id)]) values_[index_of(id)] = make_value(id);
  return values_[index_of(id)];
}

Ref GraphRunner::make_value(NodeId id) {
  const Node& node = graph_.node(id);
  const OpClass op_class = op_info(node.op).op_class;
  std::optional<RaisingErrState> raising;
  if (raises_conditions_ && (op_class == OpClass::kElementwise || op_class == OpClass::kReduction ||
                             op_class == OpClass::kGufunc))
    raising.emplace(node.fp_checks);
  Ref computed = compute(id);
  if (node.op == Op::kExternItem) take_extern_item(id, computed);
  computed = normalized(std::move(computed), node.type);
  return laid_out(std::move(computed), node);
}

Ref GraphRunner::result(NodeId id) {
  Ref found = value(id);
  if (graph_.node(id).type.value_kind != ValueKind::kPyScalar) return found;
  return checked(PyObject_CallMethod(found.get(), "item", nullptr));
}

Ref GraphRunner::compute(NodeId id) {
  const Node& node = graph_.node(id);
  switch (op_info(node.op).op_class) {
    case OpClass::kElementwise:
      return elementwise(node);
    case OpClass::kReduction:
      return reduction(node);
    case OpClass::kGather: {
      std::vector<Ref> index;
      for (size_t i = 1; i < node.operands.size(); ++i) index.push_back(value(node.operands[i]));
      return checked(PyObject_GetItem(value(node.operands[0]).get(), tuple_of(index).get()));
    }
    case OpClass::kGufunc: {
      std::vector<Ref> operands;
      for (NodeId operand : node.operands) operands.push_back(value(operand));
      return checked(
          PyObject_CallObject(numpy_function_of(graph_, node).get(), tuple_of(operands).get()));
    }
    case OpClass::kView:
      return view(node, value(node.operands[0]));
    case OpClass::kMemory: {
      if (node.op == Op::kStore) return store(node);
      if (node.op == Op::kMerge) {
        NUMLIFT_CHECK(in_order_, "%{}: paths meet in a graph that is not run", index_of(id));
        const auto resized = resized_.find(graph_.buffer_of(id));
        return resized == resized_.end() ? value(node.operands[0]) : resized->second;
      }
      if (node.op == Op::kResize) {
        auto dims = sizes(node.type.dims);
        Ref memory = in_order(zeros(node.type.dtype, &dims), node.order);
        resized_[graph_.buffer_of(id)] = memory;
        return memory;
      }
      Ref operand = value(node.operands[0]);
      // The operand may be a scalar, of which the copy is a 0-d array.
      return checked(PyArray_FromAny(operand.get(), nullptr, 0, 0, NPY_ARRAY_ENSURECOPY, nullptr));
    }
    case OpClass::kExtern: {
      if (node.op == Op::kExtern) {
        std::vector<Ref> operands;
        for (NodeId operand : node.operands) operands.push_back(result(operand));
        return call_extern_(attr_of<ExternAttr>(node).call, operands);
      }
      Ref part = value(node.operands[0]);
      for (int index : attr_of<ExternItemAttr>(node).path) {
        part = checked(PySequence_GetItem(part.get(), index));
      }
      return part;
    }
    case OpClass::kControl:
      NUMLIFT_UNREACHABLE();
    case OpClass::kLeaf:
      break;
  }
  switch (node.op) {
    case Op::kPlaceholder:
      return inputs_.at(attr_of<PlaceholderAttr>(node).input);
    case Op::kConstant: {
      const ScalarBits& bits = attr_of<ConstantAttr>(node).value;
      Ref descr = Ref::create(descr_of(bits.dtype));
      auto bytes = bits.bytes;
      return checked(
          PyArray_Scalar(bytes.data(), reinterpret_cast<PyArray_Descr*>(descr.get()), nullptr));
    }
    case Op::kSizeValue:
      return checked(PyLong_FromLongLong(size(attr_of<SizeAttr>(node).value)));
    case Op::kIota: {
      const auto dims = sizes(node.type.dims);
      const auto axis = static_cast<size_t>(attr_of<IotaAttr>(node).axis);
      Ref line = checked(PyArray_Arange(0, static_cast<double>(dims[axis]), 1, NPY_INT64));
      std::vector<Ref> shape;
      for (size_t k = 0; k < dims.size(); ++k) {
        shape.push_back(checked(PyLong_FromLongLong(k == axis ? dims[axis] : 1)));
      }
      Ref column = checked(PyObject_CallMethod(line.get(), "reshape", "O", tuple_of(shape).get()));
      shape.clear();
      for (int64_t dim : dims) shape.push_back(checked(PyLong_FromLongLong(dim)));
      return checked(PyObject_CallFunction(numpy_attribute("broadcast_to").get(), "OO",
                                           column.get(), tuple_of(shape).get()));
    }
    case Op::kEmpty: {
      resized_.erase(id);
      auto dims = sizes(node.type.dims);
      return zeros(node.type.dtype, &dims);
    }
    default:
      NUMLIFT_UNREACHABLE();
  }
}

Ref GraphRunner::elementwise(const Node& node) {
  std::vector<Ref> operands;
  for (NodeId operand : node.operands) operands.push_back(value(operand));
  if (tells_overflow(graph_, node)) return by_operator(node.op, std::move(operands));
  switch (node.op) {
    case Op::kCast: {
      Ref array = as_ndarray(operands[0]);
      return checked(PyArray_CastToType(as_array(array), new_descr(node.type.dtype), 0));
    }
    case Op::kMakeComplex: {
      Ref real = as_ndarray(operands[0]);
      Ref complex = checked(PyArray_CastToType(as_array(real), new_descr(node.type.dtype), 0));
      check_status(PyObject_SetAttrString(complex.get(), "imag", operands[1].get()));
      return complex;
    }
    default:
      return checked(
          PyObject_CallObject(numpy_function_of(graph_, node).get(), tuple_of(operands).get()));
  }
}

Ref GraphRunner::reduction(const Node& node) {
  Ref operand = as_ndarray(value(node.operands[0]));
  const auto& axes = attr_of<ReduceAttr>(node).axes;
  const int rank = PyArray_NDIM(as_array(operand));
  if (node.op == Op::kReduceArgmin || node.op == Op::kReduceArgmax) {
    // The reduced axes become one last axis, numbered in C order.
    std::vector<npy_intp> order, shape;
    for (int axis = 0; axis < rank; ++axis) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
        order.push_back(axis);
        shape.push_back(PyArray_DIM(as_array(operand), axis));
      }
    }
    npy_intp reduced = 1;
    for (int axis : axes) {
      order.push_back(axis);
      reduced *= PyArray_DIM(as_array(operand), axis);
    }
    shape.push_back(reduced);
    PyArray_Dims permutation{order.data(), rank};
    Ref moved = checked(PyArray_Transpose(as_array(operand), &permutation));
    PyArray_Dims target{shape.data(), static_cast<int>(shape.size())};
    Ref flat = checked(PyArray_Newshape(as_array(moved), &target, NPY_CORDER));
    const int last = static_cast<int>(shape.size()) - 1;
    return checked(node.op == Op::kReduceArgmin ? PyArray_ArgMin(as_array(flat), last, nullptr)
                                                : PyArray_ArgMax(as_array(flat), last, nullptr));
  }
  std::vector<Ref> axis_objects;
  for (int axis : axes) axis_objects.push_back(checked(PyLong_FromLong(axis)));
  Ref reduce = numpy_function_of(graph_, node);
  return checked(PyObject_CallFunction(reduce.get(), "OOO", operand.get(),
                                       tuple_of(axis_objects).get(),
                                       descr_of(node.type.dtype).get()));
}

Ref GraphRunner::view(const Node& node, BorrowedRef operand) {
  Ref source = as_ndarray(operand);
  auto dims = sizes(node.type.dims);
  const auto rank = static_cast<int>(dims.size());
  if (node.op == Op::kReshape) {
    PyArray_Dims shape{reinterpret_cast<npy_intp*>(dims.data()), rank};
    return checked(PyArray_Newshape(as_array(source), &shape, NPY_CORDER));
  }
  if (node.op == Op::kPartView) {
    return checked(
        PyObject_GetAttrString(source.get(), attr_of<PartAttr>(node).imaginary ? "imag" : "real"));
  }
  const IndexMap& map = attr_of<ViewAttr>(node).map;
  std::vector<npy_intp> strides(dims.size(), 0);
  npy_intp offset = 0;
  for (size_t k = 0; k < map.axes.size(); ++k) {
    const npy_intp stride = PyArray_STRIDE(as_array(source), static_cast<int>(k));
    offset += size(map.axes[k].start) * stride;
    if (map.axes[k].axis >= 0) {
      strides[static_cast<size_t>(map.axes[k].axis)] += size(map.axes[k].step) * stride;
    }
  }
  const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  PyArray_Descr* descr = PyArray_DESCR(as_array(source));
  Py_INCREF(descr);
  Ref result = checked(
      PyArray_NewFromDescr(&PyArray_Type, descr, rank, reinterpret_cast<npy_intp*>(dims.data()),
                           strides.data(), PyArray_BYTES(as_array(source)) + (empty ? 0 : offset),
                           PyArray_FLAGS(as_array(source)) & NPY_ARRAY_WRITEABLE, nullptr));
  check_status(PyArray_SetBaseObject(as_array(result), Ref(source).release()));
  return result;
}

Ref GraphRunner::through_views(NodeId place, NodeId root, BorrowedRef buffer) {
  if (place == root) return Ref::create(buffer);
  const Node& node = graph_.node(place);
  return view(node, through_views(node.operands[0], root, buffer));
}

Ref GraphRunner::store(const Node& node) {
  NodeId root = node.operands[0];
  while (op_info(graph_.node(root).op).op_class == OpClass::kView)
    root = graph_.node(root).operands[0];
  Ref before = as_ndarray(value(root));
  Ref after = in_order_ ? before : copy_in_place(as_array(before));
  Ref place = through_views(node.operands[0], root, after);
  Ref content = as_ndarray(value(node.operands[1]));
  check_status(PyArray_CopyInto(as_array(place), as_array(content)));
  return after;
}

}  // namespace numlift::numpy_shim
