// Reading and printing sources. read() runs no user code and leaves no error set: it looks into
// dicts, tuples, lists and cells directly, and reads attributes only where CPython would find them
// by its generic lookup.
#include "numlift/guards/source.h"

#include <fmt/format.h>
#include <structmember.h>

#include "dict_lookup.h"

namespace numlift::guards {

BorrowedRef dict_get(BorrowedRef dict, BorrowedRef key) {
  PyObject* found = PyDict_GetItemWithError(dict, key);
  if (found == nullptr) PyErr_Clear();
  return found;
}

bool is_deque(BorrowedRef object) {
  static PyObject* const cls = [] {
    const Ref module = Ref::steal(PyImport_ImportModule("_collections"));
    PyObject* found = module ? PyObject_GetAttrString(module.get(), "deque") : nullptr;
    if (found == nullptr) PyErr_Clear();
    return found;
  }();
  return reinterpret_cast<PyObject*>(object.type()) == cls;
}

BorrowedRef builtins_of(BorrowedRef globals) {
  static PyObject* const key = PyUnicode_InternFromString("__builtins__");
  BorrowedRef builtins = dict_get(globals, key);
  if (builtins && PyModule_Check(builtins.get())) builtins = PyModule_GetDict(builtins.get());
  if (!builtins) builtins = PyEval_GetBuiltins();
  return builtins && PyDict_CheckExact(builtins.get()) ? builtins : BorrowedRef();
}

namespace {

// A class with __getattr__ alone looks as its base does first.
bool finds_as(PyTypeObject* base, PyTypeObject* type) {
  if (type->tp_getattro == base->tp_getattro) return true;
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return false;
  static PyObject* const name = PyUnicode_InternFromString("__getattribute__");
  static PyObject* const hook_name = PyUnicode_InternFromString("__getattr__");
  return _PyType_Lookup(type, name) == _PyType_Lookup(base, name) &&
         _PyType_Lookup(type, hook_name) != nullptr;
}

}  // namespace

bool finds_generically(PyTypeObject* type) { return finds_as(&PyBaseObject_Type, type); }
bool class_finds_generically(PyTypeObject* metatype) { return finds_as(&PyType_Type, metatype); }

std::optional<BorrowedRef> slot_of_instance(PyObject* descriptor, BorrowedRef owner) {
  if (descriptor == nullptr || Py_TYPE(descriptor) != &PyMemberDescr_Type) return std::nullopt;
  const auto* slot = reinterpret_cast<PyMemberDescrObject*>(descriptor);
  const PyMemberDef* member = slot->d_member;
  if (member->type != T_OBJECT_EX || member->flags != 0 ||
      !PyType_IsSubtype(owner.type(), slot->d_common.d_type)) {
    return std::nullopt;
  }
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(owner.get()) + member->offset);
}

namespace {

std::shared_ptr<Source> make_source(Source::Kind kind) {
  auto source = std::make_shared<Source>();
  source->kind = kind;
  return source;
}

BorrowedRef read_type_attribute(PyTypeObject* type, BorrowedRef name) {
  PyTypeObject* metatype = Py_TYPE(type);
  if (!class_finds_generically(metatype)) return {};
  PyObject* meta_attribute = _PyType_Lookup(metatype, name);
  if (meta_attribute != nullptr && Py_TYPE(meta_attribute)->tp_descr_set != nullptr) return {};
  return _PyType_Lookup(type, name);
}

bool is_part_of_function(BorrowedRef of_class) {
  return of_class.type() == &PyGetSetDescr_Type || of_class.type() == &PyMemberDescr_Type;
}

// What CPython keeps in a function: nothing of the user's runs, unless annotations are to be made.
BorrowedRef read_function_part(BorrowedRef function, BorrowedRef name) {
  static PyObject* const annotations = PyUnicode_InternFromString("__annotations__");
  if (PyUnicode_Compare(name.get(), annotations) == 0) {
    PyObject* made = reinterpret_cast<PyFunctionObject*>(function.get())->func_annotations;
    return made != nullptr && PyDict_CheckExact(made) ? made : nullptr;
  }
  const Ref value = Ref::steal(PyObject_GenericGetAttr(function.get(), name.get()));
  if (!value) PyErr_Clear();
  return value;  // the function keeps it
}

BorrowedRef read_attribute(BorrowedRef owner, BorrowedRef name) {
  if (PyModule_CheckExact(owner.get())) return dict_get(PyModule_GetDict(owner.get()), name);
  if (PyType_Check(owner.get())) {
    return read_type_attribute(reinterpret_cast<PyTypeObject*>(owner.get()), name);
  }
  PyTypeObject* type = owner.type();
  const bool is_module = PyModule_Check(owner.get());
  if (!finds_generically(type) && !(is_module && type->tp_getattro == PyModule_Type.tp_getattro)) {
    return {};
  }
  PyObject* of_type = _PyType_Lookup(type, name);
  if (const auto place = slot_of_instance(of_type, owner)) return *place;
  if (type == &PyFunction_Type && of_type != nullptr && is_part_of_function(of_type)) {
    return read_function_part(owner, name);
  }
  // A data descriptor, unless it can only be set.
  if (of_type != nullptr && Py_TYPE(of_type)->tp_descr_set != nullptr &&
      Py_TYPE(of_type)->tp_descr_get != nullptr) {
    return {};
  }
  if (is_module) {
    BorrowedRef in_module = dict_get(PyModule_GetDict(owner.get()), name);
    return in_module ? in_module : BorrowedRef(of_type);
  }
  PyObject** dict = _PyObject_GetDictPtr(owner.get());
  if (dict != nullptr && *dict != nullptr) {
    if (BorrowedRef own = dict_get(*dict, name)) return own;
  }
  return of_type;
}

BorrowedRef closure_cell(BorrowedRef function, int64_t index) {
  if (!function || !PyFunction_Check(function.get())) return {};
  PyObject* closure = PyFunction_GET_CLOSURE(function.get());
  if (closure == nullptr || index < 0 || index >= PyTuple_GET_SIZE(closure)) return {};
  return PyTuple_GET_ITEM(closure, index);
}

BorrowedRef cell_content_of(BorrowedRef cell) {
  return cell && PyCell_Check(cell.get()) ? PyCell_GET(cell.get()) : nullptr;
}

// The deque holds what is read.
BorrowedRef deque_item(BorrowedRef deque, int64_t index) {
  const Ref item = Ref::steal(PySequence_GetItem(deque.get(), index));
  if (!item) PyErr_Clear();
  return item;
}

BorrowedRef deque_limit(BorrowedRef deque) {
  static thread_local Ref* const last = new Ref();
  *last = is_deque(deque) ? Ref::steal(PyObject_GetAttrString(deque.get(), "maxlen")) : Ref();
  if (!*last) PyErr_Clear();
  return *last;
}

// The object holds it.
BorrowedRef wrapped_function(BorrowedRef owner) {
  if (owner.type() != &PyStaticMethod_Type && owner.type() != &PyClassMethod_Type) return {};
  const Ref function = Ref::steal(PyObject_GetAttrString(owner.get(), "__func__"));
  if (!function) PyErr_Clear();
  return function;
}

BorrowedRef part_of(BorrowedRef owner, Source::Part part) {
  const bool is_method = PyMethod_Check(owner.get());
  if (part == Source::Part::kMethodSelf)
    return is_method ? PyMethod_GET_SELF(owner.get()) : nullptr;
  if (part == Source::Part::kMethodFunction) {
    return is_method ? BorrowedRef(PyMethod_GET_FUNCTION(owner.get())) : wrapped_function(owner);
  }
  if (part == Source::Part::kDequeLimit) return deque_limit(owner);
  if (part == Source::Part::kInstanceDict) {
    PyObject** dict = _PyObject_GetDictPtr(owner.get());
    return dict == nullptr ? nullptr : *dict;
  }
  if (!PyFunction_Check(owner.get())) return {};
  return part == Source::Part::kDefaults ? PyFunction_GET_DEFAULTS(owner.get())
                                         : PyFunction_GET_KW_DEFAULTS(owner.get());
}

const char* part_name(Source::Part part) {
  switch (part) {
    case Source::Part::kMethodSelf:
      return "__self__";
    case Source::Part::kMethodFunction:
      return "__func__";
    case Source::Part::kDefaults:
      return "__defaults__";
    case Source::Part::kKeywordDefaults:
      return "__kwdefaults__";
    case Source::Part::kInstanceDict:
      return "__dict__";
    case Source::Part::kDequeLimit:
      return "maxlen";
  }
  NUMLIFT_UNREACHABLE();
}

std::string repr_text(BorrowedRef object) {
  Ref repr = Ref::steal(PyObject_Repr(object.get()));
  const char* text = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return object.type()->tp_name;
  }
  return text;
}
std::string name_text(const Ref& name) {
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "?" : text;
}

}  // namespace

SourcePtr Source::argument(int64_t index, Ref name) {
  auto source = make_source(Kind::kArgument);
  source->index = index;
  source->name = std::move(name);
  return source;
}
SourcePtr Source::global(BorrowedRef globals, BorrowedRef name) {
  auto source = make_source(Kind::kGlobal);
  source->object = Ref::create(globals);
  source->name = Ref::create(name);
  return source;
}
SourcePtr Source::closure(SourcePtr function, int64_t index, Ref name) {
  auto source = make_source(Kind::kClosure);
  source->parent = std::move(function);
  source->index = index;
  source->name = std::move(name);
  return source;
}
SourcePtr Source::cell(SourcePtr function, int64_t index, Ref name) {
  auto source = make_source(Kind::kCell);
  source->parent = std::move(function);
  source->index = index;
  source->name = std::move(name);
  return source;
}
SourcePtr Source::cell_content(SourcePtr cell) {
  auto source = make_source(Kind::kCellContent);
  source->parent = std::move(cell);
  return source;
}
SourcePtr Source::part(SourcePtr parent, Part part) {
  auto source = make_source(Kind::kPart);
  source->parent = std::move(parent);
  source->index = static_cast<int64_t>(part);
  return source;
}
SourcePtr Source::attribute(SourcePtr parent, BorrowedRef name) {
  auto source = make_source(Kind::kAttribute);
  source->parent = std::move(parent);
  source->name = Ref::create(name);
  return source;
}
SourcePtr Source::type_attribute(SourcePtr type, BorrowedRef name) {
  auto source = make_source(Kind::kTypeAttribute);
  source->parent = std::move(type);
  source->name = Ref::create(name);
  return source;
}
SourcePtr Source::item(SourcePtr parent, int64_t index) {
  auto source = make_source(Kind::kItem);
  source->parent = std::move(parent);
  source->index = index;
  return source;
}
SourcePtr Source::dict_item(SourcePtr parent, BorrowedRef key) {
  auto source = make_source(Kind::kDictItem);
  source->parent = std::move(parent);
  source->object = Ref::create(key);
  return source;
}
SourcePtr Source::constant(BorrowedRef object) {
  auto source = make_source(Kind::kConstant);
  source->object = Ref::create(object);
  return source;
}

SourcePtr Source::handled_exception() { return make_source(Kind::kHandledException); }

BorrowedRef Source::read(const CallInputs& inputs) const {
  BorrowedRef owner = parent ? parent->read(inputs) : BorrowedRef();
  return read_from(owner, inputs);
}

BorrowedRef Source::read_from(BorrowedRef owner, const CallInputs& inputs) const {
  if (parent && !owner) return {};
  switch (kind) {
    case Kind::kArgument:
      return inputs.arguments[index];
    case Kind::kGlobal: {
      if (BorrowedRef found = dict_get(object, name)) return found;
      BorrowedRef builtins = builtins_of(object);
      return builtins ? dict_get(builtins, name) : BorrowedRef();
    }
    case Kind::kClosure:
      return cell_content_of(closure_cell(parent ? owner : BorrowedRef(inputs.function), index));
    case Kind::kCell:
      return closure_cell(parent ? owner : BorrowedRef(inputs.function), index);
    case Kind::kCellContent:
      return cell_content_of(owner);
    case Kind::kPart:
      return part_of(owner, static_cast<Part>(index));
    case Kind::kAttribute:
      return read_attribute(owner, name);
    case Kind::kTypeAttribute:
      if (!PyType_Check(owner.get())) return {};
      return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(owner.get()), name.get());
    case Kind::kItem:
      if (PyTuple_Check(owner.get())) {
        return index >= 0 && index < PyTuple_GET_SIZE(owner.get())
                   ? PyTuple_GET_ITEM(owner.get(), index)
                   : nullptr;
      }
      if (PyList_Check(owner.get())) {
        return index >= 0 && index < PyList_GET_SIZE(owner.get())
                   ? PyList_GET_ITEM(owner.get(), index)
                   : nullptr;
      }
      return is_deque(owner) ? deque_item(owner, index) : BorrowedRef();
    case Kind::kDictItem:
      if (PyAnySet_CheckExact(owner.get())) {
        const int found = PySet_Contains(owner.get(), object.get());
        if (found < 0) PyErr_Clear();
        return found == 1 ? BorrowedRef(object) : BorrowedRef();
      }
      return PyDict_Check(owner.get()) ? dict_get(owner, object) : BorrowedRef();
    case Kind::kConstant:
      return object;
    case Kind::kHandledException: {
      const Ref handled = Ref::steal(PyErr_GetHandledException());  // the thread keeps it
      return handled.get() == Py_None ? BorrowedRef() : BorrowedRef(handled);
    }
  }
  NUMLIFT_UNREACHABLE();
}

std::string Source::text() const {
  switch (kind) {
    case Kind::kArgument:
    case Kind::kGlobal:
      return name_text(name);
    case Kind::kClosure:
      return parent ? fmt::format("closure {} of {}", name_text(name), parent->text())
                    : fmt::format("closure {}", name_text(name));
    case Kind::kCell:
      return fmt::format("cell {}", name_text(name));
    case Kind::kCellContent:
      return parent->text();
    case Kind::kPart:
      return fmt::format("{}.{}", parent->text(), part_name(static_cast<Part>(index)));
    case Kind::kAttribute:
    case Kind::kTypeAttribute:
      return fmt::format("{}.{}", parent->text(), name_text(name));
    case Kind::kItem:
      return fmt::format("{}[{}]", parent->text(), index);
    case Kind::kDictItem:
      return fmt::format("{}[{}]", parent->text(), repr_text(object));
    case Kind::kConstant:
      // No addresses: what has a plain repr prints it, all else its type.
      if (PyUnicode_CheckExact(object.get()) || PyLong_Check(object.get()) ||
          PyFloat_CheckExact(object.get()) || object.get() == Py_None) {
        return repr_text(object);
      }
      return fmt::format("<{}>", object.type()->tp_name);
    case Kind::kHandledException:
      return "the exception that is handled";
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift::guards
