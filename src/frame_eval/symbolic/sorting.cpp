#include "symbolic/sorting.h"

#include <exception>

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/python_scalars.h"

namespace numlift::frame_eval {

namespace {

// list.sort() orders these in place of the keys; `<` between two is what the interpreter makes of
// the keys. So which keys are compared, and in which order, is Python's own choice.
struct SortRun {
  Interpreter& interpreter;
  const std::vector<Sym>& keys;
  std::exception_ptr left_by;  // how a comparison left; it goes on when the sort has ended
};

struct KeyObject {
  PyObject_HEAD;
  SortRun* run;
  size_t index;
};

PyObject* compare_key_objects(PyObject* a, PyObject* b, int op) noexcept {
  if (op != Py_LT || Py_TYPE(a) != Py_TYPE(b)) Py_RETURN_NOTIMPLEMENTED;
  auto *left = reinterpret_cast<KeyObject*>(a), *right = reinterpret_cast<KeyObject*>(b);
  SortRun& run = *left->run;
  try {
    const Sym verdict =
        compare_operation(run.interpreter, kLess, run.keys[left->index], run.keys[right->index]);
    return PyBool_FromLong(truth(run.interpreter, verdict));
  } catch (...) {
    run.left_by = std::current_exception();
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "the sort ends here");
    return nullptr;
  }
}

PyTypeObject* key_object_type() {
  static PyTypeObject* const type = [] {
    static PyType_Slot slots[] = {
        {Py_tp_richcompare, reinterpret_cast<void*>(&compare_key_objects)}, {0, nullptr}};
    static PyType_Spec spec{"numlift._core.SortKey", sizeof(KeyObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
  }();
  return type;
}

// The places of the keys in sorted order, by `objects` that stand for them.
std::vector<size_t> sort_places(BorrowedRef objects, bool reverse) {
  Ref get_key = checked(PyObject_GetAttrString(objects.get(), "__getitem__"));
  Ref places = checked(PyList_New(0));
  const Py_ssize_t count = PyList_GET_SIZE(objects.get());
  for (Py_ssize_t i = 0; i < count; ++i) {
    check_status(PyList_Append(places.get(), checked(PyLong_FromSsize_t(i)).get()));
  }
  Ref sort = checked(PyObject_GetAttrString(places.get(), "sort"));
  Ref none = checked(PyTuple_New(0));
  Ref options = checked(
      Py_BuildValue("{s:O,s:O}", "key", get_key.get(), "reverse", reverse ? Py_True : Py_False));
  must(PyObject_Call(sort.get(), none.get(), options.get()));
  std::vector<size_t> result;
  for (Py_ssize_t i = 0; i < count; ++i) {
    result.push_back(PyLong_AsSize_t(PyList_GET_ITEM(places.get(), i)));
  }
  return result;
}

// A number that does not come from an array, or a constant, or a tuple or list of such.
bool can_be_constant(const Sym& key) {
  switch (key->kind) {
    case SymKind::kObject:
      return is_pure(object_of(key));
    case SymKind::kSize:
      return true;
    case SymKind::kScalar:
      return is_py_scalar(key) && key->source != nullptr;
    case SymKind::kTuple:
    case SymKind::kList: {
      const auto& sequence = as<SequenceValue>(key);
      if (sequence.named_tuple_class) return false;
      for (const Sym& item : sequence.items) {
        if (!can_be_constant(item)) return false;
      }
      return true;
    }
    default:
      return false;
  }
}

// Nullopt: not all keys are constants. Python sorts real ones: its order of NaN and of mixed types
// (which raises) is then right by construction.
std::optional<Ref> constant_keys(Interpreter& interpreter, const std::vector<Sym>& keys) {
  for (const Sym& key : keys) {
    if (!can_be_constant(key)) return std::nullopt;
  }
  Ref objects = checked(PyList_New(0));
  for (const Sym& key : keys) {
    auto real =
        interpreter.tracer.as_deep_constant(key, "sorted at " + interpreter.location_text());
    if (!real) return std::nullopt;
    check_status(PyList_Append(objects.get(), real->get()));
  }
  return objects;
}

std::vector<size_t> sort_by_comparing(Interpreter& interpreter, const std::vector<Sym>& keys,
                                      bool reverse) {
  SortRun run{interpreter, keys, nullptr};
  Ref objects = checked(PyList_New(0));
  for (size_t i = 0; i < keys.size(); ++i) {
    auto* object = PyObject_New(KeyObject, key_object_type());
    Ref owned = checked(reinterpret_cast<PyObject*>(object));
    object->run = &run;
    object->index = i;
    check_status(PyList_Append(objects.get(), owned.get()));
  }
  try {
    return sort_places(objects, reverse);
  } catch (...) {
    if (run.left_by) std::rethrow_exception(run.left_by);
    throw;
  }
}

}  // namespace

std::vector<Sym> sort_items(Interpreter& interpreter, const std::vector<Sym>& items,
                            const std::vector<std::pair<Ref, Sym>>& keywords) {
  Sym key_function;
  bool reverse = false;
  for (const auto& [name, value] : keywords) {
    const std::string text = utf8_text(name);
    if (text == "key") {
      if (!is_object(value, Py_None)) key_function = value;
    } else if (text == "reverse") {
      reverse = truth(interpreter, value);
    } else {
      throw_break("would_raise", "sorting with an unknown keyword");
    }
  }
  std::vector<Sym> keys = items;
  if (key_function) {
    for (Sym& key : keys) key = call_value(interpreter, key_function, {{key}, {}});
  }
  const auto objects = constant_keys(interpreter, keys);
  std::vector<Sym> result;
  for (const size_t place :
       objects ? sort_places(*objects, reverse) : sort_by_comparing(interpreter, keys, reverse)) {
    result.push_back(items[place]);
  }
  return result;
}

std::optional<CallShape> CompareKeyMaker::shape() const {
  return CallShape{Ref::create(known_object("functools", "cmp_to_key")), {function}, {}, 0};
}

Sym make_compare_key_maker(Interpreter&, const CallArguments& arguments) {
  ArgumentReader read("cmp_to_key", arguments);
  Sym function = read.keyword("mycmp");
  if (function) {
    read.expect(0, 0);
  } else {
    read.expect(1, 1);
    function = read[0];
  }
  auto maker = std::make_shared<CompareKeyMaker>();
  maker->function = std::move(function);
  return maker;
}

Sym make_compare_key(const CompareKeyMaker& maker, const CallArguments& arguments) {
  ArgumentReader read("a key function", arguments);
  read.expect(1, 1);
  auto key = std::make_shared<CompareKey>();
  key->function = maker.function;
  key->object = read[0];
  return key;
}

Sym compare_keys(Interpreter& interpreter, int compare, const Sym& a, const Sym& b) {
  const auto *left = dynamic_cast<CompareKey*>(a.get()),
             *right = dynamic_cast<CompareKey*>(b.get());
  if (left == nullptr || right == nullptr) return nullptr;
  const Sym order = call_value(interpreter, left->function, {{left->object, right->object}, {}});
  return compare_operation(interpreter, compare, order, interpreter.integer(0));
}

}  // namespace numlift::frame_eval
