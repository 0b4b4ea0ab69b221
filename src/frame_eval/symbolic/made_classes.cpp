#include "symbolic/made_classes.h"

#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/instances.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

MadeClass* as_made_class(const Sym& value) {
  return value->kind == SymKind::kObject ? dynamic_cast<MadeClass*>(value.get()) : nullptr;
}

BorrowedRef outside_base(const Tracer& tracer, BorrowedRef cls) {
  if (!tracer.has_made_classes() || !tracer.made_class(cls)) return {};
  PyObject* line = reinterpret_cast<PyTypeObject*>(cls.get())->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(line); ++i) {
    if (!tracer.made_class(PyTuple_GET_ITEM(line, i))) return PyTuple_GET_ITEM(line, i);
  }
  NUMLIFT_UNREACHABLE();
}

Ref own_of_stand_in(const Tracer& tracer, BorrowedRef cls, BorrowedRef name) {
  PyObject* line = reinterpret_cast<PyTypeObject*>(cls.get())->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(line); ++i) {
    PyObject* one = PyTuple_GET_ITEM(line, i);
    if (!tracer.made_class(one)) return {};
    const Ref names = checked(PyObject_GetAttrString(one, "__dict__"));
    if (Ref found = Ref::steal(PyObject_GetItem(names.get(), name.get()))) return found;
    PyErr_Clear();
  }
  return {};
}

std::optional<Ref> class_for_tests(Interpreter& interpreter, const Sym& value, const char* what) {
  if (as_made_class(value)) return Ref::create(object_of(value));
  return real_object(interpreter, value, what);
}

namespace {

[[noreturn]] void cannot(const std::string& why) { throw_break("class_made", why); }

// What stands in the stand-in class for a member: of the same type, as far as types matter.
Ref placeholder(const Sym& value) {
  if (value->kind == SymKind::kObject && !as<ObjectValue>(value).is_new)
    return Ref::create(object_of(value));
  if (value->kind == SymKind::kFunction) {
    const auto& function = as<FunctionValue>(value);
    return checked(PyFunction_New(function.code.get(), function.globals.get()));
  }
  if (const auto* descriptor = as_descriptor(value)) {
    Ref parts = checked(PyTuple_New(static_cast<Py_ssize_t>(descriptor->parts.size())));
    for (size_t i = 0; i < descriptor->parts.size(); ++i) {
      PyTuple_SET_ITEM(parts.get(), static_cast<Py_ssize_t>(i),
                       placeholder(descriptor->parts[i]).release());
    }
    return must(PyObject_Call(descriptor->cls.get(), parts.get(), nullptr));
  }
  return Ref::create(Py_None);
}

bool has_own_hook(BorrowedRef cls, const char* name) {
  const Ref text = checked(PyUnicode_InternFromString(name));
  return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(cls.get()), text.get()) !=
         _PyType_Lookup(&PyBaseObject_Type, text.get());
}

Ref base_class(Interpreter& interpreter, const Sym& base) {
  const auto real = class_for_tests(interpreter, base, "a class is derived from it");
  if (!real || !PyType_Check(real->get())) cannot("a class is derived from a " + type_name(base));
  if (real->type() != &PyType_Type) cannot("a class with a metaclass is made");
  if (has_own_hook(*real, "__init_subclass__"))
    cannot("a class is derived from one with an __init_subclass__");
  return *real;
}

// Names of a class body that type() treats in a way of its own.
bool is_special_name(const std::string& name) {
  static constexpr std::string_view kNames[] = {"__init_subclass__", "__class_getitem__",
                                                "__classdictcell__", "__annotate__",
                                                "__annotate_func__", "__del__"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

void check_member(const std::string& name, const Sym& value) {
  if (is_special_name(name)) cannot(fmt::format("a class with {} is made", name));
  if (value->kind != SymKind::kObject || PyType_Check(object_of(value).get())) return;
  const Ref hook = checked(PyUnicode_InternFromString("__set_name__"));
  if (_PyType_Lookup(object_of(value).type(), hook.get()) != nullptr)
    cannot("a class with a descriptor that is told its name is made");
}

// Nobody finds the stand-in by way of its bases. (The classes of C keep theirs elsewhere.)
void hide_stand_in(BorrowedRef stand_in) {
  PyObject* bases = reinterpret_cast<PyTypeObject*>(stand_in.get())->tp_bases;
  const Ref key = checked(PyLong_FromVoidPtr(stand_in.get()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    const auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
    auto* known = static_cast<PyObject*>(base->tp_subclasses);
    if (!PyType_HasFeature(const_cast<PyTypeObject*>(base), Py_TPFLAGS_HEAPTYPE) ||
        known == nullptr || !PyDict_CheckExact(known)) {
      continue;
    }
    if (PyDict_DelItem(known, key.get()) < 0) PyErr_Clear();
  }
}

// Members are looked up in one line of classes from outside.
void check_line_of_bases(const Tracer& tracer, BorrowedRef stand_in) {
  const BorrowedRef first = outside_base(tracer, stand_in);
  PyObject* line = reinterpret_cast<PyTypeObject*>(first.get())->tp_mro;
  PyObject* all = reinterpret_cast<PyTypeObject*>(stand_in.get())->tp_mro;
  Py_ssize_t next = 0;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(all); ++i) {
    PyObject* cls = PyTuple_GET_ITEM(all, i);
    if (tracer.made_class(cls)) continue;
    if (next >= PyTuple_GET_SIZE(line) || PyTuple_GET_ITEM(line, next++) != cls)
      cannot("a class with several bases is made");
  }
}

// A dict whose keys are texts and which type() may change.
Ref stand_in_names(Interpreter& interpreter, const DictValue& names) {
  Ref dict = checked(PyDict_New());
  for (const auto& [key, value] : names.items) {
    const std::string name = utf8_text(object_of(key));
    check_member(name, value);
    Ref member;
    if (name == "__slots__") {
      const auto slots =
          interpreter.tracer.as_deep_constant(value, "the slots of a class that is made");
      if (!slots) cannot("a class with __slots__ that are not known is made");
      member = *slots;
    } else {
      member = placeholder(value);
    }
    check_status(PyDict_SetItem(dict.get(), object_of(key).get(), member.get()));
  }
  return dict;
}

std::shared_ptr<DictValue> run_body(Interpreter& interpreter, const FunctionValue& body) {
  auto frame = make_frame({body.code, body.globals, body.closure, {}, {}}, {});
  frame->names = std::make_shared<DictValue>();
  const auto names = frame->names;
  interpreter.direct_caller = nullptr;
  interpreter.run(*frame);
  return names;
}

}  // namespace

Sym build_class(Interpreter& interpreter, const CallArguments& arguments) {
  const auto& given = arguments.positional;
  if (given.size() < 2 || given[0]->kind != SymKind::kFunction)
    cannot("a class is made of a body that is not known");
  if (!arguments.keywords.empty()) cannot("a class is made with keywords");
  const auto name = pure_constant(interpreter, given[1], "the name of a class");
  if (!name || !PyUnicode_CheckExact(name->get())) cannot("a class with such a name is made");
  const std::vector<Sym> bases(given.begin() + 2, given.end());
  Ref real_bases = checked(PyTuple_New(static_cast<Py_ssize_t>(bases.size())));
  for (size_t i = 0; i < bases.size(); ++i) {
    PyTuple_SET_ITEM(real_bases.get(), static_cast<Py_ssize_t>(i),
                     base_class(interpreter, bases[i]).release());
  }
  auto names = run_body(interpreter, as<FunctionValue>(given[0]));
  // The cell of __class__, which the trace fills itself.
  Sym class_cell;
  const Sym cell_name = interpreter.text("__classcell__");
  if ((class_cell = find_in_dict(interpreter, names, cell_name))) {
    if (class_cell->kind != SymKind::kCell)
      cannot("a class with a __classcell__ of its own is made");
    dict_remove(interpreter, names, cell_name);
  }
  const Ref real_names = stand_in_names(interpreter, *names);
  auto made = std::make_shared<MadeClass>(
      must(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyType_Type), name->get(),
                                        real_bases.get(), real_names.get(), nullptr)));
  hide_stand_in(made->object);
  interpreter.tracer.add_made_class(made);
  check_line_of_bases(interpreter.tracer, made->object);
  made->name = given[1];
  made->bases = make_tuple(bases);
  made->names = names;
  if (class_cell) as<CellValue>(class_cell).content = made;
  for (const auto& [key, value] : names->items) {
    if (utf8_text(object_of(key)) == "__slots__" || utf8_text(object_of(key)) == "__qualname__")
      continue;
    interpreter.change_class_attribute(made->object, interned_name(object_of(key)), value);
  }
  return made;
}

void set_made_class_attribute(Interpreter& interpreter, const Sym& cls, BorrowedRef name,
                              const Sym& value) {
  const bool is_plain = value && !as_descriptor(value) && !utf8_text(name).starts_with("__");
  const Sym now = class_member(interpreter, object_of(cls), name);
  if (!is_plain || (now && (now->kind != SymKind::kFunction && now->kind != SymKind::kObject &&
                            as_descriptor(now) != nullptr))) {
    throw_break("attribute_set",
                fmt::format("attribute '{}' of a {} is set", utf8_text(name), type_name(cls)));
  }
  check_member(utf8_text(name), value);
  dict_set(interpreter, as_made_class(cls)->names, interpreter.object(name), value);
  interpreter.change_class_attribute(object_of(cls), name, value);
}

// ---------------------------------------------------------------- descriptors

DescriptorValue* as_descriptor(const Sym& value) {
  return value->kind == SymKind::kIterator ? dynamic_cast<DescriptorValue*>(value.get()) : nullptr;
}

template <PyTypeObject* cls>
Sym make_descriptor(Interpreter& interpreter, const CallArguments& arguments) {
  const size_t most = cls == &PyProperty_Type ? 3 : 1;
  if (arguments.positional.empty() || arguments.positional.size() > most ||
      !arguments.keywords.empty()) {
    throw_break("object_made", fmt::format("a {} is made of these arguments", cls->tp_name));
  }
  auto made = std::make_shared<DescriptorValue>();
  made->cls = Ref::create(reinterpret_cast<PyObject*>(cls));
  for (const Sym& part : arguments.positional) {
    const bool is_function =
        part->kind == SymKind::kFunction || is_object(part, Py_None) ||
        (part->kind == SymKind::kObject && PyFunction_Check(object_of(part).get()));
    if (!is_function) {
      throw_break("object_made",
                  fmt::format("a {} is made of a {}", cls->tp_name, type_name(part)));
    }
    if (part->source) type_of(interpreter, part);
    made->parts.push_back(part);
  }
  return made;
}

Sym read_descriptor(Interpreter& interpreter, const Sym& value, const Sym& instance,
                    const Sym& owner_class) {
  const DescriptorValue& descriptor = *as_descriptor(value);
  const auto* type = reinterpret_cast<PyTypeObject*>(descriptor.cls.get());
  const Sym function = descriptor.parts[0];
  if (type == &PyStaticMethod_Type) return function;
  if (type == &PyClassMethod_Type)
    return std::make_shared<MethodValue>(owner_class, function, Ref());
  if (!instance) return value;
  if (is_object(function, Py_None)) throw_break("would_raise", "a property without a getter");
  return call_value(interpreter, function, {{instance}, {}});
}

void set_by_descriptor(Interpreter& interpreter, const Sym& value, const Sym& instance,
                       const Sym& content) {
  const DescriptorValue& descriptor = *as_descriptor(value);
  const size_t part = content ? 1 : 2;
  if (descriptor.parts.size() <= part || is_object(descriptor.parts[part], Py_None))
    throw_break("would_raise", "a property without a setter");
  CallArguments arguments{{instance}, {}};
  if (content) arguments.positional.push_back(content);
  call_value(interpreter, descriptor.parts[part], std::move(arguments));
}

Sym call_descriptor_method(Interpreter& interpreter, const Sym& value, const std::string& name,
                           const CallArguments& arguments) {
  const DescriptorValue& descriptor = *as_descriptor(value);
  static constexpr std::string_view kSetters[] = {"getter", "setter", "deleter"};
  const auto* found = std::find(std::begin(kSetters), std::end(kSetters), name);
  if (reinterpret_cast<PyTypeObject*>(descriptor.cls.get()) != &PyProperty_Type ||
      found == std::end(kSetters) || arguments.positional.size() != 1 ||
      !arguments.keywords.empty()) {
    return nullptr;
  }
  auto copy = std::make_shared<DescriptorValue>();
  copy->cls = descriptor.cls;
  copy->parts = descriptor.parts;
  const auto part = static_cast<size_t>(found - std::begin(kSetters));
  while (copy->parts.size() <= part) copy->parts.push_back(interpreter.none());
  copy->parts[part] = arguments.positional[0];
  return copy;
}

void add_descriptors(BuiltinEntries& entries) {
  entries.emplace_back("builtins", "__build_class__", build_class);
  entries.emplace_back("builtins", "property", make_descriptor<&PyProperty_Type>);
  entries.emplace_back("builtins", "staticmethod", make_descriptor<&PyStaticMethod_Type>);
  entries.emplace_back("builtins", "classmethod", make_descriptor<&PyClassMethod_Type>);
}

}  // namespace numlift::frame_eval
