// The callable works on the caller's own arrays, in NumPy's order: what it stores is stored. Before
// a restart the host puts back what was there.
#include "run_backend.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/errstate.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/numpy_shim/run_graph.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"
#include "overlap.h"
#include "run_frame.h"
#include "symbolic/extern_recipe.h"

namespace numlift::frame_eval {
namespace {

using numpy_shim::as_array;

BackendMaker maker_of_programs = nullptr;

[[noreturn]] void raise_type_error(const std::string& text) {
  PyErr_SetString(PyExc_TypeError, text.c_str());
  throw PyError();
}

Ref array_of(const Ref& value) {
  if (PyArray_Check(value.get())) return value;
  return checked(PyArray_FromAny(value.get(), nullptr, 0, 0, 0, nullptr));
}

// The object as the program gives it: NumPy's functions return scalars for arrays of rank 0, and
// NumPy scalars for Python ones.
Ref as_promised(const Ref& value, const Type& type, size_t position) {
  const auto must_be = [&](bool holds, const char* what) {
    if (holds) return;
    raise_type_error(
        fmt::format("result {} of the backend's callable is {} {}, where the graph has {} {}",
                    position, value.type()->tp_name, what, type_text(type), what));
  };
  const auto is_number = [&] {
    return PyArray_IsScalar(value.get(), Generic) ||
           (PyArray_Check(value.get()) && PyArray_NDIM(as_array(value)) == 0);
  };
  const auto has_dtype = [&](const Ref& array) {
    return numpy_shim::dtype_of_descr(
               reinterpret_cast<PyObject*>(PyArray_DESCR(as_array(array)))) == type.dtype;
  };
  switch (type.value_kind) {
    case ValueKind::kArray: {
      must_be(PyArray_Check(value.get()) || (type.rank() == 0 && is_number()), "(an array)");
      Ref array = array_of(value);
      must_be(PyArray_NDIM(as_array(array)) == type.rank(), "(of its rank)");
      must_be(has_dtype(array), "(of its dtype)");
      return array;
    }
    case ValueKind::kNumpyScalar: {
      must_be(is_number(), "(a NumPy scalar)");
      const Ref array = array_of(value);
      must_be(has_dtype(array), "(of its dtype)");
      if (!PyArray_Check(value.get())) return value;
      return checked(PyArray_ToScalar(PyArray_DATA(as_array(array)), as_array(array)));
    }
    case ValueKind::kPyScalar:
      return is_number() ? checked(PyObject_CallMethod(value.get(), "item", nullptr)) : value;
    case ValueKind::kObject:
    case ValueKind::kEffect:
      return value;
  }
  NUMLIFT_UNREACHABLE();
}

bool has_overlap(const std::vector<InputSpec>& specs, const std::vector<PyObject*>& objects) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].stored_to) continue;
    if (!has_distinct_elements(as_array(objects[i]))) return true;
    for (size_t k = 0; k < specs.size(); ++k) {
      if (k != i && specs[k].kind == InputSpec::Kind::kArray &&
          may_overlap(as_array(objects[i]), as_array(objects[k]))) {
        return true;
      }
    }
  }
  return false;
}

// What a restart must put back.
class SavedInputs {
 public:
  SavedInputs(const std::vector<InputSpec>& specs, const std::vector<PyObject*>& objects) {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!specs[i].stored_to) continue;
      saved_.emplace_back(Ref::create(objects[i]),
                          checked(PyArray_NewCopy(as_array(objects[i]), NPY_KEEPORDER)));
    }
  }
  void restore() const {
    for (const auto& [input, copy] : saved_) {
      check_status(PyArray_CopyInto(as_array(input), as_array(copy)));
    }
  }

 private:
  std::vector<std::pair<Ref, Ref>> saved_;
};

bool may_restart(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.fp_checks != 0 || node.op == Op::kExtern) return true;
  }
  return false;
}

// What only the callable knows.
bool depends_on_extern(const Graph& graph, const std::vector<SizeExpr>& sizes) {
  std::vector<SymbolId> used;
  for (const SizeExpr& size : sizes) size.collect_symbols(&used);
  return std::any_of(used.begin(), used.end(), [&](SymbolId id) {
    return graph.symbols[static_cast<size_t>(id)].kind == SymbolKind::kExternDim;
  });
}

std::vector<Ref> outputs_of(const Ref& answer, const Graph& graph) {
  if (!PyTuple_Check(answer.get()) && !PyList_Check(answer.get())) {
    raise_type_error(
        fmt::format("the backend's callable returned {}, not a tuple with the graph's {} results",
                    answer.type()->tp_name, graph.outputs.size()));
  }
  const Ref items = checked(PySequence_Tuple(answer.get()));
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(items.get()));
  if (count != graph.outputs.size()) {
    raise_type_error(fmt::format("the backend's callable returned {} results, the graph has {}",
                                 count, graph.outputs.size()));
  }
  std::vector<Ref> outputs;
  for (size_t i = 0; i < count; ++i) {
    const NodeId id = graph.outputs[i];
    const Node& node = graph.node(id);
    const auto same = std::find(graph.outputs.begin(), graph.outputs.end(), id);
    if (same - graph.outputs.begin() < static_cast<ptrdiff_t>(i)) {
      outputs.push_back(outputs[static_cast<size_t>(same - graph.outputs.begin())]);
      continue;
    }
    const Ref item = Ref::create(PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)));
    outputs.push_back(numpy_shim::laid_out(as_promised(item, node.type, i), node));
  }
  return outputs;
}

}  // namespace

void set_backend_maker(BackendMaker maker) { maker_of_programs = maker; }
BackendMaker backend_maker() { return maker_of_programs; }

Ref extern_arguments(const ExternRecipe& recipe, const std::vector<Ref>& operands) {
  static PyObject* const collect = [] {
    Ref globals = checked(PyDict_New());
    check_status(PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()));
    return checked(PyRun_String("lambda *args, **kwargs: (args, kwargs)", Py_eval_input,
                                globals.get(), globals.get()))
        .release();
  }();
  ExternRecipe collecting = recipe;
  collecting.callable = Ref::create(collect);
  return checked(call_extern(collecting, operands));
}

Outcome run_backend(const BackendProgram& program, const Graph& graph,
                    const std::vector<InputSpec>& inputs, const std::vector<RecipeNode>& recipe,
                    const std::vector<uint32_t>& results, const guards::GuardSet& guards,
                    uint8_t fp_checks, const guards::CallInputs& call, PyObject* const* slots,
                    std::span<const int64_t> symbols, PyObject** results_out) {
  std::vector<PyObject*> objects;
  for (uint32_t i = 0; i < inputs.size(); ++i) objects.push_back(slots[guards.input_slot(i)]);
  if (has_overlap(inputs, objects)) return Outcome::kOverlap;
  try {
    std::vector<Ref> arguments;
    for (uint32_t i : program.inputs) arguments.push_back(Ref::create(objects[i]));
    for (SymbolId id : program.symbols) {
      arguments.push_back(checked(PyLong_FromLongLong(symbols[static_cast<size_t>(id)])));
    }
    std::vector<PyObject*> raw;
    for (const Ref& argument : arguments) raw.push_back(argument.get());
    std::optional<SavedInputs> saved;
    if (may_restart(graph)) saved.emplace(inputs, objects);
    Ref answer;
    {
      const numpy_shim::RaisingErrState raising(fp_checks);
      answer =
          Ref::steal(PyObject_Vectorcall(program.callable.get(), raw.data(), raw.size(), nullptr));
    }
    if (!answer) {
      if (!saved || !PyErr_ExceptionMatches(PyExc_FloatingPointError)) return Outcome::kError;
      PyErr_Clear();
      saved->restore();
      return Outcome::kRestart;
    }
    const std::vector<Ref> outputs = outputs_of(answer, graph);
    const std::vector<std::vector<SizeExpr>> strides = shown_strides(recipe, outputs.size());
    const std::vector<Ref> made = build_recipe(recipe, call, [&](uint32_t index) {
      if (depends_on_extern(graph, strides[index])) return outputs[index];
      return with_strides(outputs[index], strides[index],
                          [&](const SizeExpr& size) { return size.evaluate(symbols).value_or(0); });
    });
    for (size_t i = 0; i < results.size(); ++i) results_out[i] = Ref(made[results[i]]).release();
    return Outcome::kDone;
  } catch (const PyError&) {
    return Outcome::kError;
  }
}

}  // namespace numlift::frame_eval
