#include "symbolic/operators.h"

#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/containers.h"
#include "symbolic/enums.h"
#include "symbolic/exceptions.h"
#include "symbolic/instance_dict.h"
#include "symbolic/library_objects.h"
#include "symbolic/instances.h"
#include "symbolic/limits.h"
#include "symbolic/identity_numbers.h"
#include "symbolic/outside_containers.h"
#include "symbolic/pure.h"
#include "symbolic/python_scalars.h"
#include "symbolic/side_effects.h"
#include "symbolic/sorting.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

namespace {

const char* operator_text(int nb_op) {
  static constexpr const char* kTexts[] = {"+", "&",  "//", "<<", "@", "*", "%",
                                           "|", "**", ">>", "-",  "/", "^"};
  return kTexts[nb_op];
}

[[noreturn]] void unsupported_operands(const std::string& what, const Sym& a, const Sym& b) {
  throw_value_break(a, b, fmt::format("{} of {} and {}", what, type_name(a), type_name(b)));
}

constexpr int64_t kMaxRepeated = 100'000;

std::optional<Sym> repeat_sequence(Interpreter& interpreter, const Sym& sequence,
                                   const Sym& count) {
  if (!is_list(sequence) && !is_tuple(sequence)) return std::nullopt;
  if (!is_python_number(count)) return std::nullopt;
  const int64_t times = concrete_int(interpreter, count, "repetition of a sequence");
  if (times == 1 && is_plain_tuple(sequence)) return sequence;
  const auto items = sequence_items(interpreter, sequence);
  if (items.empty()) return is_tuple(sequence) ? make_tuple({}) : make_list({});
  if (times > kMaxRepeated / static_cast<int64_t>(items.size())) {
    throw_break("too_long", "a sequence is repeated very often");
  }
  std::vector<Sym> repeated;
  for (int64_t i = 0; i < times; ++i) repeated.insert(repeated.end(), items.begin(), items.end());
  return is_tuple(sequence) ? make_tuple(std::move(repeated)) : make_list(std::move(repeated));
}

std::optional<Sym> container_binary(Interpreter& interpreter, int nb_op, bool in_place,
                                    const Sym& a, const Sym& b) {
  if (nb_op == kNbAdd && ((is_list(a) && is_list(b)) || (is_tuple(a) && is_tuple(b)))) {
    if (in_place && is_list(a)) {
      container_method(interpreter, a, "extend", {{b}, {}});
      return a;
    }
    auto items = sequence_items(interpreter, a);
    auto more = sequence_items(interpreter, b);
    // As CPython has it: the other one itself.
    if (items.empty() && is_plain_tuple(b)) return b;
    if (more.empty() && is_plain_tuple(a)) return a;
    items.insert(items.end(), more.begin(), more.end());
    return is_tuple(a) ? make_tuple(std::move(items)) : make_list(std::move(items));
  }
  if (nb_op == kNbAdd && in_place && is_list(a)) {
    container_method(interpreter, a, "extend", {{b}, {}});
    return a;
  }
  if (nb_op == kNbMultiply) {
    if (in_place && is_list(a)) {
      if (auto repeated = repeat_sequence(interpreter, a, b)) {
        list_assign(interpreter, a, as<SequenceValue>(*repeated).items);
        return a;
      }
    }
    if (auto repeated = repeat_sequence(interpreter, a, b)) return repeated;
    return repeat_sequence(interpreter, b, a);
  }
  if (nb_op == kNbOr && is_dict(a) && is_dict(b)) {
    if (in_place) {
      container_method(interpreter, a, "update", {{b}, {}});
      return a;
    }
    auto merged = std::make_shared<DictValue>();
    merged->items = dict_items(interpreter, a);
    for (const auto& [key, value] : dict_items(interpreter, b)) {
      dict_set(interpreter, merged, key, value);
    }
    return merged;
  }
  if (in_place && is_outside_set(a) && change_outside_set(interpreter, nb_op, a, b)) return a;
  return set_binary(interpreter, nb_op, in_place, a, b);
}

// Ints without bound: the result of ** and << could take all memory while tracing.
void check_modest(int nb_op, BorrowedRef a, BorrowedRef b) {
  if (nb_op == kNbMultiply) {
    for (auto [sequence, count] : {std::pair(a, b), std::pair(b, a)}) {
      if (!PyLong_Check(count.get()) || PyLong_Check(sequence.get()) ||
          !PySequence_Check(sequence.get()))
        continue;
      int overflow = 0;
      const long long times = PyLong_AsLongLongAndOverflow(count, &overflow);
      if (overflow > 0 || times > 100'000)
        throw_break("too_long", "a sequence is repeated very often");
    }
  }
  if (nb_op != kNbPower && nb_op != kNbLshift) return;
  if (!PyLong_Check(a.get()) || !PyLong_Check(b.get())) return;
  int overflow = 0;
  const long long exponent = PyLong_AsLongLongAndOverflow(b, &overflow);
  if (overflow != 0 || exponent > 10'000) throw_break("too_long", "a huge power of an int");
}

// An __eq__ that changes the container whose items it is asked about: how far CPython has come then
// is its own affair.
[[noreturn]] void changes_while_compared() {
  throw_break("unsupported_value", "a container changes while its items are compared");
}

// Its items are values of the trace, which stay the same ones as long as it does not change. (Those
// of an object from outside are made anew each time.)
bool has_items_in_trace(const Sym& container) {
  return container->kind == SymKind::kList || container->kind == SymKind::kDict ||
         (container->kind == SymKind::kObject && as<ObjectValue>(container).differs());
}

bool compare_items(Interpreter& interpreter, int compare, const std::vector<Sym>& left,
                   const std::vector<Sym>& right) {
  const size_t common = std::min(left.size(), right.size());
  const bool equality = compare == kEqual || compare == kNotEqual;
  if (equality && left.size() != right.size()) return compare == kNotEqual;
  for (size_t i = 0; i < common; ++i) {
    if (equal_items(interpreter, left[i], right[i])) continue;
    if (equality) return compare == kNotEqual;
    return truth(interpreter, compare_operation(interpreter, compare, left[i], right[i]));
  }
  switch (static_cast<CompareIndex>(compare)) {
    case kLess:
      return left.size() < right.size();
    case kLessEqual:
      return left.size() <= right.size();
    case kEqual:
      return true;
    case kNotEqual:
      return false;
    case kGreater:
      return left.size() > right.size();
    case kGreaterEqual:
      return left.size() >= right.size();
  }
  NUMLIFT_UNREACHABLE();
}

bool compare_sequences(Interpreter& interpreter, int compare, const Sym& a, const Sym& b) {
  const auto left = sequence_items(interpreter, a), right = sequence_items(interpreter, b);
  const bool result = compare_items(interpreter, compare, left, right);
  const auto has_changed = [&](const Sym& container, const std::vector<Sym>& before) {
    return has_items_in_trace(container) && sequence_items(interpreter, container) != before;
  };
  if (has_changed(a, left) || has_changed(b, right)) changes_while_compared();
  return result;
}

bool is_slice(const Sym& value) {
  return value->kind == SymKind::kSlice ||
         (value->kind == SymKind::kObject && PySlice_Check(object_of(value).get()));
}

// Slices compare as tuples of their parts.
Sym slice_parts(Interpreter& interpreter, const Sym& value) {
  if (value->kind == SymKind::kSlice) {
    const auto& slice = as<SliceValue>(value);
    return make_tuple({slice.start, slice.stop, slice.step});
  }
  const Ref real = *real_object(interpreter, value, "a slice is compared");
  const auto* slice = reinterpret_cast<PySliceObject*>(real.get());
  return make_tuple({interpreter.object(slice->start), interpreter.object(slice->stop),
                     interpreter.object(slice->step)});
}

std::optional<bool> compare_containers(Interpreter& interpreter, int compare, const Sym& a,
                                       const Sym& b) {
  if ((is_list(a) && is_list(b)) || (is_tuple(a) && is_tuple(b))) {
    return compare_sequences(interpreter, compare, a, b);
  }
  if (is_slice(a) && is_slice(b)) {
    return compare_sequences(interpreter, compare, slice_parts(interpreter, a),
                             slice_parts(interpreter, b));
  }
  if (is_outside_set(a) || is_outside_set(b)) {
    const auto inside = [&](const Sym& value) {
      return is_outside_set(value) ? copy_of_outside_set(interpreter, value) : value;
    };
    return set_compare(interpreter, compare, inside(a), inside(b));
  }
  if (auto result = set_compare(interpreter, compare, a, b)) return result;
  if (compare != kEqual && compare != kNotEqual) return std::nullopt;
  if (is_dict(a) && is_dict(b)) {
    bool equal = dict_length(interpreter, a) == dict_length(interpreter, b);
    if (!equal) return compare == kNotEqual;
    const auto left = dict_items(interpreter, a), right = dict_items(interpreter, b);
    for (size_t i = 0; equal && i < left.size(); ++i) {
      const auto has_key = [&](const auto& item) {
        return item.first == left[i].first ||
               same_key(object_of(item.first), object_of(left[i].first));
      };
      auto other = right.begin() + static_cast<ptrdiff_t>(i);  // mostly
      if (!has_key(*other)) other = std::find_if(right.begin(), right.end(), has_key);
      equal = other != right.end() && equal_items(interpreter, left[i].second, other->second);
    }
    if ((has_items_in_trace(a) && dict_items(interpreter, a) != left) ||
        (has_items_in_trace(b) && dict_items(interpreter, b) != right))
      changes_while_compared();
    return equal == (compare == kEqual);
  }
  return std::nullopt;
}

// Values of these kinds are equal to nothing but their own kind (and never to a user's object that
// says otherwise: those are not reached).
bool is_plain_builtin(const Sym& value) {
  switch (value->kind) {
    case SymKind::kSize:
    case SymKind::kTuple:
    case SymKind::kList:
    case SymKind::kSet:
    case SymKind::kDict:
    case SymKind::kSlice:
    case SymKind::kFunction:
      return true;
    case SymKind::kScalar:
      return is_py_scalar(value);
    case SymKind::kObject:
      return is_pure(object_of(value)) || is_list(value) || is_dict(value) ||
             compares_by_identity(object_of(value));
    case SymKind::kNull:
    case SymKind::kArray:
    case SymKind::kMethod:
    case SymKind::kCell:
    case SymKind::kIterator:
    case SymKind::kException:
    case SymKind::kGrownList:  // compare_operation() refuses it
      return false;
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace

bool is_either(const Sym& value) {
  return value->kind == SymKind::kScalar && as<ScalarValue>(value).either;
}

namespace {

// The other operand decides alone what class and dtype the result has.
bool is_wide_numpy(const Sym& value, DType either) {
  if (!is_numpy_value(value) || is_either(value)) return false;
  const DType dtype = value->kind == SymKind::kArray    ? as<ArrayValue>(value).type.dtype
                      : value->kind == SymKind::kScalar ? as<ScalarValue>(value).type.dtype
                                                        : DType::kBool;
  if (dtype == either || dtype == DType::kComplex128) return true;
  return dtype == DType::kFloat64 && either == DType::kInt64;
}

}  // namespace

Sym class_of_either(bool same, const Sym& a, const Sym& b, Sym result) {
  for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (!is_either(one) || is_wide_numpy(other, as<ScalarValue>(one).type.dtype)) continue;
    if (!same || result->kind != SymKind::kScalar)
      refuse_loop("a number that may be Python's or NumPy's, by the iteration");
    as<ScalarValue>(result).either = true;
  }
  return result;
}

Sym binary_operation(Interpreter& interpreter, int nb_op, bool in_place, const Sym& left,
                     const Sym& right) {
  const Sym a = enum_operand(interpreter, left, right), b = enum_operand(interpreter, right, left);
  if (is_numpy_value(a) || is_numpy_value(b)) {
    if (auto result = binary_special_method(interpreter, nb_op, in_place, a, b)) return result;
    if (in_place && is_list(a)) {
      if (auto result = container_binary(interpreter, nb_op, in_place, a, b)) return *result;
    }
    const bool same = nb_op == kNbAdd || nb_op == kNbSubtract || nb_op == kNbMultiply;
    return class_of_either(
        same, a, b,
        numpy_binary(interpreter.tracer, nb_op, in_place && a->kind == SymKind::kArray, a, b));
  }
  if (is_python_number(a) && is_python_number(b) &&
      (is_runtime_number(a) || is_runtime_number(b))) {
    return number_binary(interpreter, nb_op, a, b);
  }
  if (auto x = pure_constant(interpreter, a, "an operand")) {
    if (auto y = pure_constant(interpreter, b, "an operand")) {
      check_modest(nb_op, *x, *y);
      return interpreter.tracer.constant(python_binary(nb_op, *x, *y));
    }
  }
  if (auto result = container_binary(interpreter, nb_op, in_place, a, b)) return *result;
  if (auto result = binary_special_method(interpreter, nb_op, in_place, a, b)) return result;
  unsupported_operands(operator_text(nb_op), a, b);
}

Sym unary_operation(Interpreter& interpreter, UnaryOp op, const Sym& operand) {
  const Sym value = enum_number(interpreter, operand);
  if (is_numpy_value(value))
    return class_of_either(true, value, value, numpy_unary(interpreter.tracer, op, value));
  if (is_runtime_number(value)) {
    switch (op) {
      case UnaryOp::kNegative:
        return number_unary(interpreter, NumberUnary::kNegative, value);
      case UnaryOp::kPositive:
        return number_unary(interpreter, NumberUnary::kPositive, value);
      case UnaryOp::kInvert:
        return number_unary(interpreter, NumberUnary::kInvert, value);
    }
  }
  if (auto constant = pure_constant(interpreter, value, "an operand")) {
    switch (op) {
      case UnaryOp::kNegative:
        return interpreter.tracer.constant(must(PyNumber_Negative(constant->get())));
      case UnaryOp::kPositive:
        return interpreter.tracer.constant(must(PyNumber_Positive(constant->get())));
      case UnaryOp::kInvert:
        return interpreter.tracer.constant(must(PyNumber_Invert(constant->get())));
    }
  }
  static constexpr const char* kNames[] = {"__neg__", "__pos__", "__invert__"};
  if (auto result = special_method(interpreter, value, kNames[static_cast<int>(op)], {}))
    return result;
  throw_value_break(value, "a unary operator on a " + type_name(value));
}

Sym compare_operation(Interpreter& interpreter, int compare, const Sym& left, const Sym& right) {
  const Sym a = enum_compared(interpreter, left, right),
            b = enum_compared(interpreter, right, left);
  if (a->kind == SymKind::kGrownList || b->kind == SymKind::kGrownList)
    throw_break("unsupported_value", "a comparison with a list that a loop has made");
  if (is_numpy_value(a) || is_numpy_value(b))
    return class_of_either(true, a, b, numpy_compare(interpreter.tracer, compare, a, b));
  const bool numbers = is_python_number(a) && is_python_number(b);
  if (numbers && (is_runtime_number(a) || is_runtime_number(b))) {
    return number_compare(interpreter, compare, a, b);
  }
  if (auto x = pure_constant(interpreter, a, "a comparison")) {
    if (auto y = pure_constant(interpreter, b, "a comparison")) {
      static constexpr int kRich[] = {Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE};
      return interpreter.tracer.constant(
          must(PyObject_RichCompare(x->get(), y->get(), kRich[compare])));
    }
  }
  if (compare == kEqual || compare == kNotEqual) {
    if (const auto same = same_identity_number(interpreter, a, b))
      return interpreter.boolean(*same == (compare == kEqual));
  }
  if (Sym result = compare_keys(interpreter, compare, a, b)) return result;
  if (auto result = compare_containers(interpreter, compare, a, b))
    return interpreter.boolean(*result);
  if ((compare == kEqual || compare == kNotEqual) && is_plain_builtin(a) && is_plain_builtin(b)) {
    // Of different types here, or of types that compare by identity.
    return interpreter.boolean(is_identical(interpreter, a, b) == (compare == kEqual));
  }
  const bool is_plain_left = is_plain_builtin(a), is_plain_right = is_plain_builtin(b);
  if (auto result = compare_by_methods(interpreter, compare, a, b, is_plain_left, is_plain_right))
    return result;
  unsupported_operands("comparison", a, b);
}

bool is_identical(Interpreter& interpreter, const Sym& a, const Sym& b) {
  if (a.get() == b.get()) return true;
  if ((is_instance_dict(a) && is_dict(b)) || (is_dict(a) && is_instance_dict(b))) {
    throw_break("identity", "identity of the __dict__ of an object");
  }
  if (a->kind == SymKind::kObject && b->kind == SymKind::kObject) {
    // Two values for objects that can change are two objects; only later calls may know them as
    // one.
    if (as<ObjectValue>(a).is_new || as<ObjectValue>(b).is_new) return false;
    if (interpreter.tracer.guard_two(a, b)) return false;
    BorrowedRef x = object_of(a), y = object_of(b);
    const bool numbers = is_python_number(a) && is_python_number(b);
    const bool same = x.get() == y.get();
    const bool singletons =
        x.get() == Py_None || y.get() == Py_None || PyBool_Check(x.get()) || PyBool_Check(y.get());
    // Equal numbers, strings and tuples may or may not be one object in the next call.
    if (!singletons && x.type() == y.type() && is_pure(x) && is_pure(y) && !is_dtype(x) &&
        !PyType_Check(x.get()) && !is_enum_member(x) && (a->source || b->source || numbers)) {
      throw_break("identity", "identity of numbers or strings");
    }
    // `x is None` holds for every other object of x's type: the type is enough.
    for (auto [value, other] : {std::pair(a, y), std::pair(b, x)}) {
      if (singletons && !same && other.get() == Py_None) {
        type_of(interpreter, value);
        return false;
      }
    }
    // Whether they are one is what matters, not which objects they are.
    const auto may_vary = [](const Sym& value) {
      return value->source && value->source->kind != guards::Source::Kind::kConstant &&
             !is_pure(object_of(value));
    };
    if (may_vary(a) && may_vary(b)) {
      using guards::Predicate;
      interpreter.tracer.guard(
          a->source,
          same ? Predicate(guards::IsSame{b->source}) : Predicate(guards::AreDistinct{{b->source}}),
          "identity at " + interpreter.location_text());
      return same;
    }
    real_object(interpreter, a, "identity");
    real_object(interpreter, b, "identity");
    return same;
  }
  if (a->kind == b->kind) {
    if (a->kind == SymKind::kArray && a->source && b->source) {
      throw_break("identity", "identity of two arrays from outside");
    }
    if (a->kind == SymKind::kSize || a->kind == SymKind::kScalar || a->kind == SymKind::kTuple ||
        a->kind == SymKind::kMethod) {
      throw_break("identity", "identity of two values of type " + type_name(a));
    }
    return false;
  }
  // Different kinds are different types, except a constant and a run-time number or tuple.
  for (auto [object, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (object->kind != SymKind::kObject) continue;
    BorrowedRef real = object_of(object);
    if (is_runtime_number(other) && is_python_number(object) && !PyBool_Check(real.get())) {
      throw_break("identity", "identity of numbers");
    }
    if (PyBool_Check(real.get()) && other->kind == SymKind::kScalar &&
        as<ScalarValue>(other).type == py_scalar_type(DType::kBool)) {
      return number_truth(interpreter, other, "identity with a bool") == (real.get() == Py_True);
    }
    if (other->kind == SymKind::kTuple && PyTuple_Check(real.get())) {
      throw_break("identity", "identity of tuples");
    }
    if (object->source && !is_pure(real)) type_of(interpreter, object);
  }
  return false;
}

bool equal_items(Interpreter& interpreter, const Sym& a, const Sym& b) {
  if (a.get() == b.get()) return true;
  return truth(interpreter, compare_operation(interpreter, kEqual, a, b));
}

bool contains(Interpreter& interpreter, const Sym& container, const Sym& item) {
  if (is_dict(container)) return find_in_dict(interpreter, container, item) != nullptr;
  if (is_set(container)) return set_contains(interpreter, container, item);
  if (is_outside_set(container)) return outside_set_contains(interpreter, container, item);
  if (auto* view = dynamic_cast<DictView*>(container.get());
      view && view->part == DictView::Part::kKeys) {
    return find_in_dict(interpreter, view->dict, item) != nullptr;
  }
  if (container->kind == SymKind::kObject && is_enum_class(object_of(container))) {
    if (auto members = enum_members(interpreter, container);
        members && item->kind == SymKind::kObject && is_enum_member(object_of(item))) {
      const auto is_item = [&](const Sym& member) {
        return is_identical(interpreter, member, item);
      };
      if (std::any_of(members->begin(), members->end(), is_item)) return true;
      // A member of another class counts by its value.
      throw_break("unsupported_value", "a membership test of a member of another class");
    }
  }
  if (auto real = pure_constant(interpreter, container, "a membership test")) {
    Sym known = concrete(interpreter, item, "a membership test");
    if (auto real_item = pure_constant(interpreter, known, "a membership test")) {
      const int found = PySequence_Contains(real->get(), real_item->get());
      if (found < 0) {
        PyErr_Clear();
        throw_break("would_raise", "a membership test");
      }
      return found == 1;
    }
  }
  if (is_numpy_value(container)) throw_break("data_dependent", "a membership test in an array");
  const bool is_plain_iterator =
      container->kind == SymKind::kIterator && !as_library_object(container);
  if (!is_list(container) && !is_tuple(container) && !is_plain_iterator) {
    if (auto result = special_method(interpreter, container, "__contains__", {item})) {
      return truth(interpreter, result);
    }
    throw_value_break(container, "a membership test in a " + type_name(container));
  }
  const std::vector<Sym> items = collect_items(interpreter, container);
  const bool found = std::any_of(items.begin(), items.end(), [&](const Sym& own) {
    return equal_items(interpreter, own, item);
  });
  if (is_list(container) && has_items_in_trace(container) &&
      sequence_items(interpreter, container) != items)
    changes_while_compared();
  return found;
}

namespace {

// CPython takes nothing else from the method (or looks further into it); a length has a sign, too.
void check_result_type(Interpreter& interpreter, const Sym& result, const char* method,
                       const PyTypeObject* wanted) {
  const Ref type = type_of(interpreter, result);
  bool is_negative = false;
  if (result->kind == SymKind::kSize) {
    is_negative = interpreter.tracer.decide_less(as<SizeValue>(result).expr, 0,
                                                 "a length at " + interpreter.location_text());
  } else if (result->kind == SymKind::kObject && PyLong_CheckExact(object_of(result).get())) {
    is_negative = PyObject_RichCompareBool(object_of(result).get(),
                                           object_of(interpreter.integer(0)).get(), Py_LT) == 1;
  }
  if (type.get() != reinterpret_cast<const PyObject*>(wanted) || is_negative) {
    throw_break("would_raise", fmt::format("{} gives a {}", method, type_name(result)));
  }
}

}  // namespace

bool truth(Interpreter& interpreter, const Sym& value) {
  auto reason = [&] { return fmt::format("generic_jump {}", type_name(value)); };
  if (is_numpy_value(value)) {
    Sym result = numpy_to_number(interpreter.tracer, &PyBool_Type, value);
    if (is_numpy_value(result)) throw_break("generic_jump", reason());
    return truth(interpreter, result);
  }
  if (is_runtime_number(value)) return number_truth(interpreter, value, reason());
  switch (value->kind) {
    case SymKind::kTuple:
    case SymKind::kList:
      return !as<SequenceValue>(value).items.empty();
    case SymKind::kGrownList:
      return truth(interpreter, length_of(interpreter, value));
    case SymKind::kSet:
      return PySet_GET_SIZE(as<SetValue>(value).real.get()) != 0;
    case SymKind::kDict:
      return !as<DictValue>(value).items.empty();
    case SymKind::kSlice:
    case SymKind::kFunction:
    case SymKind::kMethod:
      return true;
    case SymKind::kException:
      return exception_truth(interpreter, value);
    case SymKind::kIterator:
      if (auto* view = dynamic_cast<DictView*>(value.get()))
        return dict_length(interpreter, view->dict) != 0;
      if (auto result = special_method(interpreter, value, "__len__", {}))
        return truth(interpreter, result);
      return true;
    case SymKind::kObject: {
      BorrowedRef object = object_of(value);
      if (auto constant = pure_constant(interpreter, value, "a truth value")) {
        const int result = PyObject_IsTrue(constant->get());
        if (result < 0) {
          PyErr_Clear();
          throw_break("would_raise", "a truth value");
        }
        return result == 1;
      }
      if (is_list(value)) return !sequence_items(interpreter, value).empty();
      if (is_dict(value)) return dict_length(interpreter, value) != 0;
      if (is_outside_set(value)) return outside_set_size(interpreter, value) != 0;
      PyTypeObject* type = object.type();
      const bool has_bool = type->tp_as_number && type->tp_as_number->nb_bool;
      const bool has_length = (type->tp_as_mapping && type->tp_as_mapping->mp_length) ||
                              (type->tp_as_sequence && type->tp_as_sequence->sq_length);
      if (!has_bool && !has_length) {
        Ref cls = type_of(interpreter, value);
        if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
          has_objects_method(interpreter, cls, "__bool__");
          has_objects_method(interpreter, cls, "__len__");
        }
        return true;
      }
      if (auto result = special_method(interpreter, value, "__bool__", {})) {
        check_result_type(interpreter, result, "__bool__", &PyBool_Type);
        return truth(interpreter, result);
      }
      if (auto result = special_method(interpreter, value, "__len__", {})) {
        check_result_type(interpreter, result, "__len__", &PyLong_Type);
        return truth(interpreter, result);
      }
      throw_value_break(value, fmt::format("the truth value of a {}", type->tp_name));
    }
    case SymKind::kNull:
    case SymKind::kArray:
    case SymKind::kScalar:
    case SymKind::kSize:
    case SymKind::kCell:
      break;
  }
  NUMLIFT_CHECK(false, "the truth value of a {}", type_name(value));
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift::frame_eval
