// Extern steps: NumPy itself answers inside the program. Whatever is not as it was when the call
// was traced (an exception, a floating-point condition, another type, dtype, rank or size) ends in
// a restart, so that CPython does all of it again in its own way.
#include <algorithm>
#include <cstring>

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/errstate.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/numpy_shim/output.h"
#include "numlift/py/py_error.h"
#include "run_frame.h"
#include "symbolic/extern_recipe.h"

namespace numlift::frame_eval {

using numpy_shim::as_array;

namespace {

// def <function>(call, /, *args, **kwargs): return call(*args, **kwargs)   at the user's line
Ref make_forwarder(const SourceLocation& location, BorrowedRef globals) {
  const int line = std::max(location.line, 1);
  std::string source(static_cast<size_t>(line - 1), '\n');
  source += "def call(f, /, *a, **k): return f(*a, **k)\n";
  Ref module = checked(Py_CompileString(source.c_str(), location.file.c_str(), Py_file_input));
  Ref constants = checked(PyObject_GetAttrString(module.get(), "co_consts"));
  Ref code;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants.get()); ++i) {
    PyObject* one = PyTuple_GET_ITEM(constants.get(), i);
    if (PyCode_Check(one)) code = Ref::create(one);
  }
  NUMLIFT_CHECK(code, "no code of the forwarder");
  Ref replace = checked(PyObject_GetAttrString(code.get(), "replace"));
  Ref nothing = checked(PyTuple_New(0));
  Ref names = checked(Py_BuildValue("{s:s,s:s}", "co_name", location.function.c_str(),
                                    "co_qualname", location.function.c_str()));
  Ref renamed = checked(PyObject_Call(replace.get(), nothing.get(), names.get()));
  return checked(PyFunction_New(renamed.get(), globals));
}

// As ExternItemAttr::strides says. Axes of size 1 have any stride, arrays without elements as well.
bool has_strides(PyArrayObject* array, const std::vector<SizeExpr>& strides,
                 std::span<const int64_t> symbols) {
  if (strides.empty()) return PyArray_IS_C_CONTIGUOUS(array);
  if (PyArray_SIZE(array) == 0) return true;
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
    if (PyArray_DIM(array, axis) == 1) continue;
    if (strides[static_cast<size_t>(axis)].evaluate(symbols) != PyArray_STRIDE(array, axis))
      return false;
  }
  return true;
}

Ref item_at(const Ref& result, const std::vector<int>& path) {
  Ref part = result;
  for (int index : path) part = checked(PySequence_GetItem(part.get(), index));
  return part;
}

}  // namespace

ExternRecipe recipe_in_users_name(const ExternRecipe& recipe, const SourceLocation& location,
                                  BorrowedRef globals) {
  ExternRecipe forwarded = recipe;
  RecipeNode callable;
  callable.kind = RecipeNode::Kind::kConstant;
  callable.object = recipe.callable;
  forwarded.callable = make_forwarder(location, globals);
  forwarded.arguments.insert(forwarded.arguments.begin(),
                             static_cast<uint32_t>(forwarded.nodes.size()));
  forwarded.nodes.push_back(std::move(callable));
  return forwarded;
}

bool decided_by(const SizeGuard& guard, const codegen::ExternStep& step,
                const codegen::Program& program) {
  std::vector<SymbolId> symbols;
  guard.left.collect_symbols(&symbols);
  guard.right.collect_symbols(&symbols);
  // Items stand after their call and before later calls, in node order: the last one decides.
  uint32_t last_item = 0;
  bool any = false;
  for (SymbolId id : symbols) {
    const Symbol& symbol = program.graph.symbols[static_cast<size_t>(id)];
    if (symbol.kind != SymbolKind::kExternDim || symbol.input == index_of(kNoNode)) continue;
    last_item = std::max(last_item, symbol.input);
    any = true;
  }
  return any && program.graph.node(NodeId{last_item}).operands[0] == step.node;
}

bool ProgramHost::call_extern_step(RunFrame* frame, uint32_t index) const {
  const auto& step = std::get<codegen::ExternStep>(program_.steps.at(index));
  const ExternPlan& plan = externs_[index];
  std::vector<Ref> operands;
  for (size_t i = 0; i < step.operands.size(); ++i) {
    operands.push_back(make_value(frame, step.operands[i], plan.operands[i]));
  }
  Ref result;
  {
    const numpy_shim::RaisingErrState raising(plan.fp_checks);
    const Ref generator = generator_of(plan.recipe, frame->call);
    frame->drawn.before_draw(generator);
    result = checked(call_extern(plan.recipe, operands, generator));
  }
  if (!has_traced_structure(plan.recipe, result)) return false;
  for (const auto& [node, buffer] : step.items) {
    if (!take_item(frame, result, node, static_cast<uint32_t>(buffer))) return false;
  }
  return std::all_of(plan.size_guards.begin(), plan.size_guards.end(),
                     [&](const auto& guard) { return guard.holds(frame->symbols); });
}

bool ProgramHost::take_item(RunFrame* frame, const Ref& result, NodeId id, uint32_t buffer) const {
  const Node& node = program_.graph.node(id);
  Ref item = item_at(result, attr_of<ExternItemAttr>(node).path);
  for (size_t k = 0; k < object_items_.size(); ++k) {
    if (object_items_[k] == id) Py_XSETREF(frame->item_objects[k], Ref(item).release());
  }
  switch (node.type.value_kind) {
    case ValueKind::kNumpyScalar:
    case ValueKind::kPyScalar:
      return numpy_shim::read_scalar(item, node.type.value_kind, node.type.dtype,
                                     frame->buffers[buffer]);
    case ValueKind::kObject:
    case ValueKind::kEffect:
      return true;
    case ValueKind::kArray:
      break;
  }
  if (!numpy_shim::is_exact_ndarray(item)) return false;
  PyArrayObject* array = as_array(item);
  const auto dtype = numpy_shim::dtype_of_descr(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
  if (!dtype || *dtype != node.type.dtype || !PyArray_ISALIGNED(array)) return false;
  if (PyArray_NDIM(array) != node.type.rank()) return false;
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
    const SizeExpr& dim = node.type.dims[static_cast<size_t>(axis)];
    const int64_t found = PyArray_DIM(array, axis);
    const auto symbol = dim.as_symbol();
    const Symbol* info = symbol ? &program_.graph.symbols[static_cast<size_t>(*symbol)] : nullptr;
    if (info != nullptr && info->kind == SymbolKind::kExternDim && info->input == index_of(id) &&
        info->axis == static_cast<uint32_t>(axis)) {
      // Size 1 broadcasts, other sizes do not: the trace went one of the two ways.
      if ((found == 1) != (info->hint == 1)) return false;
      frame->symbols[static_cast<size_t>(*symbol)] = found;
    } else if (dim.evaluate(frame->symbols) != found) {
      return false;
    }
  }
  frame->buffers[buffer] = PyArray_BYTES(array);
  if (stored_externs_[buffer] && !PyArray_ISWRITEABLE(array)) return false;
  if (!has_strides(array, attr_of<ExternItemAttr>(node).strides, frame->symbols)) {
    // A copy serves where C order was expected and nobody else sees the memory.
    if (!attr_of<ExternItemAttr>(node).strides.empty() || stored_externs_[buffer] ||
        shown_externs_[buffer]) {
      return false;
    }
    Py_XSETREF(frame->copies[buffer], checked(PyArray_NewCopy(array, NPY_CORDER)).release());
    frame->buffers[buffer] = PyArray_BYTES(as_array(frame->copies[buffer]));
  }
  Py_XSETREF(frame->objects[buffer], item.release());
  return true;
}

}  // namespace numlift::frame_eval
