// Building and unpacking of containers, slices, strings.
#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/interpreter.h"
#include "symbolic/iterators.h"
#include "symbolic/instance_dict.h"
#include "symbolic/library_objects.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/pure_calls.h"
#include "symbolic/side_effects.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

namespace {

void build_tuple(Interpreter&, Frame& frame, const Instruction& instruction) {
  frame.push(make_tuple(frame.pop_many(instruction.arg)));
}
void build_list(Interpreter&, Frame& frame, const Instruction& instruction) {
  frame.push(make_list(frame.pop_many(instruction.arg)));
}
void build_set(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  frame.push(make_set(interpreter, frame.pop_many(instruction.arg)));
}

void build_map(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  auto items = frame.pop_many(2 * instruction.arg);
  auto dict = std::make_shared<DictValue>();
  for (size_t i = 0; i < items.size(); i += 2) dict_set(interpreter, dict, items[i], items[i + 1]);
  frame.push(std::move(dict));
}

void build_const_key_map(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym keys = frame.pop();
  auto values = frame.pop_many(instruction.arg);
  auto names = sequence_items(interpreter, keys);
  auto dict = std::make_shared<DictValue>();
  for (size_t i = 0; i < values.size(); ++i) dict_set(interpreter, dict, names[i], values[i]);
  frame.push(std::move(dict));
}

void build_slice(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym step = instruction.arg == 3 ? frame.pop() : interpreter.none();
  Sym stop = frame.pop(), start = frame.pop();
  frame.push(std::make_shared<SliceValue>(start, stop, step));
}

// ---- strings: of constants only

Ref formattable(Interpreter& interpreter, const Sym& value) {
  auto real = known_value(interpreter, value);
  if (!real)
    throw_break("unsupported_value", fmt::format("a {} in a formatted string", type_name(value)));
  return *real;
}

void build_string(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Ref parts = checked(PyList_New(0));
  for (const Sym& part : frame.pop_many(instruction.arg)) {
    check_status(PyList_Append(parts.get(), formattable(interpreter, part).get()));
  }
  Ref empty = checked(PyUnicode_FromString(""));
  frame.push(interpreter.tracer.constant(must(PyUnicode_Join(empty.get(), parts.get()))));
}

Sym convert(Interpreter& interpreter, const Sym& value, int conversion) {
  constexpr int kNone = 0, kStr = 1, kRepr = 2, kAscii = 3;
  if (is_exception(value) && conversion != kAscii) {
    return conversion == kRepr ? exception_repr(interpreter, value)
                               : exception_text(interpreter, value);
  }
  if (conversion == kNone) return value;
  const Ref real = formattable(interpreter, value);
  return interpreter.tracer.constant(must(conversion == kStr    ? PyObject_Str(real.get())
                                          : conversion == kRepr ? PyObject_Repr(real.get())
                                                                : PyObject_ASCII(real.get())));
}

// object.__format__ takes no specification.
void refuse_exception(const Sym& value) {
  if (is_exception(value)) {
    throw_break("unsupported_value", "an exception is formatted by a specification");
  }
}

void format_value(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Ref spec;
  if (instruction.arg & 4) spec = formattable(interpreter, frame.pop());
  if (instruction.arg & 4 && (instruction.arg & 3) == 0) refuse_exception(frame.peek());
  Ref value = formattable(interpreter, convert(interpreter, frame.pop(), instruction.arg & 3));
  frame.push(interpreter.tracer.constant(must(PyObject_Format(value.get(), spec.get()))));
}

void convert_value(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  frame.push(convert(interpreter, frame.pop(), instruction.arg));
}

void format_simple(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Ref value = formattable(interpreter, convert(interpreter, frame.pop(), 0));
  frame.push(interpreter.tracer.constant(must(PyObject_Format(value.get(), nullptr))));
}

void format_with_spec(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Ref spec = formattable(interpreter, frame.pop());
  refuse_exception(frame.peek());
  Ref value = formattable(interpreter, frame.pop());
  frame.push(interpreter.tracer.constant(must(PyObject_Format(value.get(), spec.get()))));
}

// ---- template strings

Sym make_template_part(Interpreter& interpreter, const char* cls, std::vector<Sym> arguments) {
  const Sym callable = interpreter.object(known_object("string.templatelib", cls));
  return call_value(interpreter, callable, {std::move(arguments), {}});
}

void build_interpolation(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  constexpr const char* kConversions[] = {"", "s", "r", "a"};
  const int conversion = instruction.arg >> 2;
  const Sym spec = instruction.arg & 1 ? frame.pop() : interpreter.text("");
  const Sym expression = frame.pop(), value = frame.pop();
  const Sym converted =
      conversion == 0 ? interpreter.none() : interpreter.text(kConversions[conversion]);
  frame.push(
      make_template_part(interpreter, "Interpolation", {value, expression, converted, spec}));
}

void build_template(Interpreter& interpreter, Frame& frame, const Instruction&) {
  const auto interpolations = sequence_items(interpreter, frame.pop());
  const auto strings = sequence_items(interpreter, frame.pop());
  std::vector<Sym> parts;
  for (size_t i = 0; i < strings.size(); ++i) {
    parts.push_back(strings[i]);
    if (i < interpolations.size()) parts.push_back(interpolations[i]);
  }
  frame.push(make_template_part(interpreter, "Template", std::move(parts)));
}

// ---- additions to a container on the stack (those of a display or comprehension)

// A set as long as it is the trace's own: behind a graph break it is a real one.
SetValue& growing_set(const Sym& set) {
  if (set->kind != SymKind::kSet) throw_break("side_effect", "a set from outside is changed");
  return as<SetValue>(set);
}

void append_to_list(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym item = frame.pop();
  list_append(interpreter, frame.peek(instruction.arg), item);
}

void extend_list(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym more = frame.pop();
  list_extend(interpreter, frame.peek(instruction.arg), more);
}

void list_to_tuple(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym list = frame.pop();
  frame.push(make_tuple(sequence_items(interpreter, list)));
}

void set_add(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym item = frame.pop();
  const Sym& set = frame.peek(instruction.arg);
  add_to_set(interpreter, growing_set(set), item);
}

void set_update(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym more = frame.pop();
  const Sym set = frame.peek(instruction.arg);
  update_set(interpreter, growing_set(set), more);
}

void map_add(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym value = frame.pop(), key = frame.pop();
  dict_set(interpreter, frame.peek(instruction.arg), key, value);
}

void add_to_dict(Interpreter& interpreter, Frame& frame, int depth, bool unique) {
  Sym more = frame.pop();
  if (Sym inner = dict_of_library_object(more)) more = inner;
  if (is_instance_dict(more)) more = copy_of_instance_dict(interpreter, more);
  if (!is_dict(more)) throw_break("unsupported_value", "** of a " + type_name(more));
  const Sym dict = frame.peek(depth);
  for (const auto& [key, value] : dict_items(interpreter, more)) {
    if (unique && find_in_dict(interpreter, dict, key))
      throw_break("would_raise", "a keyword is given twice");
    dict_set(interpreter, dict, key, value);
  }
}
void dict_update(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  add_to_dict(interpreter, frame, instruction.arg, false);
}
void dict_merge(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  add_to_dict(interpreter, frame, instruction.arg, true);
}

// ---- unpacking

void push_reversed(Frame& frame, const std::vector<Sym>& items) {
  for (auto item = items.rbegin(); item != items.rend(); ++item) frame.push(*item);
}

// As CPython does it for a tuple of so many items. after < 0: no starred name.
[[noreturn]] void throw_unpack_error(const Sym& value, int before, int after, size_t count) {
  // How much of an iterator is used up then is not followed.
  if (value->kind == SymKind::kIterator) throw_break("would_raise", "an iterator is unpacked");
  const bool is_sized = is_list(value) || is_tuple(value) || is_dict(value);
  std::string source;
  for (int i = 0; i < before; ++i) source += fmt::format("a{}, ", i);
  if (after >= 0) source += "*rest, ";
  for (int i = 0; i < after; ++i) source += fmt::format("b{}, ", i);
  const std::string items = fmt::format("(0,) * {}", count);
  source += is_sized ? fmt::format("= {}\n", items) : fmt::format("= iter({})\n", items);
  const Ref names = checked(PyDict_New());
  must(PyRun_String(source.c_str(), Py_file_input, names.get(), names.get()));
  throw_break("would_raise", "values are unpacked");
}

// Of an iterator one item more than is wanted is taken, to see whether there are too many.
std::vector<Sym> items_to_unpack(Interpreter& interpreter, const Sym& value, size_t wanted) {
  const bool is_iterator =
      value->kind == SymKind::kIterator && !dynamic_cast<DictView*>(value.get());
  if (!is_iterator && !has_python_method(interpreter, value, "__iter__")) {
    return collect_items(interpreter, value);
  }
  auto iterator = make_iterator(interpreter, value);
  std::vector<Sym> items;
  while (items.size() <= wanted) {
    Sym item = iterator->next(interpreter.tracer);
    if (!item) break;
    items.push_back(std::move(item));
  }
  return items;
}

void unpack_sequence(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym value = frame.pop();
  auto items = items_to_unpack(interpreter, value, static_cast<size_t>(instruction.arg));
  if (items.size() != static_cast<size_t>(instruction.arg)) {
    throw_unpack_error(value, instruction.arg, -1, items.size());
  }
  push_reversed(frame, items);
}

void unpack_ex(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  const auto before = static_cast<size_t>(instruction.arg & 0xFF);
  const auto after = static_cast<size_t>(instruction.arg >> 8);
  Sym value = frame.pop();
  auto items = collect_items(interpreter, value);
  if (items.size() < before + after) {
    throw_unpack_error(value, static_cast<int>(before), static_cast<int>(after), items.size());
  }
  std::vector<Sym> parts(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(before));
  parts.push_back(make_list({items.begin() + static_cast<std::ptrdiff_t>(before),
                             items.end() - static_cast<std::ptrdiff_t>(after)}));
  parts.insert(parts.end(), items.end() - static_cast<std::ptrdiff_t>(after), items.end());
  push_reversed(frame, parts);
}

}  // namespace

void install_build(HandlerTable& table) {
  auto set = [&](Instr op, InstructionHandler handler) {
    table[static_cast<size_t>(op)] = handler;
  };
  set(Instr::kBuildTuple, build_tuple);
  set(Instr::kBuildList, build_list);
  set(Instr::kBuildSet, build_set);
  set(Instr::kBuildMap, build_map);
  set(Instr::kBuildConstKeyMap, build_const_key_map);
  set(Instr::kBuildString, build_string);
  set(Instr::kBuildSlice, build_slice);
  set(Instr::kBuildInterpolation, build_interpolation);
  set(Instr::kBuildTemplate, build_template);
  set(Instr::kFormatValue, format_value);
  set(Instr::kConvertValue, convert_value);
  set(Instr::kFormatSimple, format_simple);
  set(Instr::kFormatWithSpec, format_with_spec);
  set(Instr::kListAppend, append_to_list);
  set(Instr::kListExtend, extend_list);
  set(Instr::kListToTuple, list_to_tuple);
  set(Instr::kSetAdd, set_add);
  set(Instr::kSetUpdate, set_update);
  set(Instr::kMapAdd, map_add);
  set(Instr::kDictUpdate, dict_update);
  set(Instr::kDictMerge, dict_merge);
  set(Instr::kUnpackSequence, unpack_sequence);
  set(Instr::kUnpackEx, unpack_ex);
}

}  // namespace numlift::frame_eval
