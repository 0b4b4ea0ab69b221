#include "symbolic/partial.h"

#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

using guards::Source;

bool is_partial(BorrowedRef object) {
  return reinterpret_cast<PyObject*>(object.type()) == known_object("functools", "partial").get();
}

std::optional<CallShape> PartialValue::shape() const {
  CallShape shape{Ref::create(known_object("functools", "partial")), {function}, {}, 0};
  shape.arguments.insert(shape.arguments.end(), arguments.positional.begin(),
                         arguments.positional.end());
  shape.keyword_names = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.keywords.size())));
  Py_ssize_t i = 0;
  for (const auto& [name, value] : arguments.keywords) {
    PyTuple_SET_ITEM(shape.keyword_names.get(), i++, Ref(name).release());
    shape.arguments.push_back(value);
  }
  return shape;
}

namespace {

// functools.Placeholder, where there is one: a place that the call fills.
bool is_placeholder(Interpreter& interpreter, const Sym& value) {
  const BorrowedRef placeholder = known_object("functools", "Placeholder");
  return placeholder && is_object(value, placeholder.get()) &&
         is_identical(interpreter, value, interpreter.object(placeholder));
}

}  // namespace

Sym make_partial(Interpreter& interpreter, const CallArguments& arguments) {
  if (arguments.positional.empty()) throw_break("would_raise", "partial() without a function");
  const bool is_named =
      std::any_of(arguments.keywords.begin(), arguments.keywords.end(),
                  [&](const auto& keyword) { return is_placeholder(interpreter, keyword.second); });
  if (is_named || is_placeholder(interpreter, arguments.positional.back()))
    throw_break("would_raise", "a placeholder that no call can fill");
  auto partial = std::make_shared<PartialValue>();
  partial->function = arguments.positional[0];
  partial->arguments = arguments;
  partial->arguments.positional.erase(partial->arguments.positional.begin());
  return partial;
}

Sym call_partial(Interpreter& interpreter, const PartialValue& partial, CallArguments arguments) {
  CallArguments all = partial.arguments;
  auto given = arguments.positional.begin();
  for (Sym& place : all.positional) {
    if (!is_placeholder(interpreter, place)) continue;
    if (given == arguments.positional.end())
      throw_break("would_raise", "a partial is called with fewer arguments than placeholders");
    place = *given++;
  }
  all.positional.insert(all.positional.end(), given, arguments.positional.end());
  for (auto& [name, value] : arguments.keywords) {
    bool replaced = false;
    for (auto& [own, content] : all.keywords) {
      if (PyUnicode_Compare(own.get(), name.get()) == 0) {
        content = value;
        replaced = true;
      }
    }
    if (!replaced) all.keywords.emplace_back(name, value);
  }
  return call_value(interpreter, partial.function, std::move(all));
}

Sym call_outside_partial(Interpreter& interpreter, const Sym& value, CallArguments arguments) {
  // Guarded by identity: what a partial holds does not change, but for its dict and the code of its
  // function.
  real_object(interpreter, value, "it is called");
  BorrowedRef object = object_of(value);
  Ref function = must(PyObject_GetAttrString(object.get(), "func"));
  Ref positional = must(PyObject_GetAttrString(object.get(), "args"));
  Ref keywords = must(PyObject_GetAttrString(object.get(), "keywords"));
  PartialValue partial;
  partial.function = interpreter.tracer.outside(function, Source::constant(function));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positional.get()); ++i) {
    partial.arguments.positional.push_back(
        interpreter.tracer.outside(Ref::create(PyTuple_GET_ITEM(positional.get(), i)),
                                   Source::item(Source::constant(positional), i)));
  }
  interpreter.guard_key_order(Source::constant(keywords), keywords);
  PyObject *key, *item;
  Py_ssize_t position = 0;
  while (PyDict_Next(keywords.get(), &position, &key, &item)) {
    partial.arguments.keywords.emplace_back(
        Ref::create(key),
        interpreter.tracer.outside(Ref::create(item),
                                   Source::dict_item(Source::constant(keywords), key)));
  }
  return call_partial(interpreter, partial, std::move(arguments));
}

}  // namespace numlift::frame_eval
