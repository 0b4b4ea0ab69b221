// Tracer: calls that NumPy itself answers inside the program (externs), and present values.
//
// The type of an extern's result is learned by calling it once now, on the present values of its
// arguments; the program checks at run time that it is so again, and restarts in CPython when not.
#include <algorithm>

#include "numlift/frame_eval/marks.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/numpy_shim/run_graph.h"
#include "numlift/py/py_error.h"
#include "overlap.h"
#include "symbolic/extern_recipe.h"
#include "symbolic/numpy_common.h"
#include "symbolic/tracer_state.h"
#include "symbolic/pure.h"
#include "symbolic/silenced_numpy.h"

namespace numlift::frame_eval {

namespace {

std::string current_error_text() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref owned_type = Ref::steal(type), owned_value = Ref::steal(value),
      owned_traceback = Ref::steal(traceback);
  Ref text = Ref::steal(owned_value ? PyObject_Str(owned_value.get()) : nullptr);
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  std::string name =
      owned_type ? reinterpret_cast<PyTypeObject*>(owned_type.get())->tp_name : "error";
  std::string result = utf8 ? fmt::format("{}: {}", name, utf8) : name;
  PyErr_Clear();
  return result;
}

// The array that owns the memory that `array` looks at.
PyObject* memory_owner(PyObject* array) {
  while (PyArray_Check(array) && PyArray_BASE(numpy_shim::as_array(array)) != nullptr &&
         PyArray_Check(PyArray_BASE(numpy_shim::as_array(array)))) {
    array = PyArray_BASE(numpy_shim::as_array(array));
  }
  return array;
}

bool share_elements(const Ref& a, const Ref& b) {
  const Ref numpy = checked(PyImport_ImportModule("numpy"));
  const Ref answer =
      checked(PyObject_CallMethod(numpy.get(), "shares_memory", "OO", a.get(), b.get()));
  return answer.get() == Py_True;
}

}  // namespace

SilencedNumpy::SilencedNumpy() {
  Ref numpy = checked(PyImport_ImportModule("numpy"));
  Ref errstate = checked(PyObject_GetAttrString(numpy.get(), "errstate"));
  Ref none = checked(PyTuple_New(0));
  Ref all = checked(Py_BuildValue("{s:s}", "all", "ignore"));
  errstate_ = checked(PyObject_Call(errstate.get(), none.get(), all.get()));
  Ref warnings = checked(PyImport_ImportModule("warnings"));
  warnings_ = checked(PyObject_CallMethod(warnings.get(), "catch_warnings", nullptr));
  Ref a = checked(PyObject_CallMethod(errstate_.get(), "__enter__", nullptr));
  Ref b = checked(PyObject_CallMethod(warnings_.get(), "__enter__", nullptr));
  Ref c = checked(PyObject_CallMethod(warnings.get(), "simplefilter", "s", "ignore"));
}

SilencedNumpy::~SilencedNumpy() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref a = Ref::steal(
      PyObject_CallMethod(warnings_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  Ref b = Ref::steal(
      PyObject_CallMethod(errstate_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  PyErr_Restore(type, value, traceback);
}

// One extern call while it is traced: arguments to operands and recipe, result to values.
class ExternCall {
 public:
  ExternCall(Tracer& tracer, std::string name, ExternDims dims, Sym generator = nullptr,
             Ref stand_in = {})
      : tracer_(tracer),
        name_(std::move(name)),
        dims_(dims),
        generator_(std::move(generator)),
        stand_in_(std::move(stand_in)) {}

  Sym run(BorrowedRef callable, std::span<const Sym> args,
          std::span<const std::pair<Ref, Sym>> kwargs, const PromisedResult& promised) {
    recipe_.callable = Ref::create(callable);
    for (const Sym& arg : args) recipe_.arguments.push_back(argument(arg));
    if (!kwargs.empty()) {
      recipe_.keyword_names = checked(PyTuple_New(static_cast<Py_ssize_t>(kwargs.size())));
      for (size_t i = 0; i < kwargs.size(); ++i) {
        PyTuple_SET_ITEM(recipe_.keyword_names.get(), static_cast<Py_ssize_t>(i),
                         Ref(kwargs[i].first).release());
        recipe_.arguments.push_back(argument(kwargs[i].second));
      }
    }
    promised_ = &promised;
    const Ref now = promised.now ? promised.now : present_result();
    auto& state = *tracer_.state_;
    const auto call = static_cast<uint32_t>(state.externs.size());
    tracer_.graph_.externs.push_back({name_, generator_ == nullptr, true});
    if (generator_) tracer_.has_draws_ = true;
    state.externs.push_back(recipe_);
    Type object;
    object.value_kind = ValueKind::kObject;
    node_ = tracer_.append(Op::kExtern, operands_, ExternAttr{call}, object);
    std::vector<int> path;
    return result_value(now, &path);
  }

 private:
  uint32_t add(RecipeNode node) {
    recipe_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(recipe_.nodes.size() - 1);
  }

  uint32_t operand(NodeId id) {
    RecipeNode node;
    node.kind = RecipeNode::Kind::kOutput;
    node.index = static_cast<uint32_t>(operands_.size());
    operands_.push_back(id);
    return add(std::move(node));
  }

  uint32_t container(RecipeNode::Kind kind, const std::vector<Sym>& items) {
    RecipeNode node;
    node.kind = kind;
    for (const Sym& item : items) node.children.push_back(argument(item));
    return add(std::move(node));
  }

  uint32_t generator(const Sym& value) {
    RecipeNode node;
    node.kind = value->source ? RecipeNode::Kind::kSource : RecipeNode::Kind::kConstant;
    node.source = value->source;
    if (!value->source) node.object = static_cast<const ObjectValue&>(*value).object;
    recipe_.generator = add(std::move(node));
    return *recipe_.generator;
  }

  uint32_t argument(const Sym& value) {
    if (value == generator_) return generator(value);
    switch (value->kind) {
      case SymKind::kArray:
        return operand(tracer_.read(static_cast<ArrayValue&>(*value)));
      case SymKind::kScalar:
        return operand(static_cast<ScalarValue&>(*value).node);
      case SymKind::kSize:
        if (!tracer_.simplify(static_cast<SizeValue&>(*value).expr).is_constant()) {
          return operand(tracer_.append(
              Op::kSizeValue, {}, SizeAttr{tracer_.simplify(static_cast<SizeValue&>(*value).expr)},
              py_scalar_type(DType::kInt64)));
        }
        break;
      case SymKind::kTuple:
        if (!static_cast<SequenceValue&>(*value).named_tuple_class) {
          return container(RecipeNode::Kind::kTuple, static_cast<SequenceValue&>(*value).items);
        }
        break;
      case SymKind::kList:
        return container(RecipeNode::Kind::kList, static_cast<SequenceValue&>(*value).items);
      case SymKind::kDict: {
        std::vector<Sym> flat;
        for (const auto& [key, item] : static_cast<DictValue&>(*value).items) {
          flat.push_back(key);
          flat.push_back(item);
        }
        return container(RecipeNode::Kind::kDict, flat);
      }
      case SymKind::kSlice: {
        const auto& slice = static_cast<SliceValue&>(*value);
        return container(RecipeNode::Kind::kSlice, {slice.start, slice.stop, slice.step});
      }
      case SymKind::kObject:
      case SymKind::kGrownList:
      case SymKind::kNull:
      case SymKind::kSet:
      case SymKind::kFunction:
      case SymKind::kMethod:
      case SymKind::kCell:
      case SymKind::kIterator:
      case SymKind::kException:
        break;
    }
    auto constant = tracer_.as_constant(value, "argument of " + name_);
    if (!constant || PyCallable_Check(constant->get()) > 0 || !is_plain(constant->get())) {
      if (!constant || !PyType_Check(constant->get())) {
        throw_value_break(value, name_ + " with an argument that is no array or plain constant");
      }
    }
    RecipeNode node;
    node.kind = RecipeNode::Kind::kConstant;
    node.object = std::move(*constant);
    return add(std::move(node));
  }

  // Constants whose use runs no code of the user.
  static bool is_plain(PyObject* object) {
    return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
           PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyBytes_CheckExact(object) || PyTuple_CheckExact(object) || PyArray_DescrCheck(object) ||
           PyArray_IsScalar(object, Number) || PyType_Check(object) ||
           PyArray_IsScalar(object, Bool) || (PySlice_Check(object) && is_pure(object));
  }

  // For a value that a loop computes: of its type, and such that most functions are defined there
  // (matrices can be inverted, indices lie in their axis).
  Ref stand_in(NodeId id) const {
    const Type& type = tracer_.type_of(id);
    if (type.value_kind != ValueKind::kArray) {
      const Ref number = checked(PyLong_FromLong(is_integer(type.dtype) ? 0 : 1));
      const Ref made =
          checked(PyObject_CallOneArg(numpy_shim::scalar_class_of(type.dtype).get(), number.get()));
      return type.value_kind == ValueKind::kNumpyScalar
                 ? made
                 : checked(PyObject_CallMethod(made.get(), "item", nullptr));
    }
    std::vector<npy_intp> dims;
    for (const SizeExpr& dim : type.dims) dims.push_back(std::max<int64_t>(tracer_.hint(dim), 0));
    Ref descr = Ref::create(numpy_shim::descr_of(type.dtype));
    Ref array = checked(PyArray_Zeros(static_cast<int>(dims.size()), dims.data(),
                                      reinterpret_cast<PyArray_Descr*>(descr.release()), 0));
    if (is_integer(type.dtype)) return array;
    const size_t rank = dims.size();
    if (rank >= 2 && dims[rank - 1] == dims[rank - 2]) {
      const Ref eye =
          checked(PyObject_CallFunction(numpy_attribute("eye").get(), "n", dims.back()));
      check_status(PyArray_CopyInto(numpy_shim::as_array(array), numpy_shim::as_array(eye)));
    } else {
      check_status(PyArray_FillWithScalar(numpy_shim::as_array(array), Py_True));
    }
    return array;
  }

  Ref present_result() {
    for (NodeId id : operands_) {
      present_operands_.push_back(tracer_.needs_run(id) ? stand_in(id) : tracer_.present_node(id));
    }
    SilencedNumpy silenced;
    Ref result = Ref::steal(call_extern(recipe_, present_operands_, stand_in_));
    if (!result) {
      if (must_reach_user()) throw PyError();
      throw_break("would_raise", fmt::format("{}: {}", name_, current_error_text()));
    }
    return result;
  }

  // The size of the same axis, counted from the end, in the varied result.
  std::optional<int64_t> varied_size(const std::vector<int>& path, size_t axis) const {
    Ref part = promised_->varied;
    for (int index : path) {
      if (part) part = checked(PySequence_GetItem(part.get(), index));
    }
    if (!part || !PyArray_Check(part.get())) return std::nullopt;
    PyArrayObject* array = numpy_shim::as_array(part.get());
    if (axis >= static_cast<size_t>(PyArray_NDIM(array))) return std::nullopt;
    return PyArray_DIM(array, static_cast<int>(axis));
  }

  bool may_be(const SizeExpr& dim, int64_t size, std::optional<int64_t> varied) const {
    if (tracer_.depends_on_extern(dim) || tracer_.hint(dim) != size) return false;
    return !varied || dim.evaluate(promised_->sizes) == *varied;
  }

  SizeExpr result_dim(int64_t size, const std::vector<int>& path, size_t rank, NodeId item,
                      uint32_t axis) {
    if (dims_ == ExternDims::kGuess) {
      const auto varied = varied_size(path, axis);
      if (size == 1 && (!varied || *varied == 1)) return 1;
      // The same axis counted from the end is the likeliest, then any.
      for (NodeId id : operands_) {
        const auto& dims = tracer_.type_of(id).dims;
        if (dims.size() + axis < rank || dims.size() + axis - rank >= dims.size()) continue;
        const SizeExpr now = tracer_.simplify(dims[dims.size() + axis - rank]);
        if (may_be(now, size, varied)) return now;
      }
      for (NodeId id : operands_) {
        for (const SizeExpr& dim : tracer_.type_of(id).dims) {
          const SizeExpr now = tracer_.simplify(dim);
          if (may_be(now, size, varied)) return now;
        }
      }
    }
    return SizeExpr::symbol(tracer_.new_symbol(SymbolKind::kExternDim, index_of(item), axis, size));
  }

  // Empty: C contiguous. Of the sizes, when the axes lie packed in another order; else as they are
  // now, which the program checks.
  static std::vector<SizeExpr> result_strides(PyArrayObject* array,
                                              const std::vector<SizeExpr>& dims) {
    if (PyArray_IS_C_CONTIGUOUS(array)) return {};
    const auto rank = static_cast<size_t>(PyArray_NDIM(array));
    std::vector<size_t> order(rank);  // fastest first
    for (size_t k = 0; k < rank; ++k) order[k] = rank - 1 - k;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return PyArray_STRIDES(array)[a] < PyArray_STRIDES(array)[b];
    });
    std::vector<SizeExpr> packed(rank), now(rank);
    SizeExpr step = PyArray_ITEMSIZE(array);
    int64_t bytes = PyArray_ITEMSIZE(array);
    bool is_packed = true;
    for (size_t axis : order) {
      now[axis] = PyArray_STRIDES(array)[axis];
      packed[axis] = step;
      is_packed = is_packed && PyArray_STRIDES(array)[axis] == bytes;
      step = step * dims[axis];
      bytes *= PyArray_DIMS(array)[axis];
    }
    return is_packed ? packed : now;
  }

  void note_part(PyObject* object, const std::vector<int>& path, Py_ssize_t length) {
    tracer_.state_->externs.back().result_parts.push_back(
        {path, Ref::create(reinterpret_cast<PyObject*>(Py_TYPE(object))), length});
  }

  Sym result_value(const Ref& now, std::vector<int>* path) {
    PyObject* object = now.get();
    if (PyTuple_Check(object) || PyList_CheckExact(object)) {
      const bool named = PyTuple_Check(object) && !PyTuple_CheckExact(object);
      auto sequence =
          std::make_shared<SequenceValue>(PyTuple_Check(object) ? SymKind::kTuple : SymKind::kList);
      if (named) {
        if (!PyObject_HasAttrString(object, "_fields")) {
          throw_break("numpy_argument", name_ + " returns a " + Py_TYPE(object)->tp_name);
        }
        sequence->named_tuple_class = Ref::create(reinterpret_cast<PyObject*>(Py_TYPE(object)));
      }
      const Py_ssize_t size = PySequence_Size(object);
      note_part(object, *path, size);
      for (Py_ssize_t i = 0; i < size; ++i) {
        path->push_back(static_cast<int>(i));
        sequence->items.push_back(result_value(checked(PySequence_GetItem(object, i)), path));
        path->pop_back();
      }
      return sequence;
    }
    if (object == Py_None) {
      note_part(object, *path, -1);
      return tracer_.constant(now);
    }
    const auto next_item = static_cast<NodeId>(tracer_.graph_.size());
    Type type;
    std::vector<SizeExpr> strides;
    if (numpy_shim::is_exact_ndarray(object)) {
      PyArrayObject* array = numpy_shim::as_array(object);
      const auto dtype =
          numpy_shim::dtype_of_descr(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
      if (!dtype)
        throw_break("opaque_dtype", name_ + " returns an array of a dtype that is not compiled");
      for (const Ref& operand : present_operands_) {
        if (PyArray_Check(operand.get()) && memory_owner(operand.get()) == memory_owner(object)) {
          throw_break("numpy_argument", name_ + " returns a view of its argument");
        }
      }
      if (!PyArray_ISALIGNED(array) || !has_distinct_elements(array)) {
        throw_break("numpy_argument", name_ + " returns an array of overlapping elements");
      }
      for (const Ref& other : arrays_) {
        if (memory_owner(other.get()) == memory_owner(object) && share_elements(other, now)) {
          throw_break("numpy_argument", name_ + " returns arrays that share their elements");
        }
      }
      arrays_.push_back(now);
      std::vector<SizeExpr> dims;
      for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
        dims.push_back(result_dim(PyArray_DIM(array, axis), *path,
                                  static_cast<size_t>(PyArray_NDIM(array)), next_item,
                                  static_cast<uint32_t>(axis)));
      }
      strides = result_strides(array, dims);
      type = array_type(*dtype, std::move(dims));
    } else if (auto dtype = numpy_shim::dtype_of_scalar_class(Py_TYPE(object))) {
      type = numpy_scalar_type(*dtype);
    } else if (PyFloat_CheckExact(object)) {
      type = py_scalar_type(DType::kFloat64);
    } else if (PyComplex_CheckExact(object)) {
      type = py_scalar_type(DType::kComplex128);
    } else if (PyBool_Check(object)) {
      type = py_scalar_type(DType::kBool);
    } else if (PyLong_CheckExact(object)) {
      type = py_scalar_type(DType::kInt64);
    } else {
      throw_break("numpy_argument", name_ + " returns a " + Py_TYPE(object)->tp_name);
    }
    const NodeId item =
        tracer_.append(Op::kExternItem, {node_}, ExternItemAttr{*path, std::move(strides)}, type);
    if (type.value_kind == ValueKind::kArray) {
      Sym value = tracer_.new_array(item);
      static_cast<ArrayValue&>(*value).writeable =
          PyArray_ISWRITEABLE(numpy_shim::as_array(object));
      return value;
    }
    return tracer_.new_scalar(item);
  }

  Tracer& tracer_;
  std::string name_;
  ExternDims dims_;
  Sym generator_;  // that is drawn from; null: none
  Ref stand_in_;
  const PromisedResult* promised_ = nullptr;
  ExternRecipe recipe_;
  std::vector<NodeId> operands_;
  std::vector<Ref> present_operands_;
  std::vector<Ref> arrays_;  // that the present result consists of
  NodeId node_ = kNoNode;
};

Sym Tracer::extern_call(BorrowedRef callable, std::span<const Sym> args,
                        std::span<const std::pair<Ref, Sym>> kwargs, const std::string& name,
                        ExternDims dims, const PromisedResult& promised) {
  return ExternCall(*this, name, dims).run(callable, args, kwargs, promised);
}

Sym Tracer::draw(BorrowedRef method, std::span<const Sym> args,
                 std::span<const std::pair<Ref, Sym>> kwargs, const std::string& name,
                 ExternDims dims, const Ref& stand_in) {
  return ExternCall(*this, name, dims, args[0], stand_in).run(method, args, kwargs, {});
}

Ref Tracer::present_node(NodeId id) {
  if (needs_run(id))
    throw_break("data_dependent",
                "a value that a loop computes is needed while the code is traced");
  // A runner of its own each time: the graph has grown since. What it computed is kept by node.
  numpy_shim::GraphRunner runner(graph_, state_->input_objects, graph_.symbol_hints(),
                                 [this](uint32_t call, const std::vector<Ref>& operands) {
                                   return checked(call_extern(state_->externs[call], operands));
                                 });
  runner.adopt(std::move(state_->present));
  SilencedNumpy silenced;
  Ref value = runner.result(id);
  state_->present = runner.release();
  return value;
}

Ref Tracer::present_value(const Sym& value) {
  switch (value->kind) {
    case SymKind::kArray:
      return present_node(read(static_cast<ArrayValue&>(*value)));
    case SymKind::kScalar:
      return present_node(static_cast<ScalarValue&>(*value).node);
    case SymKind::kSize:
      return checked(PyLong_FromLongLong(hint(static_cast<SizeValue&>(*value).expr)));
    case SymKind::kObject:
      if (!static_cast<ObjectValue&>(*value).differs())
        return static_cast<ObjectValue&>(*value).object;
      [[fallthrough]];
    default:
      throw_break("unsupported_value", "the present value of a container");
  }
}

}  // namespace numlift::frame_eval
