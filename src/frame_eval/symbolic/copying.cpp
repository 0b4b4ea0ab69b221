#include "symbolic/copying.h"

#include <map>

#include "symbolic/containers.h"
#include "symbolic/library_objects.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

bool is_atomic(PyObject* object) {
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      if (!is_atomic(PyTuple_GET_ITEM(object, i))) return false;
    }
    return true;
  }
  if (PyTuple_Check(object) || PySlice_Check(object) || PyFrozenSet_Check(object) ||
      is_dtype(object)) {
    return false;
  }
  return is_pure(object) || PyFunction_Check(object) || PyCFunction_Check(object) ||
         Py_TYPE(object) == &PyType_Type;
}

// What copy gives back as it is.
bool is_its_own_copy(const Sym& value) {
  switch (value->kind) {
    case SymKind::kScalar:
    case SymKind::kSize:
    case SymKind::kFunction:
      return true;
    case SymKind::kObject:
      return !as<ObjectValue>(value).is_new && is_atomic(object_of(value).get());
    default:
      return false;
  }
}

[[noreturn]] void cannot_copy(const Sym& value) {
  throw_break("unsupported_value", "a copy of a " + type_name(value));
}

Sym copy_array(Interpreter& interpreter, const Sym& array) {
  return numpy_call(interpreter.tracer, known_object("numpy", "copy"), std::vector<Sym>{array}, {});
}

// Objects that are met twice are copied once.
class DeepCopy {
 public:
  explicit DeepCopy(Interpreter& interpreter) : interpreter_(interpreter) {}

  Sym copy(const Sym& value) {
    if (is_its_own_copy(value)) return value;
    if (const auto found = made_.find(value.get()); found != made_.end()) return found->second;
    // Two values from outside may be one object in another call.
    if (value->source && ++from_outside_ > 1) cannot_copy(value);
    switch (value->kind) {
      case SymKind::kArray:
        return made_[value.get()] = copy_array(interpreter_, value);
      case SymKind::kList: {
        auto list = std::make_shared<SequenceValue>(SymKind::kList);
        made_[value.get()] = list;
        for (const Sym& item : as<SequenceValue>(value).items) list->items.push_back(copy(item));
        return list;
      }
      case SymKind::kDict: {
        auto dict = std::make_shared<DictValue>();
        made_[value.get()] = dict;
        for (const auto& [key, item] : as<DictValue>(value).items) {
          if (!is_its_own_copy(key)) cannot_copy(key);
          dict->items.emplace_back(key, copy(item));
        }
        return dict;
      }
      case SymKind::kTuple:
        return copy_tuple(value);
      default:
        cannot_copy(value);
    }
  }

 private:
  Sym copy_tuple(const Sym& value) {
    const auto& tuple = as<SequenceValue>(value);
    auto made = std::make_shared<SequenceValue>(SymKind::kTuple);
    made->named_tuple_class = tuple.named_tuple_class;
    bool is_same = !tuple.named_tuple_class;
    for (const Sym& item : tuple.items) {
      made->items.push_back(copy(item));
      is_same = is_same && made->items.back().get() == item.get();
    }
    return made_[value.get()] = is_same ? value : made;
  }

  Interpreter& interpreter_;
  std::map<const SymbolicValue*, Sym> made_;
  int from_outside_ = 0;
};

}  // namespace

Sym copy_value(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("copy", arguments);
  read.expect(1, 1);
  const Sym& value = read[0];
  if (is_its_own_copy(value)) return value;
  if (value->kind == SymKind::kArray) return copy_array(interpreter, value);
  if (is_list(value)) return make_list(sequence_items(interpreter, value));
  if (is_dict(value)) {
    auto dict = std::make_shared<DictValue>();
    dict->items = dict_items(interpreter, value);
    return dict;
  }
  if (value->kind == SymKind::kSet) return set_method(interpreter, value, "copy", {});
  if (value->kind == SymKind::kTuple && !as<SequenceValue>(value).named_tuple_class) return value;
  if (as_library_object(value)) {
    if (Sym made = call_library_method(interpreter, value, "__copy__", {})) return made;
  }
  cannot_copy(value);
}

Sym deep_copy_value(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("deepcopy", arguments);
  read.expect(1, 1);
  return DeepCopy(interpreter).copy(read[0]);
}

}  // namespace numlift::frame_eval
