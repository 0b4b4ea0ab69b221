// Calls of custom operators (python/numlift/custom_op.py): what such a call gives is what the
// operator's shape function says, and what it writes to its arguments is stored as other code's
// writes are.
#include "numlift/frame_eval/marks.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/py/py_error.h"
#include "symbolic/hatch_calls.h"
#include "symbolic/numpy_views.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

// `sizes`: by symbol.
Ref fake_value(Interpreter& interpreter, BorrowedRef op, const Sym& value,
               std::span<const int64_t> sizes) {
  Tracer& tracer = interpreter.tracer;
  const auto size_of = [&](const SizeExpr& dim) {
    const auto size = tracer.simplify(dim).evaluate(sizes);
    if (!size) throw_break("unsupported_value", "an integer beyond 64 bits");
    return checked(PyLong_FromLongLong(*size));
  };
  const auto fake_array = [&](DType dtype, const std::vector<SizeExpr>& dims, bool is_scalar) {
    Ref shape = checked(PyTuple_New(static_cast<Py_ssize_t>(dims.size())));
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      PyTuple_SET_ITEM(shape.get(), static_cast<Py_ssize_t>(axis), size_of(dims[axis]).release());
    }
    const Ref descr = Ref::create(numpy_shim::descr_of(dtype));
    return checked(PyObject_CallMethod(op.get(), "_fake_array", "OOO", shape.get(), descr.get(),
                                       is_scalar ? Py_True : Py_False));
  };
  const auto sequence = [&](const std::vector<Sym>& items, bool is_tuple) {
    const auto size = static_cast<Py_ssize_t>(items.size());
    Ref result = checked(is_tuple ? PyTuple_New(size) : PyList_New(size));
    for (Py_ssize_t i = 0; i < size; ++i) {
      Ref item = fake_value(interpreter, op, items[static_cast<size_t>(i)], sizes);
      if (is_tuple) {
        PyTuple_SET_ITEM(result.get(), i, item.release());
      } else {
        PyList_SET_ITEM(result.get(), i, item.release());
      }
    }
    return result;
  };
  switch (value->kind) {
    case SymKind::kArray:
      return fake_array(as<ArrayValue>(value).type.dtype, as<ArrayValue>(value).type.dims, false);
    case SymKind::kScalar:
      if (!is_py_scalar(value)) return fake_array(as<ScalarValue>(value).type.dtype, {}, true);
      return tracer.present_value(value);
    case SymKind::kSize:
      return size_of(as<SizeValue>(value).expr);
    case SymKind::kTuple:
    case SymKind::kList:
      return sequence(as<SequenceValue>(value).items, value->kind == SymKind::kTuple);
    default:
      break;
  }
  auto constant = tracer.as_deep_constant(value, "an operator is called with it");
  if (!constant) throw_break("hatch_argument", "an operator is called with a " + type_name(value));
  return std::move(*constant);
}

// In the order of the operator's parameters, with its defaults.
std::vector<Sym> bind_to_operator(Interpreter& interpreter, BorrowedRef op,
                                  const CallArguments& arguments) {
  std::vector<Sym> given = arguments.positional;
  Ref names = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.keywords.size())));
  for (size_t i = 0; i < arguments.keywords.size(); ++i) {
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i),
                     Ref(arguments.keywords[i].first).release());
    given.push_back(arguments.keywords[i].second);
  }
  const Ref order = must(PyObject_CallMethod(
      op.get(), "_bind", "nO", static_cast<Py_ssize_t>(arguments.positional.size()), names.get()));
  std::vector<Sym> bound;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order.get()); ++i) {
    PyObject* one = PyTuple_GET_ITEM(order.get(), i);
    if (PyTuple_Check(one)) {
      bound.push_back(interpreter.object(PyTuple_GET_ITEM(one, 0)));
    } else {
      bound.push_back(given.at(PyLong_AsSize_t(one)));
    }
  }
  return bound;
}

void check_no_sharing(const std::vector<Sym>& values, size_t changed, const std::string& name) {
  const auto& storage = as<ArrayValue>(values[changed]).storage;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != changed && values[i]->kind == SymKind::kArray &&
        as<ArrayValue>(values[i]).storage == storage) {
      throw_break("hatch_argument", name + " writes to an array that is another argument, too");
    }
  }
}

std::string fetch_error_text() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Ref owned_type = Ref::steal(type), owned_value = Ref::steal(value),
            owned_traceback = Ref::steal(traceback);
  const Ref text = Ref::steal(value == nullptr ? nullptr : PyObject_Str(value));
  if (!text) PyErr_Clear();
  return fmt::format("{}: {}", reinterpret_cast<PyTypeObject*>(type)->tp_name,
                     text ? utf8_text(text) : "");
}

// CustomOp._plan with arguments of these sizes; null with the error set.
Ref plan_operator(Interpreter& interpreter, BorrowedRef op, const std::vector<Sym>& values,
                  std::span<const int64_t> sizes) {
  Ref fakes = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i) {
    PyTuple_SET_ITEM(fakes.get(), static_cast<Py_ssize_t>(i),
                     fake_value(interpreter, op, values[i], sizes).release());
  }
  return Ref::steal(PyObject_CallMethod(op.get(), "_plan", "(O)", fakes.get()));
}

// Asked for other sizes too: all different where the shape function accepts that, else all changed
// by the same.
PromisedResult promise(Interpreter& interpreter, BorrowedRef op, const std::vector<Sym>& values,
                       BorrowedRef plan) {
  PromisedResult promised;
  promised.now = Ref::create(PyTuple_GET_ITEM(plan.get(), 1));
  for (const int64_t step : {2, 0}) {
    std::vector<int64_t> sizes = interpreter.tracer.graph().symbol_hints();
    for (size_t i = 0; i < sizes.size(); ++i) {
      const SymbolKind kind = interpreter.tracer.graph().symbols[i].kind;
      if (kind != SymbolKind::kDim && kind != SymbolKind::kExternDim) continue;
      sizes[i] += 5 + step * static_cast<int64_t>(i);
    }
    const Ref varied = plan_operator(interpreter, op, values, sizes);
    if (varied) {
      promised.varied = Ref::create(PyTuple_GET_ITEM(varied.get(), 1));
      promised.sizes = std::move(sizes);
      break;
    }
    if (must_reach_user()) throw PyError();
    PyErr_Clear();
  }
  return promised;
}

}  // namespace

Sym call_custom_op(Interpreter& interpreter, BorrowedRef op, const std::string& name,
                   const CallArguments& given) {
  const Ref has_fake = checked(PyObject_GetAttrString(op.get(), "has_fake"));
  if (has_fake.get() != Py_True) throw_break("custom_op_without_fake", name);
  const CallArguments arguments = plain_arguments(interpreter, op, name, given);
  const std::vector<Sym> values = bind_to_operator(interpreter, op, arguments);
  Tracer& tracer = interpreter.tracer;
  const Ref plan = plan_operator(interpreter, op, values, tracer.graph().symbol_hints());
  if (!plan) {
    if (must_reach_user()) throw PyError();
    throw_break("custom_op_fake", fmt::format("{}: {}", name, fetch_error_text()));
  }
  // (what is called, a result of the promised kind, positions of changed arguments)
  const Ref run = Ref::create(PyTuple_GET_ITEM(plan.get(), 0));
  const PromisedResult promised = promise(interpreter, op, values, plan);
  BorrowedRef changed = PyTuple_GET_ITEM(plan.get(), 2);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(changed.get()); ++k) {
    const size_t at = PyLong_AsSize_t(PyTuple_GET_ITEM(changed.get(), k));
    if (values.at(at)->kind != SymKind::kArray) {
      throw_break("hatch_argument", fmt::format("{} writes to a {}", name, type_name(values[at])));
    }
    if (!as<ArrayValue>(values[at]).writeable) {
      throw_break("would_raise", name + " writes to an array that is read-only");
    }
    check_no_sharing(values, at, name);
  }
  const Sym result = tracer.extern_call(run, values, {}, name, ExternDims::kGuess, promised);
  if (PyTuple_GET_SIZE(changed.get()) == 0) return result;
  const auto& items = as<SequenceValue>(result).items;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(changed.get()); ++k) {
    auto& target = as<ArrayValue>(values[PyLong_AsSize_t(PyTuple_GET_ITEM(changed.get(), k))]);
    const NodeId node = as<ArrayValue>(items.at(static_cast<size_t>(k) + 1)).storage->current;
    // Its sizes are the target's: the program checks it.
    tracer.graph().mutable_node(node).type.dims = dims_of(tracer, target);
    tracer.store(target, node);
  }
  return items[0];
}

}  // namespace numlift::frame_eval
