#include "symbolic/library_objects.h"

#include "numlift/py/py_error.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

// What the polyfill class itself has under the name; null.
BorrowedRef class_item(const LibraryObject& object, const std::string& name) {
  Ref text = checked(PyUnicode_InternFromString(name.c_str()));
  PyObject* found =
      _PyType_Lookup(reinterpret_cast<PyTypeObject*>(object.polyfill.get()), text.get());
  const bool is_own =
      found != nullptr && (PyFunction_Check(found) || Py_TYPE(found) == &PyProperty_Type ||
                           PyTuple_Check(found) || PyUnicode_Check(found));
  return is_own ? found : nullptr;
}

bool is_inside(const Interpreter& interpreter) {
  const Frame* frame = interpreter.current_frame();
  return frame != nullptr && frame->is_polyfill;
}

}  // namespace

LibraryObject* as_library_object(const Sym& value) {
  return value->kind == SymKind::kIterator ? dynamic_cast<LibraryObject*>(value.get()) : nullptr;
}

std::optional<CallShape> LibraryObject::shape() const {
  const BorrowedRef names = class_item(*this, "SHAPE");
  if (!names || !cls) return std::nullopt;
  CallShape made{cls, {}, {}, 0};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
    std::string name = utf8_text(PyTuple_GET_ITEM(names.get(), i));
    const bool is_starred = name.starts_with('*');
    if (is_starred) name.erase(0, 1);
    const auto field = fields.find(name);
    if (field == fields.end()) return std::nullopt;  // it is being made
    if (is_starred) {
      const auto& items = as<SequenceValue>(field->second).items;
      made.arguments.insert(made.arguments.end(), items.begin(), items.end());
    } else {
      made.arguments.push_back(field->second);
    }
  }
  return made;
}

Sym make_library_object(Interpreter& interpreter, BorrowedRef cls, BorrowedRef polyfill,
                        CallArguments arguments) {
  auto object = std::make_shared<LibraryObject>();
  object->cls = Ref::create(cls);
  object->polyfill = Ref::create(polyfill);
  call_library_method(interpreter, object, "__init__", std::move(arguments));
  return object;
}

Sym library_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  LibraryObject& object = *as_library_object(owner);
  const std::string text = utf8_text(name);
  if (is_inside(interpreter)) {
    if (const auto field = object.fields.find(text); field != object.fields.end()) {
      return field->second;
    }
  }
  const bool is_hidden = text.starts_with('_') && !text.starts_with("__");
  BorrowedRef found;
  if (!is_hidden || is_inside(interpreter)) found = class_item(object, text);
  if (found && PyFunction_Check(found.get())) {
    return std::make_shared<MethodValue>(owner, nullptr, Ref::create(name));
  }
  if (found && Py_TYPE(found.get()) == &PyProperty_Type) {
    Ref getter = must(PyObject_GetAttrString(found.get(), "fget"));
    return call_python_function(interpreter, interpreter.object(getter), {{owner}, {}});
  }
  throw_break("unsupported_value", fmt::format("attribute '{}' of a {}", text, type_name(owner)));
}

void set_library_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name,
                           const Sym& value) {
  if (!is_inside(interpreter)) {
    throw_break("attribute_set",
                fmt::format("attribute '{}' of a {} is set", utf8_text(name), type_name(owner)));
  }
  as_library_object(owner)->fields[utf8_text(name)] = value;
}

Sym call_library_method(Interpreter& interpreter, const Sym& self, const std::string& name,
                        CallArguments arguments) {
  const BorrowedRef function = class_item(*as_library_object(self), name);
  if (!function || !PyFunction_Check(function.get())) return nullptr;
  interpreter.direct_caller = nullptr;
  arguments.positional.insert(arguments.positional.begin(), self);
  return call_python_function(interpreter, interpreter.object(function), std::move(arguments));
}

bool has_library_method(BorrowedRef polyfill, const std::string& name) {
  LibraryObject object;
  object.polyfill = Ref::create(polyfill);
  const BorrowedRef found = class_item(object, name);
  return found && PyFunction_Check(found.get());
}

Sym dict_of_library_object(const Sym& value) {
  LibraryObject* object = as_library_object(value);
  const BorrowedRef name = object ? class_item(*object, "DICT") : nullptr;
  return name ? object->fields.at(utf8_text(name)) : nullptr;
}

}  // namespace numlift::frame_eval
