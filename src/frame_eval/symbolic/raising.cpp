#include "symbolic/raising.h"

#include <algorithm>

#include "numlift/frame_eval/marks.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/sets.h"
#include "symbolic/silenced_numpy.h"

namespace numlift::frame_eval {

namespace {

// ---------------------------------------------------------------- stand-ins

// Real objects for values, with the contents that the tracer knows. Arrays are zeros. Null: there
// is none without running code of the user.
class StandIns {
 public:
  explicit StandIns(Interpreter& interpreter) : interpreter_(interpreter) {}

  Ref make(const Sym& value) {
    switch (value->kind) {
      case SymKind::kArray:
        return array(as<ArrayValue>(value));
      case SymKind::kScalar:
        return scalar(value);
      case SymKind::kSize:
        return checked(PyLong_FromLongLong(
            interpreter_.tracer.specialize(as<SizeValue>(value).expr, reason())));
      case SymKind::kObject:
        return object(value);
      case SymKind::kTuple:
        if (as<SequenceValue>(value).named_tuple_class) return {};
        return sequence(as<SequenceValue>(value).items, &PyTuple_Type);
      case SymKind::kList:
        return sequence(as<SequenceValue>(value).items, &PyList_Type);
      case SymKind::kSet:
        return checked(PySet_New(as<SetValue>(value).real.get()));
      case SymKind::kDict:
        return dict(as<DictValue>(value).items);
      case SymKind::kSlice: {
        const auto& slice = as<SliceValue>(value);
        const Ref start = make(slice.start), stop = make(slice.stop), step = make(slice.step);
        if (!start || !stop || !step) return {};
        return checked(PySlice_New(start.get(), stop.get(), step.get()));
      }
      case SymKind::kMethod: {
        const auto& method = as<MethodValue>(value);
        if (method.function) return {};
        const Ref self = make(method.self);
        return self ? checked(PyObject_GetAttr(self.get(), method.name.get())) : Ref();
      }
      case SymKind::kNull:
      case SymKind::kGrownList:
      case SymKind::kFunction:
      case SymKind::kCell:
      case SymKind::kIterator:
      case SymKind::kException:
        return {};
    }
    NUMLIFT_UNREACHABLE();
  }

 private:
  std::string reason() const {
    return "what is raised at " + interpreter_.location_text() + " tells it";
  }

  Ref array(const ArrayValue& value) {
    constexpr npy_intp kMostElements = npy_intp{1} << 28;
    std::vector<npy_intp> dims;
    npy_intp count = 1;
    for (const SizeExpr& dim : value.type.dims) {
      dims.push_back(interpreter_.tracer.specialize(dim, reason()));
      if (dims.back() > 0 && count > kMostElements / dims.back()) return {};
      count *= dims.back();
    }
    Ref descr = Ref::create(numpy_shim::descr_of(value.type.dtype));
    Ref zeros = checked(PyArray_Zeros(static_cast<int>(dims.size()), dims.data(),
                                      reinterpret_cast<PyArray_Descr*>(descr.release()), 0));
    if (!value.writeable || value.read_only) {
      PyArray_CLEARFLAGS(numpy_shim::as_array(zeros), NPY_ARRAY_WRITEABLE);
    }
    return zeros;
  }

  Ref scalar(const Sym& value) {
    const Sym known = interpreter_.tracer.specialize_value(value, reason());
    if (known->kind == SymKind::kObject) return Ref::create(object_of(known));
    const Type& type = as<ScalarValue>(value).type;
    if (type.value_kind != ValueKind::kNumpyScalar) return {};
    const Ref one = checked(PyLong_FromLong(1));
    return checked(PyObject_CallOneArg(numpy_shim::scalar_class_of(type.dtype), one.get()));
  }

  Ref object(const Sym& value) {
    BorrowedRef real = object_of(value);
    if (is_list(value) || is_tuple(value)) {
      return sequence(sequence_items(interpreter_, value),
                      is_list(value) ? &PyList_Type : &PyTuple_Type);
    }
    if (is_dict(value)) return dict(dict_items(interpreter_, value));
    const bool is_static_class =
        PyType_Check(real.get()) &&
        !(reinterpret_cast<PyTypeObject*>(real.get())->tp_flags & Py_TPFLAGS_HEAPTYPE);
    if (!is_pure(real) && !is_static_class && !is_numpy_callable(real)) return {};
    auto known = real_object(interpreter_, value, "what is raised");
    return known ? std::move(*known) : Ref();
  }

  Ref sequence(const std::vector<Sym>& items, PyTypeObject* type) {
    Ref list = checked(PyList_New(0));
    for (const Sym& item : items) {
      const Ref made = make(item);
      if (!made) return {};
      check_status(PyList_Append(list.get(), made.get()));
    }
    if (type == &PyList_Type) return list;
    return checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), list.get()));
  }

  Ref dict(const std::vector<std::pair<Sym, Sym>>& items) {
    Ref made = checked(PyDict_New());
    for (const auto& [key, value] : items) {
      const Ref real_key = make(key), real_value = make(value);
      if (!real_key || !real_value) return {};
      check_status(PyDict_SetItem(made.get(), real_key.get(), real_value.get()));
    }
    return made;
  }

  Interpreter& interpreter_;
};

// ---------------------------------------------------------------- operations

// An instruction as a call of a builtin or of a function of the module operator, which raise the
// same.
struct Operation {
  Ref callable;  // or:
  Sym call_of;   // a value that is called
  std::vector<Sym> arguments;
  std::vector<std::pair<Ref, Sym>> keywords;
};

Ref from_operator(const std::string& name) {
  return checked(
      PyObject_GetAttrString(checked(PyImport_ImportModule("operator")).get(), name.c_str()));
}

std::string binary_name(int nb_op) {
  static constexpr const char* kNames[] = {"add", "and_",    "floordiv", "lshift", "matmul",
                                           "mul", "mod",     "or_",      "pow",    "rshift",
                                           "sub", "truediv", "xor"};
  constexpr int kFirstInPlace = 13;
  if (nb_op < kFirstInPlace) return kNames[nb_op];
  std::string name = kNames[nb_op - kFirstInPlace];
  if (name.back() == '_') name.pop_back();
  return "i" + name;
}

class Operands {
 public:
  explicit Operands(const std::vector<Sym>& stack) : stack_(stack) {}
  // depth 1 is the top
  const Sym& operator[](size_t depth) const { return stack_[stack_.size() - depth]; }
  size_t count() const { return stack_.size(); }

 private:
  const std::vector<Sym>& stack_;
};

std::optional<Operation> call_operation(const Instruction& instruction, const Operands& stack,
                                        Ref names) {
  auto count = static_cast<size_t>(instruction.arg);
  size_t top = 1;
  if (instruction.op == Instr::kCallKw) {
    names = Ref::create(object_of(stack[1]));
    top = 2;
  }
  if (stack.count() < top + count + 1) return std::nullopt;
  Operation operation;
  const size_t named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names.get())) : 0;
  for (size_t i = 0; i < count; ++i) {
    const Sym& value = stack[top + count - 1 - i];
    if (i < count - named) {
      operation.arguments.push_back(value);
    } else {
      const auto name = static_cast<Py_ssize_t>(i - (count - named));
      operation.keywords.emplace_back(Ref::create(PyTuple_GET_ITEM(names.get(), name)), value);
    }
  }
  const Sym &second = stack[top + count], &first = stack[top + count + 1];
  operation.call_of = is_null(first) ? second : first;
  if (!is_null(first) && !is_null(second)) {
    operation.arguments.insert(operation.arguments.begin(), second);
  }
  return operation;
}

// nullopt: an instruction that is not known here.
std::optional<Operation> operation_of(const Instruction& instruction, const Operands& stack,
                                      const Ref& names) {
  const auto by = [&](const std::string& name, std::vector<Sym> arguments) {
    return Operation{from_operator(name), nullptr, std::move(arguments), {}};
  };
  const auto slice = [](const Sym& start, const Sym& stop) -> Sym {
    return std::make_shared<SliceValue>(start, stop,
                                        std::make_shared<ObjectValue>(Ref::create(Py_None)));
  };
  static constexpr const char* kCompare[] = {"lt", "le", "eq", "ne", "gt", "ge"};
  switch (instruction.op) {
    case Instr::kCall:
    case Instr::kCallKw:
      return call_operation(instruction, stack, names);
    case Instr::kBinaryOp:
      return by(binary_name(instruction.arg), {stack[2], stack[1]});
    case Instr::kCompareOp:
      return by(kCompare[instruction.arg], {stack[2], stack[1]});
    case Instr::kContainsOp:
      return by("contains", {stack[1], stack[2]});
    case Instr::kSubscript:
      return by("getitem", {stack[2], stack[1]});
    case Instr::kSubscriptSlice:
      return by("getitem", {stack[3], slice(stack[2], stack[1])});
    case Instr::kStoreSubscript:
      return by("setitem", {stack[2], stack[1], stack[3]});
    case Instr::kStoreSlice:
      return by("setitem", {stack[3], slice(stack[2], stack[1]), stack[4]});
    case Instr::kDeleteSubscript:
      return by("delitem", {stack[2], stack[1]});
    case Instr::kUnaryNegative:
      return by("neg", {stack[1]});
    case Instr::kUnaryPositive:
      return by("pos", {stack[1]});
    case Instr::kUnaryInvert:
      return by("invert", {stack[1]});
    case Instr::kUnaryNot:
    case Instr::kToBool:
    case Instr::kJumpIfFalse:
    case Instr::kJumpIfTrue:
      return by("truth", {stack[1]});
    case Instr::kGetLen:
      return Operation{Ref::create(known_object("builtins", "len")), nullptr, {stack[1]}, {}};
    case Instr::kGetIter:
      return Operation{Ref::create(known_object("builtins", "iter")), nullptr, {stack[1]}, {}};
    case Instr::kLoadAttr:
      return Operation{Ref::create(known_object("builtins", "getattr")),
                       nullptr,
                       {stack[1], std::make_shared<ObjectValue>(Ref::create(instruction.name))},
                       {}};
    case Instr::kStoreAttr:
      return Operation{
          Ref::create(known_object("builtins", "setattr")),
          nullptr,
          {stack[1], std::make_shared<ObjectValue>(Ref::create(instruction.name)), stack[2]},
          {}};
    default:
      return std::nullopt;
  }
}

bool is_c_class(BorrowedRef object) {
  return PyType_Check(object.get()) &&
         !(reinterpret_cast<PyTypeObject*>(object.get())->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

// What runs no code of the user, given stand-ins.
bool may_be_called(const Sym& callable) {
  if (callable->kind == SymKind::kMethod) return !as<MethodValue>(callable).function;
  if (callable->kind != SymKind::kObject) return false;
  BorrowedRef object = object_of(callable);
  return find_builtin(object) != nullptr || is_numpy_callable(object) ||
         (PyExceptionClass_Check(object.get()) && is_c_class(object));
}

// Stores that the failed operation had already begun with.
bool has_stores(const Graph& graph, size_t from) {
  for (size_t i = from; i < graph.size(); ++i) {
    if (graph.node(static_cast<NodeId>(i)).op == Op::kStore) return true;
  }
  return false;
}

std::optional<Raised> carry_out(Interpreter& interpreter, const Operation& operation) {
  StandIns stand_ins(interpreter);
  Ref callable = operation.callable;
  if (!callable) {
    if (!may_be_called(operation.call_of)) return std::nullopt;
    callable = operation.call_of->kind == SymKind::kObject
                   ? Ref::create(object_of(operation.call_of))
                   : stand_ins.make(operation.call_of);
    if (!callable) return std::nullopt;
  }
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(operation.arguments.size())));
  for (size_t i = 0; i < operation.arguments.size(); ++i) {
    Ref value = stand_ins.make(operation.arguments[i]);
    if (!value) return std::nullopt;
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), value.release());
  }
  const Ref keywords = checked(PyDict_New());
  for (const auto& [name, argument] : operation.keywords) {
    const Ref value = stand_ins.make(argument);
    if (!value) return std::nullopt;
    check_status(PyDict_SetItem(keywords.get(), name.get(), value.get()));
  }
  const SilencedNumpy silenced;
  const Ref result = Ref::steal(PyObject_Call(callable.get(), positional.get(), keywords.get()));
  if (result) return std::nullopt;
  if (must_reach_user()) throw PyError();
  return raised_from_error();
}

}  // namespace

std::optional<Raised> error_of_operation(Interpreter& interpreter, Frame& frame,
                                         const Break& reason) {
  if (reason.category != "would_raise" || reason.is_placed || frame.operands.empty()) {
    return std::nullopt;
  }
  const std::vector<Sym> operands = std::move(frame.operands);
  frame.operands.clear();
  if (has_stores(interpreter.tracer.graph(), frame.operands_graph_size) ||
      interpreter.tracer.effects().size() != frame.operands_effects) {
    return std::nullopt;
  }
  const Instruction& instruction = frame.bytecode->instructions[frame.next - 1];
  try {
    const auto operation = operation_of(instruction, Operands(operands), frame.operand_names);
    if (!operation) return std::nullopt;
    return carry_out(interpreter, *operation);
  } catch (const Break&) {
    return std::nullopt;
  } catch (const Raised&) {
    return std::nullopt;
  } catch (const PyError&) {
    if (must_reach_user()) throw;
    PyErr_Clear();
    return std::nullopt;
  }
}

}  // namespace numlift::frame_eval
