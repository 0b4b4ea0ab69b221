// match statements.
#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/interpreter.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

void get_len(Interpreter& interpreter, Frame& frame, const Instruction&) {
  frame.push(length_of(interpreter, frame.peek()));
}

template <unsigned long flag>
void match_kind(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Ref type = type_of(interpreter, frame.peek());
  const auto flags = reinterpret_cast<PyTypeObject*>(type.get())->tp_flags;
  frame.push(interpreter.boolean((flags & flag) != 0));
}

void match_keys(Interpreter& interpreter, Frame& frame, const Instruction&) {
  const Sym keys = frame.peek(1), mapping = frame.peek(2);
  if (!is_dict(mapping))
    throw_break("unsupported_value", "a pattern of keys on a " + type_name(mapping));
  std::vector<Sym> values, seen;
  for (const Sym& key : sequence_items(interpreter, keys)) {
    const Sym known = constant_key(interpreter, key);
    for (const Sym& other : seen) {
      if (same_key(object_of(other), object_of(known)))
        throw_break("would_raise", "a pattern that names one key twice");
    }
    seen.push_back(known);
    Sym value = find_in_dict(interpreter, mapping, known);
    if (!value) {
      frame.push(interpreter.none());
      return;
    }
    values.push_back(std::move(value));
  }
  frame.push(make_tuple(std::move(values)));
}

// Null: it has none of that name.
Sym attribute_or_null(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  if (has_attribute(interpreter, owner, name) == false) return nullptr;
  try {
    return get_attribute(interpreter, owner, name);
  } catch (const Raised& raised) {
    if (!is_instance(*raised.exception, PyExc_AttributeError)) throw;
    return nullptr;
  }
}

// The names of the attributes that stand at the pattern's first places; none where the one pattern
// there is for the subject itself.
std::vector<Sym> names_by_position(Interpreter& interpreter, const Sym& type, size_t count,
                                   bool* is_itself) {
  const Ref key = checked(PyUnicode_InternFromString("__match_args__"));
  const auto* real = reinterpret_cast<PyTypeObject*>(object_of(type).get());
  const Sym found = attribute_or_null(interpreter, type, key);
  if (found && !is_tuple(found)) throw_break("would_raise", "__match_args__ that is no tuple");
  std::vector<Sym> names = found ? sequence_items(interpreter, found) : std::vector<Sym>{};
  *is_itself = !found && (real->tp_flags & _Py_TPFLAGS_MATCH_SELF) != 0;
  const size_t allowed = *is_itself ? 1 : names.size();
  if (allowed < count) {
    throw_error(PyExc_TypeError,
                fmt::format("{}() accepts {} positional sub-pattern{} ({} given)", real->tp_name,
                            allowed, allowed == 1 ? "" : "s", count));
  }
  names.resize(*is_itself ? 0 : count);
  return names;
}

// The attributes that the pattern asks for, in a tuple, or None when it does not match.
Sym match_attributes(Interpreter& interpreter, const Sym& subject, const Sym& type, size_t count,
                     const Sym& keyword_names) {
  if (type->kind != SymKind::kObject || !PyType_Check(object_of(type).get())) {
    throw_break("would_raise", "a pattern of a class that is none");
  }
  real_object(interpreter, type, "a pattern of a class");
  const Sym is_instance_of =
      call_value(interpreter, interpreter.object(known_object("builtins", "isinstance")),
                 {{subject, type}, {}});
  if (!truth(interpreter, is_instance_of)) return interpreter.none();
  std::vector<Sym> names, values;
  if (count > 0) {
    bool is_itself = false;
    names = names_by_position(interpreter, type, count, &is_itself);
    if (is_itself) values.push_back(subject);
  }
  for (const Sym& name : sequence_items(interpreter, keyword_names)) names.push_back(name);
  std::vector<std::string> seen;
  for (const Sym& name : names) {
    const auto real = pure_constant(interpreter, name, "a pattern of a class");
    if (!real || !PyUnicode_CheckExact(real->get())) {
      throw_break("would_raise", "__match_args__ with something else than names");
    }
    const std::string text = utf8_text(*real);
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) {
      throw_error(
          PyExc_TypeError,
          fmt::format("{}() got multiple sub-patterns for attribute '{}'",
                      reinterpret_cast<PyTypeObject*>(object_of(type).get())->tp_name, text));
    }
    seen.push_back(text);
    PyObject* interned = Ref(*real).release();
    PyUnicode_InternInPlace(&interned);
    const Ref key = Ref::steal(interned);
    Sym value = attribute_or_null(interpreter, subject, key);
    if (!value) return interpreter.none();
    values.push_back(std::move(value));
  }
  return make_tuple(std::move(values));
}

void match_class(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  const Sym names = frame.pop(), type = frame.pop(), subject = frame.pop();
  frame.push(
      match_attributes(interpreter, subject, type, static_cast<size_t>(instruction.arg), names));
}

}  // namespace

void install_match(HandlerTable& table) {
  auto set = [&](Instr op, InstructionHandler handler) {
    table[static_cast<size_t>(op)] = handler;
  };
  set(Instr::kGetLen, get_len);
  set(Instr::kMatchSequence, match_kind<Py_TPFLAGS_SEQUENCE>);
  set(Instr::kMatchMapping, match_kind<Py_TPFLAGS_MAPPING>);
  set(Instr::kMatchKeys, match_keys);
  set(Instr::kMatchClass, match_class);
}

}  // namespace numlift::frame_eval
