// Builtin classes called: range, enumerate, zip, int, float, tuple, list, dict, set, slice, type,
// super.
#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/containers.h"
#include "symbolic/enums.h"
#include "symbolic/exceptions.h"
#include "symbolic/iterators.h"
#include "symbolic/made_classes.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/python_scalars.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

namespace {

// What the frame calls next does nothing but iterate over what it is about to get: `for` itself, or
// reversed() and enumerate() of one argument.
bool iterates_next(const Frame& frame) {
  const Instruction& next = frame.bytecode->instructions[frame.next];
  if (next.op == Instr::kGetIter) return true;
  if (next.op != Instr::kCall || next.arg != 1 || frame.keyword_names) return false;
  for (size_t depth = 1; depth <= 2 && depth <= frame.stack.size(); ++depth) {
    const Sym& callable = frame.stack[frame.stack.size() - depth];
    if (callable->kind != SymKind::kObject) continue;
    PyObject* object = object_of(callable).get();
    return object == reinterpret_cast<PyObject*>(&PyReversed_Type) ||
           object == reinterpret_cast<PyObject*>(&PyEnum_Type);
  }
  return false;
}

Sym py_range(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("range", arguments);
  read.expect(1, 3);
  // Its bounds need not be known.
  const Frame* frame = interpreter.current_frame();
  const bool is_iterated = frame != nullptr && !frame->is_polyfill && iterates_next(*frame);
  const auto is_int = [](const Sym& value) {
    return value->kind == SymKind::kSize ||
           (value->kind == SymKind::kScalar && is_integer(as<ScalarValue>(value).type.dtype)) ||
           (value->kind == SymKind::kObject && PyLong_CheckExact(object_of(value).get()));
  };
  if (is_iterated && std::all_of(arguments.positional.begin(), arguments.positional.end(), is_int))
    return make_range_iterator(interpreter, arguments.positional);
  Ref bounds = checked(PyTuple_New(static_cast<Py_ssize_t>(read.count())));
  for (size_t i = 0; i < read.count(); ++i) {
    const int64_t bound = concrete_int(interpreter, read[i], "the bounds of a range");
    PyTuple_SET_ITEM(bounds.get(), static_cast<Py_ssize_t>(i),
                     checked(PyLong_FromLongLong(bound)).release());
  }
  return interpreter.tracer.constant(
      must(PyObject_Call(reinterpret_cast<PyObject*>(&PyRange_Type), bounds.get(), nullptr)));
}

Sym py_enumerate(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("enumerate", arguments);
  Sym start = read.keyword("start");
  read.expect(1, 2);
  if (read.count() == 2) start = read[1];
  return make_enumerate(interpreter, read[0],
                        start ? concrete_int(interpreter, start, "enumerate()") : 0);
}

Sym py_zip(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("zip", arguments);
  Sym strict = read.keyword("strict");
  read.expect(0, SIZE_MAX);
  return make_zip(interpreter, arguments.positional, strict && truth(interpreter, strict));
}

Sym py_map(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("map", arguments);
  read.expect(2, SIZE_MAX);
  return make_map(interpreter, read[0],
                  {arguments.positional.begin() + 1, arguments.positional.end()});
}

Sym py_filter(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("filter", arguments);
  read.expect(2, 2);
  return make_filter(interpreter, read[0], read[1]);
}

Sym py_reversed(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("reversed", arguments);
  read.expect(1, 1);
  return make_reversed(interpreter, read[0]);
}

template <PyTypeObject* type>
Sym py_number(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read(type->tp_name, arguments);
  read.expect(0, 2);
  if (read.count() == 1) {
    const Sym value = enum_number(interpreter, read[0]);
    if (type == &PyBool_Type) {
      if (value->kind != SymKind::kScalar && !is_numpy_value(value)) {
        return interpreter.boolean(truth(interpreter, value));
      }
    }
    if (is_numpy_value(value)) {
      return type == &PyBool_Type ? numpy_to_bool(interpreter.tracer, value)
                                  : numpy_to_number(interpreter.tracer, type, value);
    }
    if (is_runtime_number(value)) return number_convert(interpreter, type, value);
  }
  Ref real = checked(PyTuple_New(static_cast<Py_ssize_t>(read.count())));
  for (size_t i = 0; i < read.count(); ++i) {
    auto constant =
        pure_constant(interpreter, concrete(interpreter, read[i], type->tp_name), type->tp_name);
    if (!constant)
      throw_break("unsupported_value",
                  fmt::format("{}() of a {}", type->tp_name, type_name(read[i])));
    PyTuple_SET_ITEM(real.get(), static_cast<Py_ssize_t>(i), constant->release());
  }
  return interpreter.tracer.constant(
      must(PyObject_Call(reinterpret_cast<PyObject*>(type), real.get(), nullptr)));
}

Sym py_str(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("str", arguments);
  read.expect(0, 1);
  if (read.count() == 0) return interpreter.text("");
  if (is_exception(read[0])) return exception_text(interpreter, read[0]);
  auto value = pure_constant(interpreter, concrete(interpreter, read[0], "str()"), "str()");
  if (!value) throw_break("unsupported_value", "str() of a " + type_name(read[0]));
  return interpreter.tracer.constant(must(PyObject_Str(value->get())));
}

Sym py_tuple(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("tuple", arguments);
  read.expect(0, 1);
  if (read.count() == 1 && is_plain_tuple(read[0])) return read[0];
  return make_tuple(read.count() ? collect_items(interpreter, read[0]) : std::vector<Sym>{});
}

Sym py_list(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("list", arguments);
  read.expect(0, 1);
  return make_list(read.count() ? collect_items(interpreter, read[0]) : std::vector<Sym>{});
}

Sym py_set(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("set", arguments);
  read.expect(0, 1);
  return read.count() ? set_of(interpreter, read[0]) : make_set(interpreter, {});
}

Sym py_dict(Interpreter& interpreter, const CallArguments& arguments) {
  if (arguments.positional.size() > 1) throw_break("would_raise", "dict() with several arguments");
  auto dict = std::make_shared<DictValue>();
  if (!arguments.positional.empty()) {
    for (const auto& [key, value] : collect_pairs(interpreter, arguments.positional[0])) {
      dict_set(interpreter, dict, key, value);
    }
  }
  for (const auto& [name, value] : arguments.keywords) {
    dict_set(interpreter, dict, interpreter.object(name), value);
  }
  return dict;
}

Sym py_slice(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("slice", arguments);
  read.expect(1, 3);
  const Sym& none = interpreter.none();
  if (read.count() == 1) return std::make_shared<SliceValue>(none, read[0], none);
  return std::make_shared<SliceValue>(read[0], read[1], read.count() == 3 ? read[2] : none);
}

Sym py_type(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("type", arguments);
  if (read.count() == 3) throw_break("class_made", "a class is made");
  read.expect(1, 1);
  return interpreter.object(type_of(interpreter, read[0]));
}

// super(type, object) raises where the object is no instance and no subclass of the type.
void check_super(Interpreter& interpreter, const Sym& start, const Sym& self) {
  const auto type = class_for_tests(interpreter, start, "super() is used");
  if (!type || !PyType_Check(type->get())) throw_break("would_raise", "super() of no class");
  auto* wanted = reinterpret_cast<PyTypeObject*>(type->get());
  Ref own = type_of(interpreter, self);
  if (PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(own.get()), wanted)) return;
  if (self->kind == SymKind::kObject && PyType_Check(object_of(self).get()) &&
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(object_of(self).get()), wanted)) {
    return;
  }
  throw_break("would_raise", "super() of an object of another class");
}

// super(): the frame's first argument, and the cell __class__ that the compiler makes for it.
Sym py_super(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("super", arguments);
  read.expect(0, 2);
  if (read.count() == 2) {
    check_super(interpreter, read[0], read[1]);
    return std::make_shared<SuperValue>(read[0], read[1]);
  }
  if (read.count() == 1) throw_break("unsupported_call", "super() with one argument");
  Frame* frame = interpreter.current_frame();
  Sym self = frame->slots.empty() ? nullptr : frame->slots[0];
  if (self && self->kind == SymKind::kCell) self = interpreter.read_cell(as<CellValue>(self));
  const auto slots = local_slots(frame->bytecode->code);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].is_free && utf8_text(slots[i].name) == "__class__" && self && frame->slots[i] &&
        frame->slots[i]->kind == SymKind::kCell) {
      const Sym start = interpreter.read_cell(as<CellValue>(frame->slots[i]));
      check_super(interpreter, start, self);
      return std::make_shared<SuperValue>(start, self);
    }
  }
  throw_break("unsupported_call", "super() without a class");
}

// types.MethodType(function, object)
Sym py_method(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("method", arguments);
  read.expect(2, 2);
  const bool is_function =
      read[0]->kind == SymKind::kFunction ||
      (read[0]->kind == SymKind::kObject && PyFunction_Check(object_of(read[0]).get()));
  if (!is_function || is_object(read[1], Py_None)) {
    throw_break("object_made", "a method is made of a " + type_name(read[0]));
  }
  if (read[0]->source) type_of(interpreter, read[0]);
  if (read[1]->source) type_of(interpreter, read[1]);
  return std::make_shared<MethodValue>(read[1], read[0], Ref());
}

}  // namespace

void add_builtin_types(BuiltinEntries& entries) {
  auto add = [&](const char* name, BuiltinHandler handler) {
    entries.emplace_back("builtins", name, handler);
  };
  add("range", py_range);
  add("enumerate", py_enumerate);
  add("zip", py_zip);
  add("map", py_map);
  add("filter", py_filter);
  add("reversed", py_reversed);
  add("int", py_number<&PyLong_Type>);
  add("float", py_number<&PyFloat_Type>);
  add("bool", py_number<&PyBool_Type>);
  add("complex", py_number<&PyComplex_Type>);
  add("str", py_str);
  add("tuple", py_tuple);
  add("list", py_list);
  add("set", py_set);
  add("dict", py_dict);
  add("slice", py_slice);
  add("type", py_type);
  add("super", py_super);
  entries.emplace_back("types", "MethodType", py_method);
}

}  // namespace numlift::frame_eval
