#include "symbolic/dict_keys.h"

#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/limits.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

using guards::Source;

void check_keys(PyObject* dict) {
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    if (!is_pure(key) && !compares_by_identity(key)) {
      throw_break("unsupported_value", "a dict with keys of user classes");
    }
  }
}

bool is_lasting_key(BorrowedRef object, const Source* place) {
  if (!compares_by_identity(object)) return false;
  const bool is_of_python = PyType_HasFeature(object.type(), Py_TPFLAGS_HEAPTYPE);
  if (PyType_Check(object.get()) || PyModule_Check(object.get()) ||
      (PyCallable_Check(object.get()) && !is_of_python)) {
    return true;
  }
  while (place != nullptr && place->parent) place = place->parent.get();
  return place == nullptr || place->kind == Source::Kind::kGlobal ||
         place->kind == Source::Kind::kConstant;
}

bool same_key(BorrowedRef a, BorrowedRef b) {
  if (a.get() == b.get()) return true;
  if (!is_pure(a) || !is_pure(b)) return false;
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

Sym constant_key(Interpreter& interpreter, const Sym& key) {
  Sym known = concrete(interpreter, key, "a key of a dict or set");
  std::optional<Ref> real;
  if (known->kind == SymKind::kTuple) {
    real = interpreter.tracer.as_deep_constant(known, "a key at " + interpreter.location_text());
    if (real && !is_pure(*real)) real.reset();
  } else if (known->kind == SymKind::kObject && as<ObjectValue>(known).differs() &&
             compares_by_identity(object_of(known))) {
    if (known->source) {
      interpreter.tracer.guard(known->source, guards::IsObject{Ref::create(object_of(known))},
                               "a key at " + interpreter.location_text());
    }
    return known;
  } else if (known->kind == SymKind::kObject &&
             (is_pure(object_of(known)) || is_lasting_key(object_of(known), known->source.get()))) {
    real = real_object(interpreter, known, "a key");
  }
  if (!real) throw_break("unsupported_value", "a " + type_name(key) + " as key of a dict or set");
  if (known->kind == SymKind::kObject) return known;
  if (PyObject_Hash(real->get()) == -1) {
    PyErr_Clear();
    throw_break("would_raise", "unhashable type");
  }
  return interpreter.tracer.constant(std::move(*real));
}

namespace {

// As CPython makes it of what __hash__ returns.
Py_hash_t hash_of_result(Interpreter& interpreter, const Sym& result) {
  const Sym known = concrete(interpreter, result, "the hash of a key");
  const auto number = pure_constant(interpreter, known, "the hash of a key");
  if (!number || !PyLong_Check(number->get())) {
    throw_break("would_raise", "__hash__ gives a " + type_name(result));
  }
  Py_hash_t hash = PyLong_AsSsize_t(number->get());
  if (hash == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    hash = PyLong_Type.tp_hash(number->get());
  }
  return hash == -1 ? -2 : hash;
}

// Nothing of the user's runs, unless it is a key with a hash of the user's.
std::optional<Py_hash_t> hash_of(const DictValue& dict, const Sym& key) {
  for (const auto& [value, hash] : dict.hashes) {
    if (value == key.get()) return hash;
  }
  const auto& object = as<ObjectValue>(key);
  if (object.is_new) return std::nullopt;  // by its address, which nobody knows yet
  const Py_hash_t hash = PyObject_Hash(object.object.get());
  if (hash == -1) PyErr_Clear();
  return hash;
}

}  // namespace

DictKey dict_key(Interpreter& interpreter, const Sym& key) {
  const bool is_users = key->kind == SymKind::kObject && !is_pure(object_of(key)) &&
                        !compares_by_identity(object_of(key)) &&
                        has_python_method(interpreter, key, "__hash__");
  if (!is_users) return {constant_key(interpreter, key)};
  return {key, hash_of_result(interpreter, special_method(interpreter, key, "__hash__", {}))};
}

std::pair<Sym, Sym>* find_entry(Interpreter& interpreter, DictValue& dict, const DictKey& key) {
  const bool by_identity = !key.hash && dict.hashes.empty();
  const auto hash = by_identity || key.hash ? key.hash : hash_of(dict, key.value);
  for (size_t i = 0; i < dict.items.size(); ++i) {
    const Sym own = dict.items[i].first;
    if (own == key.value || same_key(object_of(own), object_of(key.value))) return &dict.items[i];
    if (by_identity || !hash || hash_of(dict, own) != hash) continue;
    const size_t count = dict.items.size();
    if (equal_items(interpreter, own, key.value)) return &dict.items[i];
    if (dict.items.size() != count) {
      throw_break("unsupported_value", "an __eq__ of a key that changes the dict");
    }
  }
  return nullptr;
}

void set_entry(Interpreter& interpreter, DictValue& dict, const DictKey& key, const Sym& value) {
  if (auto* entry = find_entry(interpreter, dict, key)) {
    entry->second = value;
    return;
  }
  if (dict.items.size() > static_cast<size_t>(kMaxKeys)) {
    throw_break("too_long",
                fmt::format("the items of a dict of length {} are followed", dict.items.size()));
  }
  if (key.hash) dict.hashes.emplace_back(key.value.get(), *key.hash);
  dict.items.emplace_back(key.value, value);
}

bool remove_entry(Interpreter& interpreter, DictValue& dict, const DictKey& key) {
  auto* entry = find_entry(interpreter, dict, key);
  if (entry == nullptr) return false;
  std::erase_if(dict.hashes, [&](const auto& one) { return one.first == entry->first.get(); });
  dict.items.erase(dict.items.begin() + (entry - dict.items.data()));
  ++dict.removals;
  return true;
}

}  // namespace numlift::frame_eval
