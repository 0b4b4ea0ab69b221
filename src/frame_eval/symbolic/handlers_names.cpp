// Names of a class body, which live in a namespace and not in slots.
#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/containers.h"
#include "symbolic/interpreter.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

const std::shared_ptr<DictValue>& names_of(const Frame& frame) {
  if (!frame.names) throw_break("unsupported_instruction", "the code has no fast locals");
  return frame.names;
}

void load_name(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  const Sym found =
      find_in_dict(interpreter, names_of(frame), interpreter.object(instruction.name));
  frame.push(found ? found : interpreter.load_global(frame, instruction.name));
}

void store_name(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  dict_set(interpreter, names_of(frame), interpreter.object(instruction.name), frame.pop());
}

void delete_name(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  if (!dict_remove(interpreter, names_of(frame), interpreter.object(instruction.name)))
    throw_break("would_raise", "a name is deleted that is not there");
}

void load_build_class(Interpreter& interpreter, Frame& frame, const Instruction&) {
  frame.push(interpreter.object(known_object("builtins", "__build_class__")));
}

void load_locals(Interpreter&, Frame& frame, const Instruction&) { frame.push(names_of(frame)); }

void load_from_dict_or_globals(Interpreter& interpreter, Frame& frame,
                               const Instruction& instruction) {
  const Sym names = frame.pop();
  if (!is_dict(names)) throw_break("unsupported_instruction", "a namespace of another kind");
  const Sym found = find_in_dict(interpreter, names, interpreter.object(instruction.name));
  frame.push(found ? found : interpreter.load_global(frame, instruction.name));
}

void load_name_or_cell(Interpreter& interpreter, Frame& frame, int32_t slot, const Sym& names) {
  const auto slots = local_slots(frame.bytecode->code);
  if (!is_dict(names)) throw_break("unsupported_instruction", "a namespace of another kind");
  const Ref& name = slots[static_cast<size_t>(slot)].name;
  if (Sym found = find_in_dict(interpreter, names, interpreter.object(name))) {
    frame.push(std::move(found));
    return;
  }
  const Sym& cell = frame.slots[static_cast<size_t>(slot)];
  if (!cell || cell->kind != SymKind::kCell ||
      (!as<CellValue>(cell).content && !as<CellValue>(cell).outside)) {
    throw_break("would_raise", "a variable of an enclosing function is not set");
  }
  frame.push(interpreter.read_cell(as<CellValue>(cell)));
}

void load_class_deref(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  load_name_or_cell(interpreter, frame, instruction.arg, names_of(frame));
}

void load_from_dict_or_deref(Interpreter& interpreter, Frame& frame,
                             const Instruction& instruction) {
  const Sym names = frame.pop();
  load_name_or_cell(interpreter, frame, instruction.arg, names);
}

void setup_annotations(Interpreter& interpreter, Frame& frame, const Instruction&) {
  const Sym name = interpreter.text("__annotations__");
  if (!find_in_dict(interpreter, names_of(frame), name))
    dict_set(interpreter, names_of(frame), name, std::make_shared<DictValue>());
}

}  // namespace

void install_names(HandlerTable& table) {
  auto set = [&](Instr op, InstructionHandler handler) {
    table[static_cast<size_t>(op)] = handler;
  };
  set(Instr::kLoadName, load_name);
  set(Instr::kStoreName, store_name);
  set(Instr::kDeleteName, delete_name);
  set(Instr::kLoadBuildClass, load_build_class);
  set(Instr::kLoadLocals, load_locals);
  set(Instr::kLoadFromDictOrGlobals, load_from_dict_or_globals);
  set(Instr::kLoadClassDeref, load_class_deref);
  set(Instr::kLoadFromDictOrDeref, load_from_dict_or_deref);
  set(Instr::kSetupAnnotations, setup_annotations);
}

}  // namespace numlift::frame_eval
