// Loads and stores of names, cells, attributes, items; stack shuffling.
#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/interpreter.h"
#include "symbolic/modules.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/side_effects.h"

namespace numlift::frame_eval {

namespace {

Sym& slot_of(Frame& frame, const Instruction& instruction) {
  return frame.slots[static_cast<size_t>(instruction.arg)];
}

CellValue& cell_of(Frame& frame, const Instruction& instruction) {
  const Sym& slot = slot_of(frame, instruction);
  NUMLIFT_CHECK(slot && slot->kind == SymKind::kCell, "slot {} of {} holds no cell",
                instruction.arg, frame.name);
  return as<CellValue>(slot);
}

void nop(Interpreter&, Frame&, const Instruction&) {}
void pop_top(Interpreter&, Frame& frame, const Instruction&) {
  let_go(frame.peek(1));
  frame.pop();
}
void push_null(Interpreter&, Frame& frame, const Instruction&) { frame.push(null_value()); }
void copy(Interpreter&, Frame& frame, const Instruction& instruction) {
  frame.push(Sym(frame.peek(instruction.arg)));
}
void swap(Interpreter&, Frame& frame, const Instruction& instruction) {
  std::swap(frame.peek(1), frame.peek(instruction.arg));
}

void load_const(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  frame.push(interpreter.object(instruction.constant));
}

[[noreturn]] void throw_unbound(const Frame& frame, int32_t slot) {
  const auto slots = local_slots(frame.bytecode->code);
  const LocalSlot& variable = slots[static_cast<size_t>(slot)];
  const std::string name = utf8_text(variable.name);
  if (variable.is_free) {
    auto error = std::make_shared<ExceptionValue>(
        Ref::create(PyExc_NameError),
        make_tuple({std::make_shared<ObjectValue>(checked(PyUnicode_FromFormat(
            "cannot access free variable '%U' where it is not associated with a value in "
            "enclosing scope",
            variable.name.get())))}));
    error->members.emplace_back("name", std::make_shared<ObjectValue>(variable.name));
    throw Raised{std::move(error), true, true, fmt::format("'{}' is not set", name)};
  }
  throw_error(
      PyExc_UnboundLocalError,
      fmt::format("cannot access local variable '{}' where it is not associated with a value",
                  name));
}

void load_fast(Interpreter&, Frame& frame, const Instruction& instruction) {
  const Sym& value = slot_of(frame, instruction);
  if (!value) throw_unbound(frame, instruction.arg);
  frame.push(value);
}

void load_fast_and_clear(Interpreter&, Frame& frame, const Instruction& instruction) {
  Sym value = std::exchange(slot_of(frame, instruction), nullptr);
  frame.push(value ? value : null_value());
}

void store_fast(Interpreter&, Frame& frame, const Instruction& instruction) {
  let_go(slot_of(frame, instruction));
  Sym value = frame.pop();
  slot_of(frame, instruction) = is_null(value) ? nullptr : value;
}

void delete_fast(Interpreter&, Frame& frame, const Instruction& instruction) {
  if (!slot_of(frame, instruction)) throw_unbound(frame, instruction.arg);
  let_go(slot_of(frame, instruction));
  slot_of(frame, instruction) = nullptr;
}

void make_cell(Interpreter&, Frame& frame, const Instruction& instruction) {
  auto cell = std::make_shared<CellValue>();
  cell->content = slot_of(frame, instruction);
  slot_of(frame, instruction) = std::move(cell);
}

void copy_free_vars(Interpreter&, Frame& frame, const Instruction& instruction) {
  const auto count = static_cast<size_t>(instruction.arg);
  NUMLIFT_CHECK(count == frame.closure.size(), "{} has {} cells for {} free variables", frame.name,
                frame.closure.size(), count);
  for (size_t i = 0; i < count; ++i) frame.slots[frame.slots.size() - count + i] = frame.closure[i];
}

void load_deref(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  CellValue& cell = cell_of(frame, instruction);
  // That a cell from outside is empty is not guarded: CPython finds out.
  if (!cell.content && !cell.outside) throw_unbound(frame, instruction.arg);
  frame.push(interpreter.read_cell(cell));
}

void store_deref(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  CellValue& cell = cell_of(frame, instruction);
  Sym value = frame.pop();
  if (cell.outside) {
    store_outside_cell(interpreter, slot_of(frame, instruction), value);
  } else {
    cell.content = std::move(value);
  }
}

void delete_deref(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  CellValue& cell = cell_of(frame, instruction);
  if (cell.outside) {
    interpreter.read_cell(cell);
    store_outside_cell(interpreter, slot_of(frame, instruction), nullptr);
    return;
  }
  if (!cell.content) throw_unbound(frame, instruction.arg);
  cell.content = nullptr;
}

// A callable with its NULL, in the version's order.
void push_callable(Frame& frame, Sym callable) {
  if (null_is_before_callable()) frame.push(null_value());
  frame.push(std::move(callable));
  if (!null_is_before_callable()) frame.push(null_value());
}

void load_global(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym value = interpreter.load_global(frame, instruction.name);
  if (instruction.flag) {
    push_callable(frame, std::move(value));
  } else {
    frame.push(std::move(value));
  }
}

void store_global_handler(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  store_global(interpreter, frame.globals, instruction.name, frame.pop());
}

void delete_global(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  store_global(interpreter, frame.globals, instruction.name, nullptr);
}

void load_attr(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym owner = frame.pop();
  Sym value = get_attribute(interpreter, owner, instruction.name);
  if (instruction.flag) {
    push_callable(frame, std::move(value));
  } else {
    frame.push(std::move(value));
  }
}

void load_super_attr(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym self = frame.pop(), start_class = frame.pop(), super = frame.pop();
  if (!is_object(super, reinterpret_cast<PyObject*>(&PySuper_Type))) {
    throw_break("unsupported_call", "super is not the builtin");
  }
  Sym value = get_super_attribute(interpreter, start_class, self, instruction.name);
  if (instruction.flag) {
    push_callable(frame, std::move(value));
  } else {
    frame.push(std::move(value));
  }
}

void store_attr(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym owner = frame.pop(), value = frame.pop();
  set_attribute(interpreter, owner, instruction.name, value);
}

void delete_attr(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym owner = frame.pop();
  set_attribute(interpreter, owner, instruction.name, nullptr);
}

void subscript(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym key = frame.pop(), container = frame.pop();
  frame.push(get_item(interpreter, container, key));
}

Sym pop_slice(Interpreter& interpreter, Frame& frame) {
  Sym stop = frame.pop(), start = frame.pop();
  return std::make_shared<SliceValue>(std::move(start), std::move(stop), interpreter.none());
}

void subscript_slice(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym key = pop_slice(interpreter, frame), container = frame.pop();
  frame.push(get_item(interpreter, container, key));
}

void store_subscript(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym key = frame.pop(), container = frame.pop(), value = frame.pop();
  set_item(interpreter, container, key, value);
}

void store_slice(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym key = pop_slice(interpreter, frame), container = frame.pop(), value = frame.pop();
  set_item(interpreter, container, key, value);
}

void delete_subscript(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym key = frame.pop(), container = frame.pop();
  delete_item(interpreter, container, key);
}

void import_name(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym from_list = frame.pop(), level = frame.pop();
  frame.push(import_module(interpreter, instruction.name, from_list, level));
}

void import_from(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  frame.push(get_attribute(interpreter, frame.peek(), instruction.name));
}

}  // namespace

void install_load_store(HandlerTable& table) {
  auto set = [&](Instr op, InstructionHandler handler) {
    table[static_cast<size_t>(op)] = handler;
  };
  set(Instr::kNop, nop);
  set(Instr::kResume, nop);
  set(Instr::kPopTop, pop_top);
  set(Instr::kPushNull, push_null);
  set(Instr::kCopy, copy);
  set(Instr::kSwap, swap);
  set(Instr::kLoadConst, load_const);
  set(Instr::kLoadFast, load_fast);
  set(Instr::kLoadFastAndClear, load_fast_and_clear);
  set(Instr::kStoreFast, store_fast);
  set(Instr::kDeleteFast, delete_fast);
  set(Instr::kMakeCell, make_cell);
  set(Instr::kCopyFreeVars, copy_free_vars);
  set(Instr::kLoadClosure, load_fast);
  set(Instr::kLoadDeref, load_deref);
  set(Instr::kStoreDeref, store_deref);
  set(Instr::kDeleteDeref, delete_deref);
  set(Instr::kLoadGlobal, load_global);
  set(Instr::kStoreGlobal, store_global_handler);
  set(Instr::kDeleteGlobal, delete_global);
  set(Instr::kLoadAttr, load_attr);
  set(Instr::kLoadSuperAttr, load_super_attr);
  set(Instr::kStoreAttr, store_attr);
  set(Instr::kDeleteAttr, delete_attr);
  set(Instr::kSubscript, subscript);
  set(Instr::kSubscriptSlice, subscript_slice);
  set(Instr::kStoreSubscript, store_subscript);
  set(Instr::kStoreSlice, store_slice);
  set(Instr::kDeleteSubscript, delete_subscript);
  set(Instr::kImportName, import_name);
  set(Instr::kImportFrom, import_from);
}

}  // namespace numlift::frame_eval
