#include "symbolic/user_iterators.h"

#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/generators.h"
#include "symbolic/pure.h"
#include "symbolic/library_objects.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

Sym UserIterator::next(Tracer&) {
  bool ended = false;
  return next_of_user(interpreter, object, &ended);
}

std::optional<CallShape> UserIterator::shape() const {
  // A call without effect that gives the object itself: operator.itemgetter(0)((object,)).
  static PyObject* const first = [] {
    const Ref module = checked(PyImport_ImportModule("operator"));
    return checked(PyObject_CallMethod(module.get(), "itemgetter", "i", 0)).release();
  }();
  return CallShape{Ref::create(first), {make_tuple({object})}, {}, 0};
}

Sym next_of_user(Interpreter& interpreter, const Sym& value, bool* ended) {
  if (!has_python_method(interpreter, value, "__next__")) return nullptr;
  try {
    return special_method(interpreter, value, "__next__", {});
  } catch (const Raised& raised) {
    if (!is_instance(*raised.exception, PyExc_StopIteration)) throw;
    // `yield from` would give it on.
    if (!as<SequenceValue>(raised.exception->args).items.empty()) {
      throw_break("unsupported_value", "__next__ ends with a value");
    }
    *ended = true;
    return nullptr;
  }
}

std::shared_ptr<IteratorValue> make_user_iterator(Interpreter& interpreter, const Sym& value) {
  if (as_library_object(value) || !has_python_method(interpreter, value, "__iter__")) {
    return nullptr;
  }
  const Sym made = special_method(interpreter, value, "__iter__", {});
  if (made->kind == SymKind::kIterator && !as_library_object(made) &&
      !dynamic_cast<DictView*>(made.get())) {
    return std::static_pointer_cast<IteratorValue>(made);
  }
  if (as_library_object(made) || !has_python_method(interpreter, made, "__next__")) {
    throw_break("outside_iterator", "__iter__ gives a " + type_name(made));
  }
  return std::make_shared<UserIterator>(interpreter, made);
}

bool is_no_iterator(const Sym& value) {
  const auto* generator = dynamic_cast<const GeneratorValue*>(value.get());
  return generator != nullptr && generator->body->kind != GeneratorKind::kGenerator;
}

Sym shown_iterator(const std::shared_ptr<IteratorValue>& iterator) {
  if (auto* user = dynamic_cast<UserIterator*>(iterator.get())) return user->object;
  return iterator;
}

bool holds_user_iterator(const std::vector<std::shared_ptr<IteratorValue>>& iterators) {
  return std::any_of(iterators.begin(), iterators.end(), [](const auto& one) {
    return dynamic_cast<UserIterator*>(one.get()) != nullptr;
  });
}

}  // namespace numlift::frame_eval
