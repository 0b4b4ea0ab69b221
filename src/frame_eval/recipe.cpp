// Recipes: outputs, constants and sources put together to the object that the call returns.
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/numpy_shim/output.h"
#include "numlift/py/py_error.h"
#include "run_frame.h"

namespace numlift::frame_eval {
namespace {

Ref tuple_of(const std::vector<Ref>& made, const std::vector<uint32_t>& children) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(children.size())));
  for (size_t i = 0; i < children.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Ref(made[children[i]]).release());
  }
  return tuple;
}

Ref make_function(const RecipeNode& node, const std::vector<Ref>& made) {
  const auto part = [&](size_t i) -> BorrowedRef {
    PyObject* object = made[node.children[i]].get();
    return object == Py_None ? nullptr : object;
  };
  Ref function = checked(PyFunction_New(node.object.get(), part(0)));
  if (part(1)) check_status(PyFunction_SetDefaults(function.get(), part(1)));
  if (part(2)) check_status(PyFunction_SetKwDefaults(function.get(), part(2)));
  if (part(3)) check_status(PyFunction_SetClosure(function.get(), part(3)));
  if (const BorrowedRef given = part(4)) {
    // The function that makes them, when they are wanted.
    if (PyFunction_Check(given.get())) {
      check_status(PyObject_SetAttrString(function.get(), "__annotate__", given));
      return function;
    }
    Ref annotations = Ref::create(given);
    if (PyTuple_CheckExact(given.get())) {
      annotations = checked(PyDict_New());
      for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(given.get()); i += 2) {
        check_status(PyDict_SetItem(annotations.get(), PyTuple_GET_ITEM(given.get(), i),
                                    PyTuple_GET_ITEM(given.get(), i + 1)));
      }
    }
    check_status(PyFunction_SetAnnotations(function.get(), annotations.get()));
  }
  return function;
}

Ref make_by_call(const RecipeNode& node, const std::vector<Ref>& made) {
  std::vector<PyObject*> arguments;
  for (const uint32_t child : node.children) arguments.push_back(made[child].get());
  const Py_ssize_t named = node.keyword_names ? PyTuple_GET_SIZE(node.keyword_names.get()) : 0;
  Ref object = checked(PyObject_Vectorcall(node.object.get(), arguments.data(),
                                           arguments.size() - static_cast<size_t>(named),
                                           node.keyword_names.get()));
  if (node.place) {
    static PyObject* const set_state = PyUnicode_InternFromString("__setstate__");
    const Ref place = checked(PyLong_FromLongLong(*node.place));
    (void)checked(PyObject_CallMethodOneArg(object.get(), set_state, place.get()));
  }
  for (uint32_t i = 0; i < node.index; ++i) {
    const Ref item = Ref::steal(PyIter_Next(object.get()));
    if (!item && PyErr_Occurred() != nullptr) throw PyError();
  }
  return object;
}

Ref grown_list(const RecipeNode& node, const std::vector<Ref>& made) {
  const Ref& rest = made[node.children.back()];
  Ref list = checked(node.items == RecipeNode::Items::kPython
                         ? PyObject_CallMethod(rest.get(), "tolist", nullptr)
                         : PySequence_List(rest.get()));
  if (node.items == RecipeNode::Items::kArrays) {
    // Each has memory of its own.
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
      Ref copy = checked(PyObject_CallMethod(PyList_GET_ITEM(list.get(), i), "copy", nullptr));
      check_status(PyList_SetItem(list.get(), i, copy.release()));
    }
  }
  const Ref known = checked(PyList_New(0));
  for (size_t i = 0; i + 1 < node.children.size(); ++i)
    check_status(PyList_Append(known.get(), made[node.children[i]].get()));
  check_status(PyList_SetSlice(list.get(), 0, 0, known.get()));
  return list;
}

Ref build_node(const RecipeNode& node, std::vector<Ref>& made, const guards::CallInputs& call,
               const std::function<Ref(uint32_t index)>& output) {
  const auto child = [&](size_t i) { return made[node.children[i]].get(); };
  switch (node.kind) {
    case RecipeNode::Kind::kOutput: {
      Ref value = output(node.index);
      if (node.read_only) PyArray_CLEARFLAGS(numpy_shim::as_array(value), NPY_ARRAY_WRITEABLE);
      return value;
    }
    case RecipeNode::Kind::kConstant:
      return node.object;
    case RecipeNode::Kind::kSource: {
      const BorrowedRef found = node.source->read(call);
      NUMLIFT_CHECK(found, "{} is gone at the end of the call", node.source->text());
      return Ref::create(found);
    }
    case RecipeNode::Kind::kTuple:
      return tuple_of(made, node.children);
    case RecipeNode::Kind::kList: {
      Ref list = checked(PyList_New(static_cast<Py_ssize_t>(node.children.size())));
      for (size_t i = 0; i < node.children.size(); ++i) {
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Py_NewRef(child(i)));
      }
      return list;
    }
    case RecipeNode::Kind::kSet: {
      Ref set = checked(PySet_New(nullptr));
      for (size_t i = 0; i < node.children.size(); ++i)
        check_status(PySet_Add(set.get(), child(i)));
      return set;
    }
    case RecipeNode::Kind::kDict: {
      Ref dict = checked(PyDict_New());
      for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
        check_status(PyDict_SetItem(dict.get(), child(i), child(i + 1)));
      }
      return dict;
    }
    case RecipeNode::Kind::kSlice:
      return checked(PySlice_New(child(0), child(1), child(2)));
    case RecipeNode::Kind::kNamedTuple: {
      // tuple.__new__(cls, items): no code of the class runs.
      Ref arguments = checked(PyTuple_Pack(1, tuple_of(made, node.children).get()));
      return checked(PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(node.object.get()),
                                         arguments.get(), nullptr));
    }
    case RecipeNode::Kind::kCell:
      return checked(PyCell_New(nullptr));
    case RecipeNode::Kind::kFillCell:
      check_status(PyCell_Set(child(0), child(1)));
      return made[node.children[0]];
    case RecipeNode::Kind::kFunction:
      return make_function(node, made);
    case RecipeNode::Kind::kGrownList:
      return grown_list(node, made);
    case RecipeNode::Kind::kRelease: {
      // The arguments of a call behind a graph break are the driver's own, and it expects them to
      // be there to the end.
      if (!node.children.empty()) made[node.children[0]] = {};
      auto** argument = const_cast<PyObject**>(call.arguments + node.index);
      Py_SETREF(*argument, Py_NewRef(Py_None));
      return {};
    }
    case RecipeNode::Kind::kCall:
      return make_by_call(node, made);
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace

std::vector<Ref> build_recipe(const std::vector<RecipeNode>& recipe, const guards::CallInputs& call,
                              const std::function<Ref(uint32_t index)>& output) {
  std::vector<Ref> made;
  made.reserve(recipe.size());
  for (const RecipeNode& node : recipe) made.push_back(build_node(node, made, call, output));
  return made;
}

std::vector<std::vector<SizeExpr>> shown_strides(const std::vector<RecipeNode>& recipe,
                                                 size_t output_count) {
  std::vector<std::vector<SizeExpr>> strides(output_count);
  for (const RecipeNode& node : recipe) {
    if (node.kind == RecipeNode::Kind::kOutput) strides[node.index] = node.strides;
  }
  return strides;
}

Ref with_strides(const Ref& value, const std::vector<SizeExpr>& shown,
                 const std::function<int64_t(const SizeExpr&)>& size) {
  if (shown.empty()) return value;
  PyArrayObject* array = numpy_shim::as_array(value);
  const int rank = PyArray_NDIM(array);
  int64_t strides[NPY_MAXDIMS];
  bool same = true;
  for (int axis = 0; axis < rank; ++axis) {
    strides[axis] = PyArray_STRIDE(array, axis);
    if (PyArray_DIM(array, axis) != 1) continue;
    strides[axis] = size(shown[static_cast<size_t>(axis)]);
    same = same && strides[axis] == PyArray_STRIDE(array, axis);
  }
  if (same) return value;
  const auto dtype = numpy_shim::dtype_of_descr(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
  return numpy_shim::make_view(value, *dtype, 0, rank, PyArray_DIMS(array), strides);
}

void collect_recipe_refs(const std::vector<RecipeNode>& nodes, guards::RefCollector* collector) {
  for (const RecipeNode& node : nodes) {
    collector->add(node.object);
    collector->add(node.keyword_names);
    collector->add(node.source);
  }
}

void collect_recipe_refs(const ExternRecipe& recipe, guards::RefCollector* collector) {
  collector->add(recipe.callable);
  collector->add(recipe.keyword_names);
  collect_recipe_refs(recipe.nodes, collector);
  for (const ExternRecipe::ResultPart& part : recipe.result_parts) collector->add(part.type);
}

}  // namespace numlift::frame_eval
