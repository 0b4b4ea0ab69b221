#include "symbolic/sets.h"

#include <set>

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/pure_calls.h"
#include "symbolic/python_scalars.h"

namespace numlift::frame_eval {

namespace {

// An item as a real set holds it.
Ref real_key(Interpreter& interpreter, const Sym& item) {
  const Sym known = constant_key(interpreter, item);
  if (as<ObjectValue>(known).is_new) {
    throw_break("unsupported_value", "an object made in the frame as item of a set");
  }
  return Ref::create(object_of(known));
}

Ref list_of_keys(Interpreter& interpreter, const std::vector<Sym>& items) {
  Ref keys = checked(PyList_New(0));
  for (const Sym& item : items) {
    check_status(PyList_Append(keys.get(), real_key(interpreter, item).get()));
  }
  return keys;
}

Ref dict_of_keys(Interpreter& interpreter, const Sym& dict) {
  Ref keys = checked(PyDict_New());
  for (const auto& [key, value] : dict_items(interpreter, dict)) {
    check_status(PyDict_SetItem(keys.get(), real_key(interpreter, key).get(), Py_None));
  }
  return keys;
}

// Of what has the operators of sets.
std::optional<Ref> real_operand(Interpreter& interpreter, const Sym& value) {
  if (value->kind == SymKind::kSet) return as<SetValue>(value).real;
  if (is_set(value)) return real_object(interpreter, value, "a set is used");
  const auto* view = dynamic_cast<DictView*>(value.get());
  if (view == nullptr || view->part == DictView::Part::kValues) return std::nullopt;
  if (view->part == DictView::Part::kKeys) {
    Ref keys = dict_of_keys(interpreter, view->dict);
    return must(PyObject_CallMethod(keys.get(), "keys", nullptr));
  }
  auto whole = std::make_shared<DictValue>();
  whole->items = dict_items(interpreter, view->dict);
  auto known = known_value(interpreter, whole);
  if (!known) throw_break("unsupported_value", "a set operation on items that are not known");
  return must(PyObject_CallMethod(known->get(), "items", nullptr));
}

// What a set takes its items from, of the type that decides how it does that.
Ref real_iterable(Interpreter& interpreter, const Sym& value) {
  if (auto real = real_operand(interpreter, value)) return *real;
  if (is_dict(value)) return dict_of_keys(interpreter, value);
  return list_of_keys(interpreter, collect_items(interpreter, value));
}

// The real set's own iterator: it knows what becomes of the table when the set changes.
struct SetIterator : IteratorValue {
  SetIterator(Interpreter& interpreter, Sym set)
      : set(std::move(set)),
        real(must(PyObject_GetIter(real_operand(interpreter, this->set)->get()))),
        changes(changes_now()) {}
  Sym next(Tracer& tracer) override {
    Ref item = Ref::steal(PyIter_Next(real.get()));
    if (!item) {
      if (PyErr_Occurred()) {
        PyErr_Clear();
        throw_error(PyExc_RuntimeError, "Set changed size during iteration");
      }
      is_exhausted = true;
      return nullptr;
    }
    ++position;
    return tracer.constant(std::move(item));
  }
  std::optional<CallShape> shape() const override {
    if (is_exhausted || changes_now() != changes) return std::nullopt;
    return CallShape{
        Ref::create(known_object("builtins", "iter")), {set}, {}, static_cast<int64_t>(position)};
  }
  uint64_t changes_now() const {
    return set->kind == SymKind::kSet ? as<SetValue>(set).changes : 0;
  }
  Sym set;
  Ref real;
  uint64_t changes;
  size_t position = 0;
  bool is_exhausted = false;  // for good
};

}  // namespace

bool is_set(const Sym& value) {
  return value->kind == SymKind::kSet ||
         (value->kind == SymKind::kObject && PyFrozenSet_CheckExact(object_of(value).get()) &&
          is_pure(object_of(value)));
}

Sym set_from_real(Interpreter& interpreter, Ref real) {
  if (PyFrozenSet_CheckExact(real.get())) return interpreter.tracer.constant(std::move(real));
  return std::make_shared<SetValue>(std::move(real));
}

Sym make_set(Interpreter& interpreter, const std::vector<Sym>& items) {
  auto set = std::make_shared<SetValue>(checked(PySet_New(nullptr)));
  for (const Sym& item : items) add_to_set(interpreter, *set, item);
  return set;
}

Sym set_of(Interpreter& interpreter, const Sym& iterable) {
  return std::make_shared<SetValue>(must(PySet_New(real_iterable(interpreter, iterable).get())));
}

void add_to_set(Interpreter& interpreter, SetValue& set, const Sym& item) {
  check_status(PySet_Add(set.real.get(), real_key(interpreter, item).get()));
  ++set.changes;
}

void update_set(Interpreter& interpreter, SetValue& set, const Sym& iterable) {
  Ref more = real_iterable(interpreter, iterable);
  must(PyObject_CallMethod(set.real.get(), "update", "O", more.get()));
  ++set.changes;
}

bool set_contains(Interpreter& interpreter, const Sym& set, const Sym& item) {
  const Ref key = real_key(interpreter, item);
  const Ref real = *real_operand(interpreter, set);
  const int found = PySequence_Contains(real.get(), key.get());
  if (found < 0) must(nullptr);
  return found == 1;
}

std::vector<Sym> set_items(Interpreter& interpreter, const Sym& set) {
  Ref items = must(PySequence_Tuple(real_operand(interpreter, set)->get()));
  return sequence_items(interpreter, interpreter.object(items));
}

std::shared_ptr<IteratorValue> make_set_iterator(Interpreter& interpreter, const Sym& set) {
  return std::make_shared<SetIterator>(interpreter, set);
}

namespace {

// By name: whether the argument is an item (else: iterables), and whether the set is changed.
struct SetMethod {
  bool takes_item, changes;
};

const SetMethod* find_set_method(const std::string& name) {
  static const std::map<std::string, SetMethod, std::less<>> methods{
      {"add", {true, true}},
      {"discard", {true, true}},
      {"remove", {true, true}},
      {"pop", {true, true}},
      {"clear", {true, true}},
      {"copy", {true, false}},
      {"update", {false, true}},
      {"difference", {false, false}},
      {"difference_update", {false, true}},
      {"intersection", {false, false}},
      {"intersection_update", {false, true}},
      {"isdisjoint", {false, false}},
      {"issubset", {false, false}},
      {"issuperset", {false, false}},
      {"symmetric_difference", {false, false}},
      {"symmetric_difference_update", {false, true}},
      {"union", {false, false}},
  };
  const auto found = methods.find(name);
  return found == methods.end() ? nullptr : &found->second;
}

}  // namespace

bool has_set_method(const std::string& name) { return find_set_method(name) != nullptr; }

Sym set_method(Interpreter& interpreter, const Sym& self, const std::string& name,
               const CallArguments& arguments) {
  const SetMethod& method = *find_set_method(name);
  if (!arguments.keywords.empty()) throw_break("would_raise", "a set's method with keywords");
  const Ref real = *real_operand(interpreter, self);
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.positional.size())));
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    const Sym& argument = arguments.positional[i];
    Ref item =
        method.takes_item ? real_key(interpreter, argument) : real_iterable(interpreter, argument);
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), item.release());
  }
  Ref bound = must(PyObject_GetAttrString(real.get(), name.c_str()));
  Ref result = must(PyObject_Call(bound.get(), positional.get(), nullptr));
  if (method.changes && self->kind == SymKind::kSet) ++as<SetValue>(self).changes;
  if (PyAnySet_Check(result.get())) return set_from_real(interpreter, std::move(result));
  return interpreter.tracer.constant(std::move(result));
}

std::optional<Sym> set_binary(Interpreter& interpreter, int nb_op, bool in_place, const Sym& a,
                              const Sym& b) {
  const bool is_of_sets =
      nb_op == kNbOr || nb_op == kNbAnd || nb_op == kNbSubtract || nb_op == kNbXor;
  if (!is_of_sets) return std::nullopt;
  auto x = real_operand(interpreter, a), y = real_operand(interpreter, b);
  if (x && !y && dynamic_cast<DictView*>(a.get())) y = real_iterable(interpreter, b);
  if (!x || !y) return std::nullopt;
  if (in_place && a->kind == SymKind::kSet) {
    using InPlace = PyObject* (*)(PyObject*, PyObject*);
    const InPlace operation = nb_op == kNbOr         ? PyNumber_InPlaceOr
                              : nb_op == kNbAnd      ? PyNumber_InPlaceAnd
                              : nb_op == kNbSubtract ? PyNumber_InPlaceSubtract
                                                     : PyNumber_InPlaceXor;
    must(operation(x->get(), y->get()));
    ++as<SetValue>(a).changes;
    return a;
  }
  return set_from_real(interpreter, python_binary(nb_op, *x, *y));
}

std::optional<bool> set_compare(Interpreter& interpreter, int compare, const Sym& a, const Sym& b) {
  auto x = real_operand(interpreter, a), y = real_operand(interpreter, b);
  if (!x || !y) return std::nullopt;
  static constexpr int kRich[] = {Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE};
  return must(PyObject_RichCompare(x->get(), y->get(), kRich[compare])).get() == Py_True;
}

std::optional<CallShape> set_shape(const SetValue& set) {
  const Ref copy = checked(PySet_New(set.real.get()));
  const Ref order = checked(PySequence_List(set.real.get()));
  const Ref rebuilt = checked(PySequence_List(copy.get()));
  // The same objects: items that are equal to themselves alone are there, too.
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(order.get()); ++i) {
    if (PyList_GET_ITEM(order.get(), i) != PyList_GET_ITEM(rebuilt.get(), i)) return std::nullopt;
  }
  return CallShape{
      Ref::create(known_object("builtins", "set")), {std::make_shared<ObjectValue>(copy)}, {}, 0};
}

}  // namespace numlift::frame_eval
