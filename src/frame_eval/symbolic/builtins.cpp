// The table of builtins, and the functions of the builtins module that are no classes.
#include "symbolic/builtins.h"

#include <map>
#include <unordered_map>

#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/calls.h"
#include "symbolic/conditions.h"
#include "symbolic/identity_numbers.h"
#include "symbolic/made_classes.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/iterators.h"
#include "symbolic/named_tuples.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/operators.h"
#include "symbolic/polyfills.h"
#include "symbolic/pure.h"
#include "symbolic/pure_calls.h"
#include "symbolic/python_scalars.h"
#include "symbolic/sorting.h"
#include "symbolic/special_methods.h"
#include "symbolic/user_iterators.h"

namespace numlift::frame_eval {

void ArgumentReader::expect(size_t least, size_t most) const {
  if (count() < least || count() > most || keywords_read_ != arguments_.keywords.size()) {
    throw_break("would_raise", fmt::format("{}() with these arguments", function_));
  }
}

Sym ArgumentReader::keyword(const char* name) {
  for (const auto& [keyword, value] : arguments_.keywords) {
    if (PyUnicode_CompareWithASCIIString(keyword.get(), name) == 0) {
      ++keywords_read_;
      return value;
    }
  }
  return nullptr;
}

BorrowedRef known_object(const char* module, const char* name) {
  // Module-level C objects of the standard library; kept for the life of the process on purpose,
  // like the interned names beside them.
  static auto* const objects =
      std::make_unique<std::map<std::pair<std::string, std::string>, PyObject*>>().release();
  auto [found, is_new] = objects->try_emplace({module, name}, nullptr);
  if (is_new) {
    Ref loaded = Ref::steal(PyImport_ImportModule(module));
    found->second = loaded ? PyObject_GetAttrString(loaded.get(), name) : nullptr;
    if (found->second == nullptr) PyErr_Clear();
  }
  return found->second;
}

BuiltinHandler find_builtin(BorrowedRef callable) {
  static auto* const handlers = [] {
    BuiltinEntries entries;
    add_builtins(entries);
    add_builtin_types(entries);
    add_descriptors(entries);
    add_math(entries);
    add_operator_module(entries);
    add_library(entries);
    auto table = std::make_unique<std::unordered_map<PyObject*, BuiltinHandler>>();
    for (const auto& [module, name, handler] : entries) {
      if (BorrowedRef object = known_object(module, name)) table->emplace(object.get(), handler);
    }
    Ref tuple_new =
        checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__"));
    table->emplace(tuple_new.get(), new_tuple);
    return table.release();
  }();
  const auto found = handlers->find(callable.get());
  return found == handlers->end() ? nullptr : found->second;
}

Sym call_constant_method(Interpreter& interpreter, const Sym& self, BorrowedRef name,
                         const CallArguments& arguments) {
  auto break_off = [&](const Sym& value) {
    throw_break("unsupported_value", fmt::format("method {} of a {} with a {}", utf8_text(name),
                                                 type_name(self), type_name(value)));
  };
  auto real = [&](const Sym& value) -> Ref {
    Sym known = concrete(interpreter, value, "a method of a constant");
    std::optional<Ref> object;
    if (known->kind == SymKind::kList || known->kind == SymKind::kDict) {
      object = interpreter.tracer.as_deep_constant(known, "a method of a constant is called");
    } else {
      object = pure_constant(interpreter, known, "a method of a constant");
    }
    if (!object) break_off(value);
    return *object;
  };
  Sym owner = self;
  if (utf8_text(name) == "join" && arguments.positional.size() == 1) {
    auto items = collect_items(interpreter, arguments.positional[0]);
    Ref parts = checked(PyList_New(0));
    for (const Sym& item : items) check_status(PyList_Append(parts.get(), real(item).get()));
    return interpreter.tracer.constant(
        must(PyObject_CallMethodOneArg(real(owner).get(), name, parts.get())));
  }
  Ref method = must(PyObject_GetAttr(real(owner).get(), name));
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.positional.size())));
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i),
                     real(arguments.positional[i]).release());
  }
  Ref keywords = checked(PyDict_New());
  for (const auto& [keyword, value] : arguments.keywords) {
    check_status(PyDict_SetItem(keywords.get(), keyword.get(), real(value).get()));
  }
  Ref result = must(PyObject_Call(method.get(), positional.get(), keywords.get()));
  Sym value = value_from_real(interpreter, std::move(result));
  if (!value) break_off(self);
  return value;
}

namespace {

Sym py_len(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("len", arguments);
  read.expect(1, 1);
  return length_of(interpreter, read[0]);
}

Sym py_isinstance(Interpreter& interpreter, const CallArguments& arguments);

bool is_subclass(Interpreter& interpreter, BorrowedRef type, const Sym& classes) {
  if (is_tuple(classes)) {
    for (const Sym& item : sequence_items(interpreter, classes)) {
      if (is_subclass(interpreter, type, item)) return true;
    }
    return false;
  }
  auto real = class_for_tests(interpreter, classes, "a class test");
  if (!real) throw_break("unsupported_value", "a class test with a " + type_name(classes));
  const std::string_view kind = real->type()->tp_name;
  if (kind == "types.UnionType" || kind == "typing.Union") {
    Ref parts = must(PyObject_GetAttrString(real->get(), "__args__"));
    return is_subclass(interpreter, type, interpreter.object(parts));
  }
  if (!PyType_Check(real->get()))
    throw_break("would_raise", "a class test with something that is no class");
  PyTypeObject* metatype = real->type();
  if (metatype == &PyType_Type || metatype->tp_base == nullptr ||
      std::string_view(metatype->tp_name) == "EnumType") {
    return PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.get()),
                            reinterpret_cast<PyTypeObject*>(real->get())) != 0;
  }
  // An abstract class says no other of its own kind, unless it has a hook that says so.
  const Ref hook = checked(PyUnicode_InternFromString("__subclasshook__"));
  if (PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.get()),
                       reinterpret_cast<PyTypeObject*>(real->get())) != 0 &&
      std::string_view(metatype->tp_name) == "ABCMeta" &&
      _PyType_Lookup(reinterpret_cast<PyTypeObject*>(real->get()), hook.get()) ==
          _PyType_Lookup(&PyBaseObject_Type, hook.get())) {
    return true;
  }
  // The abstract classes of the standard library, asked about builtin and NumPy classes.
  Ref module = must(PyObject_GetAttrString(real->get(), "__module__"));
  const std::string name = PyUnicode_Check(module.get()) ? utf8_text(module) : "";
  const bool known = (name == "collections.abc" || name == "numbers") &&
                     std::string_view(metatype->tp_name) == "ABCMeta";
  const auto* tested = reinterpret_cast<PyTypeObject*>(type.get());
  const bool plain = !(tested->tp_flags & Py_TPFLAGS_HEAPTYPE);
  if (!known || !plain) throw_break("unsupported_call", "a class test with a metaclass of its own");
  const int result = PyObject_IsSubclass(type, real->get());
  if (result < 0) {
    PyErr_Clear();
    throw_break("would_raise", "a class test");
  }
  return result == 1;
}

// Iterators, views and the like, whatever their class is, are none of these.
bool is_of_values(const Sym& cls) {
  if (cls->kind != SymKind::kObject) return false;
  PyObject* object = object_of(cls).get();
  for (const PyTypeObject* type :
       {&PyDict_Type, &PyList_Type, &PyTuple_Type, &PySet_Type, &PyFrozenSet_Type, &PyUnicode_Type,
        &PyBytes_Type, &PyLong_Type, &PyFloat_Type, &PyComplex_Type, &PyArray_Type}) {
    if (reinterpret_cast<const PyObject*>(type) == object) return true;
  }
  return object == known_object("collections.abc", "Mapping").get();
}

Sym py_isinstance(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("isinstance", arguments);
  read.expect(2, 2);
  if (read[0]->kind == SymKind::kIterator && !as<IteratorValue>(read[0]).type() &&
      is_of_values(read[1])) {
    real_object(interpreter, read[1], "a class test");
    return interpreter.boolean(false);
  }
  const bool is_instance = is_subclass(interpreter, type_of(interpreter, read[0]), read[1]);
  if (!is_instance && says_its_class(read[0])) {
    throw_break("unsupported_call", "isinstance() of a " + type_name(read[0]) +
                                        ", which says of itself what its class is");
  }
  return interpreter.boolean(is_instance);
}

Sym py_issubclass(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("issubclass", arguments);
  read.expect(2, 2);
  auto type = class_for_tests(interpreter, read[0], "a class test");
  if (!type || !PyType_Check(type->get()))
    throw_break("would_raise", "issubclass() of something that is no class");
  return interpreter.boolean(is_subclass(interpreter, *type, read[1]));
}

// The argument that names an attribute, interned.
Ref attribute_name(Interpreter& interpreter, const char* function, const Sym& value) {
  auto name = pure_constant(interpreter, value, "the name of an attribute");
  if (!name || !PyUnicode_CheckExact(name->get()))
    throw_break("unsupported_value", fmt::format("{}() with such a name", function));
  PyObject* interned = name->release();
  PyUnicode_InternInPlace(&interned);
  return Ref::steal(interned);
}

Sym py_setattr(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("setattr", arguments);
  read.expect(3, 3);
  set_attribute(interpreter, read[0], attribute_name(interpreter, "setattr", read[1]), read[2]);
  return interpreter.none();
}

Sym py_delattr(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("delattr", arguments);
  read.expect(2, 2);
  set_attribute(interpreter, read[0], attribute_name(interpreter, "delattr", read[1]), nullptr);
  return interpreter.none();
}

Sym py_getattr(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("getattr", arguments);
  read.expect(2, 3);
  const Ref key = attribute_name(interpreter, "getattr", read[1]);
  if (read.count() == 3) {
    auto present = has_attribute(interpreter, read[0], key);
    if (!present) throw_break("unsupported_value", "getattr() of a " + type_name(read[0]));
    if (!*present) return read[2];
  }
  return get_attribute(interpreter, read[0], key);
}

Sym py_hasattr(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("hasattr", arguments);
  read.expect(2, 2);
  auto present =
      has_attribute(interpreter, read[0], attribute_name(interpreter, "hasattr", read[1]));
  if (!present) throw_break("unsupported_value", "hasattr() of a " + type_name(read[0]));
  return interpreter.boolean(*present);
}

Sym py_abs(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("abs", arguments);
  read.expect(1, 1);
  if (is_numpy_value(read[0])) {
    return class_of_either(true, read[0], read[0], numpy_absolute(interpreter.tracer, read[0]));
  }
  if (is_runtime_number(read[0])) return number_unary(interpreter, NumberUnary::kAbsolute, read[0]);
  if (auto real = pure_constant(interpreter, read[0], "abs()")) {
    return interpreter.tracer.constant(must(PyNumber_Absolute(real->get())));
  }
  if (Sym result = special_method(interpreter, read[0], "__abs__", {})) return result;
  throw_break("unsupported_value", "abs() of a " + type_name(read[0]));
}

template <bool want_min>
Sym py_extreme(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read(want_min ? "min" : "max", arguments);
  Sym key = read.keyword("key"), fallback = read.keyword("default");
  read.expect(1, SIZE_MAX);
  std::vector<Sym> items =
      read.count() > 1 ? arguments.positional : collect_unordered(interpreter, read[0]);
  if (items.empty()) {
    if (fallback && read.count() == 1) return fallback;
    throw_break("would_raise", "min() or max() of nothing");
  }
  auto key_of = [&](const Sym& item) {
    return key && !is_object(key, Py_None) ? call_value(interpreter, key, {{item}, {}}) : item;
  };
  // The first extreme is kept, as Python does.
  Sym best = items[0], best_key = key_of(best);
  for (size_t i = 1; i < items.size(); ++i) {
    Sym item_key = key_of(items[i]);
    const Sym is_better =
        compare_operation(interpreter, want_min ? kLess : kGreater, item_key, best_key);
    const auto decided = decide_or_branch(interpreter, is_better, [&](NodeId condition) {
      if (!interpreter.tracer.in_region()) return false;
      const bool is_own_key = best == best_key;
      best = select_number(interpreter.tracer, condition, items[i], best);
      best_key =
          is_own_key ? best : select_number(interpreter.tracer, condition, item_key, best_key);
      return true;
    });
    if (decided == true) {
      best = items[i];
      best_key = item_key;
    }
  }
  return best;
}

// From CPython 3.12 on, sum() of floats carries a correction term: real floats are summed by Python
// itself; run-time ones only where all that is added are ints or arrays.
Sym py_sum(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("sum", arguments);
  Sym start = read.keyword("start");
  read.expect(1, 2);
  if (read.count() == 2) start = read[1];
  std::vector<Sym> items = collect_items(interpreter, read[0]);
  Sym total = start ? start : interpreter.integer(0);
  if (is_object(total, nullptr) || is_tuple(total))
    throw_break("unsupported_value", "sum() of sequences");
  auto is_inexact = [](const Sym& value) {
    if (value->kind == SymKind::kScalar) return is_py_scalar(value);
    return value->kind == SymKind::kObject &&
           (PyFloat_Check(object_of(value).get()) || PyComplex_Check(object_of(value).get()));
  };
  bool inexact = is_inexact(total);
  for (const Sym& item : items) inexact = inexact || is_inexact(item);
  if (inexact) {
    Ref values = checked(PyList_New(0));
    for (const Sym& item : items) {
      auto real = pure_constant(interpreter, concrete(interpreter, item, "sum() of floats"),
                                "sum() of floats");
      if (!real) throw_break("unsupported_value", "sum() of floats and arrays");
      check_status(PyList_Append(values.get(), real->get()));
    }
    auto first = pure_constant(interpreter, concrete(interpreter, total, "sum() of floats"),
                               "sum() of floats");
    if (!first) throw_break("unsupported_value", "sum() of floats and arrays");
    return interpreter.tracer.constant(must(PyObject_CallFunctionObjArgs(
        known_object("builtins", "sum"), values.get(), first->get(), nullptr)));
  }
  for (const Sym& item : items) total = binary_operation(interpreter, kNbAdd, false, total, item);
  return total;
}

template <bool all>
Sym py_all_any(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read(all ? "all" : "any", arguments);
  read.expect(1, 1);
  auto items = make_iterator(interpreter, read[0]);
  while (Sym item = items->next(interpreter.tracer)) {
    if (truth(interpreter, item) != all) return interpreter.boolean(!all);
  }
  return interpreter.boolean(all);
}

Sym py_sorted(Interpreter& interpreter, const CallArguments& arguments) {
  if (arguments.positional.size() != 1) throw_break("would_raise", "sorted() takes one argument");
  return make_list(sort_items(interpreter, collect_unordered(interpreter, arguments.positional[0]),
                              arguments.keywords));
}

Sym py_round(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("round", arguments);
  Sym digits = read.keyword("ndigits");
  read.expect(1, 2);
  if (read.count() == 2) digits = read[1];
  if (is_numpy_value(read[0])) throw_break("numpy_argument", "round() of a NumPy value");
  auto value = pure_constant(interpreter, concrete(interpreter, read[0], "round()"), "round()");
  if (!value) {
    if (Sym result = special_method(interpreter, read[0], "__round__",
                                    digits ? std::vector<Sym>{digits} : std::vector<Sym>{})) {
      return result;
    }
    throw_break("unsupported_value", "round() of a " + type_name(read[0]));
  }
  Ref places =
      digits ? *pure_constant(interpreter, concrete(interpreter, digits, "round()"), "round()")
             : Ref::create(Py_None);
  return interpreter.tracer.constant(must(PyObject_CallFunctionObjArgs(
      known_object("builtins", "round"), value->get(), places.get(), nullptr)));
}

Sym py_divmod(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("divmod", arguments);
  read.expect(2, 2);
  if (is_numpy_value(read[0]) || is_numpy_value(read[1])) {
    if (is_either(read[0]) || is_either(read[1]))
      refuse_loop("divmod() of a number that may be Python's or NumPy's, by the iteration");
    return numpy_call(interpreter.tracer, known_object("numpy", "divmod"), arguments.positional,
                      {});
  }
  if (!is_python_number(read[0]) || !is_python_number(read[1])) {
    throw_value_break(read[0], read[1],
                      fmt::format("divmod() of {} and {}", type_name(read[0]), type_name(read[1])));
  }
  return make_tuple({binary_operation(interpreter, kNbFloorDivide, false, read[0], read[1]),
                     binary_operation(interpreter, kNbRemainder, false, read[0], read[1])});
}

Sym py_pow(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("pow", arguments);
  if (read.count() == 3) {
    Sym power = call_pure_function(interpreter, known_object("builtins", "pow"), arguments);
    if (!power) throw_break("unsupported_call", "pow() with a modulus");
    return power;
  }
  read.expect(2, 2);
  return binary_operation(interpreter, kNbPower, false, read[0], read[1]);
}

Sym py_callable(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("callable", arguments);
  read.expect(1, 1);
  if (read[0]->kind == SymKind::kFunction || read[0]->kind == SymKind::kMethod)
    return interpreter.boolean(true);
  Ref type = type_of(interpreter, read[0]);
  return interpreter.boolean(reinterpret_cast<PyTypeObject*>(type.get())->tp_call != nullptr);
}

Sym py_iter(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("iter", arguments);
  if (read.count() == 2) {
    return call_polyfill(interpreter, known_object("builtins", "iter"), "builtins.iter", arguments);
  }
  read.expect(1, 1);
  return shown_iterator(make_iterator(interpreter, read[0]));
}

Sym py_next(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("next", arguments);
  read.expect(1, 2);
  bool ended = false;
  if (Sym item = next_of_user(interpreter, read[0], &ended)) return item;
  if (ended) {
    if (read.count() == 2) return read[1];
    throw_error(PyExc_StopIteration, std::vector<Sym>{});
  }
  if (is_no_iterator(read[0])) throw_break("would_raise", "next() of a coroutine");
  if (read[0]->kind != SymKind::kIterator) {
    const bool is_iterator =
        read[0]->kind == SymKind::kObject && PyIter_Check(object_of(read[0]).get());
    throw_break(is_iterator ? "outside_iterator" : "unsupported_call",
                fmt::format("next() of a {}{}", type_name(read[0]),
                            is_iterator ? " that came in from outside" : ""));
  }
  if (Sym item = as<IteratorValue>(read[0]).next(interpreter.tracer)) return item;
  if (read.count() == 2) return read[1];
  const Sym result = generator_result(interpreter, read[0]);
  throw_error(PyExc_StopIteration,
              is_object(result, Py_None) ? std::vector<Sym>{} : std::vector<Sym>{result});
}

// sys.exception(), sys.exc_info()
template <bool whole>
Sym sys_exception(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("sys.exception", arguments);
  read.expect(0, 0);
  const Sym handled = interpreter.topmost_handled();
  if (!handled) {
    const auto source = guards::Source::handled_exception();
    if (source->read({})) throw_break("c_call", "an exception of the caller's is asked for");
    interpreter.tracer.guard(source, guards::IsAbsent{},
                             "it is asked for at " + interpreter.location_text());
    const Sym& none = interpreter.none();
    return whole ? make_tuple({none, none, none}) : none;
  }
  const auto& exception = as<ExceptionValue>(handled);
  if (!whole) return handled;
  return make_tuple({interpreter.object(exception.type), handled,
                     std::make_shared<TracebackValue>(exception, exception.traceback)});
}

// repr() of exceptions made inside and of lists and tuples of anything; null: of something else.
Sym container_repr(Interpreter& interpreter, const Sym& value, int depth) {
  constexpr int kMostNested = 50;
  if (is_exception(value)) return exception_repr(interpreter, value);
  const bool is_plain_tuple =
      value->kind == SymKind::kTuple && !as<SequenceValue>(value).named_tuple_class;
  if (value->kind != SymKind::kList && !is_plain_tuple) return nullptr;
  if (depth > kMostNested) throw_break("unsupported_value", "repr() of a deeply nested list");
  const auto& items = as<SequenceValue>(value).items;
  std::string text = is_plain_tuple ? "(" : "[";
  for (const Sym& item : items) {
    if (text.size() > 1) text += ", ";
    Sym part = container_repr(interpreter, item, depth + 1);
    if (!part) {
      part = call_value(interpreter, interpreter.object(known_object("builtins", "repr")),
                        {{item}, {}});
    }
    text += utf8_text(object_of(part));
  }
  if (is_plain_tuple && items.size() == 1) text += ",";
  return interpreter.text(text + (is_plain_tuple ? ")" : "]"));
}

template <char letter>
Sym py_digits(Interpreter& interpreter, const CallArguments& arguments) {
  static constexpr const char* kName = letter == 'b'   ? "bin"
                                       : letter == 'x' ? "hex"
                                       : letter == 'o' ? "oct"
                                       : letter == 'c' ? "chr"
                                       : letter == 'd' ? "ord"
                                                       : "repr";
  ArgumentReader read(kName, arguments);
  read.expect(1, 1);
  if (letter == 'r') {
    if (Sym text = container_repr(interpreter, read[0], 0)) return text;
  }
  auto value = pure_constant(interpreter, concrete(interpreter, read[0], kName), kName);
  if (!value) value = known_value(interpreter, read[0]);
  if (!value)
    throw_break("unsupported_value", fmt::format("{}() of a {}", kName, type_name(read[0])));
  return interpreter.tracer.constant(
      must(PyObject_CallOneArg(known_object("builtins", kName), value->get())));
}

}  // namespace

void add_builtins(BuiltinEntries& entries) {
  auto add = [&](const char* name, BuiltinHandler handler) {
    entries.emplace_back("builtins", name, handler);
  };
  add("len", py_len);
  add("isinstance", py_isinstance);
  add("issubclass", py_issubclass);
  add("getattr", py_getattr);
  add("hasattr", py_hasattr);
  add("setattr", py_setattr);
  add("delattr", py_delattr);
  add("abs", py_abs);
  add("min", py_extreme<true>);
  add("max", py_extreme<false>);
  add("sum", py_sum);
  add("all", py_all_any<true>);
  add("any", py_all_any<false>);
  add("sorted", py_sorted);
  add("round", py_round);
  add("divmod", py_divmod);
  add("pow", py_pow);
  add("callable", py_callable);
  add("iter", py_iter);
  add("next", py_next);
  add("bin", py_digits<'b'>);
  add("hex", py_digits<'x'>);
  add("oct", py_digits<'o'>);
  add("chr", py_digits<'c'>);
  add("ord", py_digits<'d'>);
  add("repr", py_digits<'r'>);
  add("id", identity_number);
  entries.emplace_back("sys", "exception", sys_exception<false>);
  entries.emplace_back("sys", "exc_info", sys_exception<true>);
}

}  // namespace numlift::frame_eval
