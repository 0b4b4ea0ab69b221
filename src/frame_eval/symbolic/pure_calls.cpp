#include "symbolic/pure_calls.h"

#include <set>

#include "numlift/py/py_error.h"
#include "symbolic/containers.h"
#include "symbolic/polyfills.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

bool is_pure_function(const std::string& name) {
  static const std::set<std::string, std::less<>> names{
#define NUMLIFT_PURE(name) name,
#define NUMLIFT_IMMUTABLE(name)
#include "symbolic/pure_calls.def"
#undef NUMLIFT_PURE
#undef NUMLIFT_IMMUTABLE
  };
  return names.contains(name);
}

namespace {

std::optional<Ref> known_sequence(Interpreter& interpreter, const SequenceValue& sequence) {
  if (sequence.named_tuple_class) return std::nullopt;
  const auto size = static_cast<Py_ssize_t>(sequence.items.size());
  const bool is_tuple = sequence.kind == SymKind::kTuple;
  Ref result = checked(is_tuple ? PyTuple_New(size) : PyList_New(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    auto item = known_value(interpreter, sequence.items[static_cast<size_t>(i)]);
    if (!item) return std::nullopt;
    PyObject* raw = item->release();
    is_tuple ? PyTuple_SET_ITEM(result.get(), i, raw) : PyList_SET_ITEM(result.get(), i, raw);
  }
  return result;
}

std::optional<Ref> known_dict(Interpreter& interpreter, const DictValue& dict) {
  Ref result = checked(PyDict_New());
  for (const auto& [key, value] : dict.items) {
    auto real_key = known_value(interpreter, key), real = known_value(interpreter, value);
    if (!real_key || !real) return std::nullopt;
    check_status(PyDict_SetItem(result.get(), real_key->get(), real->get()));
  }
  return result;
}

}  // namespace

std::optional<Ref> known_value(Interpreter& interpreter, const Sym& value) {
  switch (value->kind) {
    case SymKind::kObject:
      return pure_constant(interpreter, value, "a function is called with it");
    case SymKind::kSize:
      return interpreter.tracer.as_constant(value, "");
    case SymKind::kTuple:
    case SymKind::kList:
      return known_sequence(interpreter, as<SequenceValue>(value));
    case SymKind::kDict:
      return known_dict(interpreter, as<DictValue>(value));
    case SymKind::kSet:  // the real one, with its order: it is looked at only
      return as<SetValue>(value).real;
    default:
      return std::nullopt;
  }
}

Sym value_from_real(Interpreter& interpreter, Ref object) {
  PyObject* raw = object.get();
  if (is_pure(raw) || is_immutable(raw)) return interpreter.tracer.constant(std::move(object));
  const bool is_list = PyList_CheckExact(raw);
  if (is_list || PyTuple_CheckExact(raw)) {
    std::vector<Sym> items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(raw); ++i) {
      Sym item = value_from_real(interpreter, Ref::create(PySequence_Fast_GET_ITEM(raw, i)));
      if (!item) return nullptr;
      items.push_back(std::move(item));
    }
    return is_list ? make_list(std::move(items)) : make_tuple(std::move(items));
  }
  if (PySet_CheckExact(raw)) return set_from_real(interpreter, std::move(object));
  if (PyDict_CheckExact(raw)) {
    auto dict = std::make_shared<DictValue>();
    PyObject *key, *item;
    Py_ssize_t position = 0;
    while (PyDict_Next(raw, &position, &key, &item)) {
      Sym value = value_from_real(interpreter, Ref::create(item));
      if (!value || !is_pure(key)) return nullptr;
      dict->items.emplace_back(interpreter.object(key), std::move(value));
    }
    return dict;
  }
  return nullptr;
}

Sym call_pure_function(Interpreter& interpreter, BorrowedRef callable,
                       const CallArguments& arguments) {
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.positional.size())));
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    auto real = known_value(interpreter, arguments.positional[i]);
    if (!real) return nullptr;
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), real->release());
  }
  Ref keywords = checked(PyDict_New());
  for (const auto& [name, value] : arguments.keywords) {
    auto real = known_value(interpreter, value);
    if (!real) return nullptr;
    check_status(PyDict_SetItem(keywords.get(), name.get(), real->get()));
  }
  // Python code may warn: where it would, CPython calls it.
  const bool is_python = PyFunction_Check(callable.get()) || PyType_Check(callable.get());
  Ref result =
      is_python ? must(PyObject_CallFunctionObjArgs(polyfill_object("call_quietly"), callable.get(),
                                                    positional.get(), keywords.get(), nullptr))
                : must(PyObject_Call(callable, positional.get(), keywords.get()));
  return value_from_real(interpreter, std::move(result));
}

}  // namespace numlift::frame_eval
