#include "symbolic/functions.h"

#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

using guards::Source;

namespace {

bool same_name(BorrowedRef a, BorrowedRef b) {
  return a.get() == b.get() || PyUnicode_Compare(a.get(), b.get()) == 0;
}

PyObject* of_function_class(BorrowedRef name) {
  return _PyType_Lookup(&PyFunction_Type, name.get());
}

// From 3.14 on annotations are made by a function of their own when they are wanted.
bool has_lazy_annotations() {
  static PyObject* const name = PyUnicode_InternFromString("__annotate__");
  return of_function_class(name) != nullptr;
}

[[noreturn]] void unsupported(const char* what, BorrowedRef name) {
  throw_break("unsupported_value",
              fmt::format("attribute '{}' of a function is {}", utf8_text(name), what));
}

// A text or None that follows from the function's code and globals.
bool is_text(std::string_view name) {
  return name == "__name__" || name == "__qualname__" || name == "__doc__" || name == "__module__";
}

Sym first_text(Interpreter& interpreter, const FunctionValue& function, BorrowedRef name) {
  const Ref made = checked(PyFunction_New(function.code.get(), function.globals.get()));
  return interpreter.object(must(PyObject_GetAttr(made.get(), name.get())));
}

DictValue& own_dict(FunctionValue& function) {
  if (!function.dict) function.dict = std::make_shared<DictValue>();
  return *function.dict;
}

Sym annotations_of(Interpreter& interpreter, FunctionValue& function, BorrowedRef name) {
  const bool is_maker = function.annotations && !is_dict(function.annotations) &&
                        function.annotations->kind != SymKind::kTuple;
  if (is_maker) unsupported("read, which a function makes", name);
  if (function.annotations && is_dict(function.annotations)) return function.annotations;
  auto dict = std::make_shared<DictValue>();
  if (function.annotations) {
    const std::vector<Sym> flat = sequence_items(interpreter, function.annotations);
    for (size_t i = 0; i + 1 < flat.size(); i += 2)
      dict_set(interpreter, dict, flat[i], flat[i + 1]);
  }
  function.annotations = dict;
  return dict;
}

}  // namespace

Sym function_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  auto& function = as<FunctionValue>(owner);
  const std::string text = utf8_text(name);
  for (const auto& [own, value] : function.texts) {
    if (same_name(own, name)) return value;
  }
  if (is_text(text)) return first_text(interpreter, function, name);
  if (text == "__code__") return interpreter.object(function.code);
  if (text == "__annotations__") return annotations_of(interpreter, function, name);
  if (text == "__annotate__" && has_lazy_annotations()) {
    if (!function.annotations) return interpreter.none();
    if (is_dict(function.annotations) || function.annotations->kind == SymKind::kTuple)
      unsupported("read", name);
    return function.annotations;
  }
  if (text == "__dict__") {
    own_dict(function);
    return function.dict;
  }
  if (text == "__type_params__" && of_function_class(name) != nullptr)
    return function.type_parameters ? function.type_parameters : make_tuple({});
  if (of_function_class(name) != nullptr) unsupported("read", name);
  return function.dict ? find_in_dict(interpreter, function.dict, interpreter.object(name))
                       : nullptr;
}

std::optional<bool> has_function_attribute(Interpreter& interpreter, const Sym& owner,
                                           BorrowedRef name) {
  if (of_function_class(name) != nullptr) return true;
  const auto& function = as<FunctionValue>(owner);
  return function.dict &&
         find_in_dict(interpreter, function.dict, interpreter.object(name)) != nullptr;
}

void set_function_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name,
                            const Sym& value) {
  auto& function = as<FunctionValue>(owner);
  const std::string text = utf8_text(name);
  const auto cannot = [&] {
    throw_break("attribute_set",
                fmt::format("attribute '{}' of a function is {}", text, value ? "set" : "deleted"));
  };
  if (of_function_class(name) == nullptr) {
    const Sym key = interpreter.object(name);
    if (value) {
      own_dict(function);
      dict_set(interpreter, function.dict, key, value);
    } else if (!function.dict || !dict_remove(interpreter, function.dict, key)) {
      throw_break("would_raise", fmt::format("a function has no attribute '{}' to delete", text));
    }
    return;
  }
  if (!value) cannot();
  if (text == "__annotations__" && is_dict(value)) {
    function.annotations = value;
    return;
  }
  if (text == "__annotate__") {
    const bool is_function =
        value->kind == SymKind::kFunction ||
        (value->kind == SymKind::kObject && PyFunction_Check(object_of(value).get()));
    if (!is_function && !is_object(value, Py_None)) cannot();
    if (is_function && value->source) type_of(interpreter, value);
    function.annotations = is_function ? value : nullptr;
    return;
  }
  if (text == "__type_params__" && is_plain_tuple(value)) {
    function.type_parameters = value;
    return;
  }
  if (!is_text(text)) cannot();
  if (text == "__name__" || text == "__qualname__") {
    const auto known = pure_constant(interpreter, value, "the name of a function");
    if (!known || !PyUnicode_CheckExact(known->get())) cannot();
  }
  const auto known = std::find_if(function.texts.begin(), function.texts.end(),
                                  [&](const auto& one) { return same_name(one.first, name); });
  if (known != function.texts.end()) {
    known->second = value;
  } else {
    function.texts.emplace_back(Ref::create(name), value);
  }
}

Sym outside_function_part(Interpreter& interpreter, const Sym& function, BorrowedRef name) {
  BorrowedRef object = object_of(function);
  const std::string text = utf8_text(name);
  if (text == "__annotations__" && has_lazy_annotations()) {
    static PyObject* const maker = PyUnicode_InternFromString("__annotate__");
    if (must(PyObject_GetAttr(object, maker)).get() != Py_None) {
      unsupported("read, which a function makes", name);
    }
  }
  static constexpr std::string_view kReadable[] = {
      "__name__", "__qualname__",    "__doc__",      "__module__",
      "__code__", "__annotations__", "__annotate__", "__type_params__"};
  if (std::find(std::begin(kReadable), std::end(kReadable), text) == std::end(kReadable))
    unsupported("read", name);
  // CPython makes the dict of annotations when it is first asked for.
  const Ref value = must(PyObject_GetAttr(object, name));
  type_of(interpreter, function);
  const auto source = function->source ? function->source : Source::constant(object);
  return interpreter.tracer.outside(value, Source::attribute(source, name));
}

}  // namespace numlift::frame_eval
