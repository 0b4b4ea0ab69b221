// ExceptionGroup and except*, as CPython's exceptions.c does them.
#include <set>

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

using Exceptions = std::vector<Sym>;

Sym member(const Sym& group, const char* name) {
  for (const auto& [own, value] : as<ExceptionValue>(group).members) {
    if (own == name) return value;
  }
  return nullptr;
}

const Exceptions& parts_of(const Sym& group) {
  return as<SequenceValue>(member(group, "exceptions")).items;
}

Ref group_class(bool of_exceptions) {
  return Ref::create(of_exceptions ? known_object("builtins", "ExceptionGroup")
                                   : BorrowedRef(PyExc_BaseExceptionGroup));
}

bool all_are_exceptions(const Exceptions& exceptions) {
  for (const Sym& one : exceptions) {
    if (!is_instance(as<ExceptionValue>(one), PyExc_Exception)) return false;
  }
  return true;
}

// BaseExceptionGroup(message, items)
Sym new_group(Interpreter& interpreter, const Sym& message, const Sym& items) {
  return make_exception(interpreter, interpreter.object(PyExc_BaseExceptionGroup),
                        {{message, items}, {}});
}

// A group of some of the original's exceptions with what is known of the original; None: of none.
Sym subset(Interpreter& interpreter, const Sym& original, Exceptions exceptions) {
  if (exceptions.empty()) return interpreter.none();
  const Ref derive = checked(PyUnicode_InternFromString("derive"));
  const Sym method = exception_attribute(interpreter, original, derive);
  const Sym made = call_value(interpreter, method, {{make_list(std::move(exceptions))}, {}});
  if (!is_group(made)) throw_break("would_raise", "derive() gives something else than a group");
  const auto& from = as<ExceptionValue>(original);
  auto& group = as<ExceptionValue>(made);
  if (from.traceback != 0) group.traceback = from.traceback;
  group.context = from.context;
  group.has_outer_context = from.has_outer_context;
  group.cause = from.cause;
  group.suppress_context = true;
  for (const auto& [name, value] : from.attributes) {
    if (utf8_text(name) != "__notes__") continue;
    if (value->kind != SymKind::kList) {
      throw_break("unsupported_value", "notes that are a " + type_name(value));
    }
    set_exception_attribute(interpreter, made, name, make_list(as<SequenceValue>(value).items));
  }
  return made;
}

// Splits by `is_wanted`, which is asked of groups too; the group itself where it is wanted whole.
template <class IsWanted>
GroupParts split(Interpreter& interpreter, const Sym& exception, const IsWanted& is_wanted) {
  if (is_wanted(exception)) return {exception, interpreter.none()};
  if (!is_group(exception)) return {interpreter.none(), exception};
  Exceptions wanted, others;
  for (const Sym& part : parts_of(exception)) {
    const GroupParts inner = split(interpreter, part, is_wanted);
    if (is_exception(inner.match)) wanted.push_back(inner.match);
    if (is_exception(inner.rest)) others.push_back(inner.rest);
  }
  Sym match = subset(interpreter, exception, std::move(wanted));
  return {std::move(match), subset(interpreter, exception, std::move(others))};
}

void collect_leaves(const Sym& exception, std::set<const SymbolicValue*>* leaves) {
  if (!is_group(exception)) {
    leaves->insert(exception.get());
    return;
  }
  for (const Sym& part : parts_of(exception)) collect_leaves(part, leaves);
}

bool have_same_origin(const Sym& a, const Sym& b) {
  const auto &x = as<ExceptionValue>(a), &y = as<ExceptionValue>(b);
  return x.traceback == y.traceback && x.cause == y.cause && x.context == y.context;
}

}  // namespace

bool is_group(const Sym& value) {
  return is_exception(value) && is_instance(as<ExceptionValue>(value), PyExc_BaseExceptionGroup);
}

void make_group(Interpreter& interpreter, ExceptionValue& group, const CallArguments& arguments) {
  ArgumentReader read("BaseExceptionGroup", arguments);
  read.expect(2, 2);
  const auto message = pure_constant(interpreter, read[0], "the message of a group");
  if (!message || !PyUnicode_CheckExact(message->get())) {
    throw_break("unsupported_value", "an exception group whose message is a " + type_name(read[0]));
  }
  if (!is_list(read[1]) && !is_tuple(read[1])) {
    throw_break("unsupported_value", "an exception group of a " + type_name(read[1]));
  }
  Exceptions exceptions = sequence_items(interpreter, read[1]);
  if (exceptions.empty()) {
    throw_error(PyExc_ValueError, "second argument (exceptions) must be a non-empty sequence");
  }
  for (const Sym& one : exceptions) {
    if (!is_exception(one)) {
      throw_break("unsupported_value", "an exception group that holds a " + type_name(one));
    }
  }
  const bool plain = all_are_exceptions(exceptions);
  if (group.type.get() == PyExc_BaseExceptionGroup) {
    group.type = group_class(plain);
  } else if (!plain && is_instance(group, PyExc_Exception)) {
    throw_break("would_raise", "a group of exceptions holds something else");
  }
  group.members.emplace_back("message", read[0]);
  group.members.emplace_back("exceptions", make_tuple(std::move(exceptions)));
}

GroupParts match_group(Interpreter& interpreter, const Sym& exception, const Sym& classes) {
  for (const Sym& one :
       is_tuple(classes) ? sequence_items(interpreter, classes) : std::vector<Sym>{classes}) {
    const auto real = real_object(interpreter, one, "a handler's class");
    if (real && PyExceptionClass_Check(real->get()) &&
        PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(real->get()),
                         reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup))) {
      throw_error(PyExc_TypeError,
                  "catching ExceptionGroup with except* is not allowed. Use except instead.");
    }
  }
  const auto is_wanted = [&](const Sym& one) { return matches(interpreter, one, classes); };
  if (!is_wanted(exception)) {
    if (!is_group(exception)) return {interpreter.none(), exception};
    return split(interpreter, exception, is_wanted);
  }
  if (is_group(exception)) return {exception, interpreter.none()};
  const Sym group = new_group(interpreter, interpreter.text(""), make_tuple({exception}));
  as<ExceptionValue>(group).traceback = new_traceback();
  return {group, interpreter.none()};
}

namespace {

// Up to 3.11.3 the only exception that blocks of except* raise is put into a group, too.
bool wraps_single_exception() {
  static const bool wraps = [] {
    const Ref globals = checked(PyDict_New());
    check_status(PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()));
    static const char* const kSource = R"(
try:
    try:
        raise BaseExceptionGroup("", [ValueError()])
    except* ValueError:
        raise KeyError
except BaseException as raised:
    wraps = type(raised) is not KeyError
)";
    const Ref none = checked(PyRun_String(kSource, Py_file_input, globals.get(), globals.get()));
    return PyDict_GetItemString(globals.get(), "wraps") == Py_True;
  }();
  return wraps;
}

}  // namespace

Sym reraised_of_group(Interpreter& interpreter, const Sym& original,
                      const std::vector<Sym>& results) {
  if (results.empty()) return interpreter.none();
  if (!is_group(original)) return results.front();
  Exceptions raised;
  std::set<const SymbolicValue*> kept;
  for (const Sym& one : results) {
    if (!is_exception(one)) continue;
    if (have_same_origin(one, original)) {
      collect_leaves(one, &kept);
    } else {
      raised.push_back(one);
    }
  }
  const Sym reraised =
      split(interpreter, original, [&](const Sym& one) { return kept.contains(one.get()); }).match;
  if (raised.empty()) return reraised;
  if (is_exception(reraised)) raised.push_back(reraised);
  if (raised.size() == 1 && !wraps_single_exception()) return raised.front();
  return new_group(interpreter, interpreter.text(""), make_list(std::move(raised)));
}

Sym group_method(Interpreter& interpreter, const Sym& self, const std::string& name,
                 const CallArguments& arguments) {
  ArgumentReader read(name.c_str(), arguments);
  read.expect(1, 1);
  if (name == "derive") return new_group(interpreter, member(self, "message"), read[0]);
  if (name != "split" && name != "subgroup") {
    throw_break("unsupported_call", fmt::format("method {} of an exception group", name));
  }
  const Sym& condition = read[0];
  const bool by_class = is_tuple(condition) || (condition->kind == SymKind::kObject &&
                                                PyExceptionClass_Check(object_of(condition).get()));
  const GroupParts parts = split(interpreter, self, [&](const Sym& one) {
    if (by_class) return matches(interpreter, one, condition);
    return truth(interpreter, call_value(interpreter, condition, {{one}, {}}));
  });
  if (name == "subgroup") return parts.match;
  return make_tuple({parts.match, parts.rest});
}

}  // namespace numlift::frame_eval
