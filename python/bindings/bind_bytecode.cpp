// Bytecode as Python data, for the tests of the decoder and the encoder.
#include "numlift/py/python.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>

#include "../../src/frame_eval/cpython/flow.h"
#include "../../src/frame_eval/cpython/opcode_table.h"
#include "../../src/frame_eval/left_values.h"
#include "numlift/frame_eval/bytecode.h"
#include "numlift/frame_eval/resume_code.h"
#include "numlift/py/py_error.h"

namespace py = pybind11;

namespace numlift {
namespace {

// (op, flag, flag2, arg, target, handler, unit, position, constant, name)
using InstructionTuple = std::tuple<std::string, bool, bool, int32_t, int32_t, int32_t, uint32_t,
                                    std::tuple<int, int, int, int>, py::object, py::object>;
using HandlerTuple = std::tuple<int32_t, int32_t, bool>;

// pybind11 has its own type for a Python error that is set.
template <class Function>
auto translated(Function&& function) {
  try {
    return function();
  } catch (const PyError&) {
    throw py::error_already_set();
  }
}

py::object object_or_none(BorrowedRef object) {
  return object ? py::reinterpret_borrow<py::object>(object.get()) : py::none();
}

Instr instr_named(const std::string& name) {
  for (int i = 0; i < kInstrCount; ++i) {
    const auto instr = static_cast<Instr>(i);
    if (name == instruction_name(instr)) return instr;
  }
  throw py::value_error("no canonical instruction " + name);
}

py::tuple decode_to_tuples(const py::object& code) {
  const auto bytecode = translated([&] { return decode(code.ptr()); });
  std::vector<InstructionTuple> instructions;
  for (const Instruction& i : bytecode->instructions) {
    const Position& p = i.position;
    // A constant may be None: an empty tuple says that there is no constant.
    py::object constant = i.constant ? object_or_none(i.constant) : py::tuple();
    if (i.constant) constant = py::make_tuple(constant);
    instructions.emplace_back(instruction_name(i.op), i.flag, i.flag2, i.arg, i.target, i.handler,
                              i.unit, std::tuple(p.line, p.end_line, p.column, p.end_column),
                              constant, object_or_none(i.name));
  }
  std::vector<HandlerTuple> handlers;
  for (const Handler& h : bytecode->handlers) {
    handlers.emplace_back(h.target, h.depth, h.push_lasti);
  }
  return py::make_tuple(instructions, handlers);
}

py::object encode_tuples(const py::object& code, const std::vector<InstructionTuple>& instructions,
                         const std::vector<HandlerTuple>& handlers) {
  Bytecode bytecode = *translated([&] { return decode(code.ptr()); });
  bytecode.instructions.clear();
  bytecode.handlers.clear();
  bytecode.stack_size = 0;
  for (const auto& [op, flag, flag2, arg, target, handler, unit, position, constant, name] :
       instructions) {
    const auto [line, end_line, column, end_column] = position;
    Instruction i;
    i.op = instr_named(op);
    i.flag = flag;
    i.flag2 = flag2;
    i.arg = arg;
    i.target = target;
    i.handler = handler;
    i.unit = unit;
    i.position = {line, end_line, column, end_column};
    if (py::len(constant) == 1) {
      i.constant = PyTuple_GET_ITEM(constant.ptr(), 0);
      bytecode.kept.push_back(Ref::create(i.constant));
    }
    if (!name.is_none()) {
      i.name = name.ptr();
      bytecode.kept.push_back(Ref::create(i.name));
    }
    bytecode.instructions.push_back(i);
  }
  for (const auto& [target, depth, push_lasti] : handlers) {
    bytecode.handlers.push_back({target, depth, push_lasti});
  }
  return translated([&] { return py::reinterpret_steal<py::object>(encode(bytecode).release()); });
}

py::object reencode(const py::object& code) {
  return translated(
      [&] { return py::reinterpret_steal<py::object>(encode(*decode(code.ptr())).release()); });
}

py::list table() {
  py::list rows;
  for (const OpcodeRow& row : opcode_rows()) {
    rows.append(py::make_tuple(row.number, row.name, instruction_name(row.instr), row.caches,
                               static_cast<int>(row.operand), static_cast<int>(row.form)));
  }
  return rows;
}

py::list slots(const py::object& code) {
  py::list result;
  for (const LocalSlot& slot : local_slots(code.ptr())) {
    result.append(
        py::make_tuple(object_or_none(slot.name), slot.is_local, slot.is_cell, slot.is_free));
  }
  return result;
}

// A place in a function: the next instruction, the slots that are set, the stack (True: a value).
using PlaceTuple = std::tuple<int32_t, std::vector<int32_t>, std::vector<bool>>;

// The function that runs one unit of instructions and leaves, with the places where it may then
// stand. Called with the values of `place`, it returns what take_left() asks for, or the result.
py::tuple unit_function(const py::object& code, const py::dict& globals, const PlaceTuple& place,
                        int32_t stop, const std::vector<int32_t>& slots_at_stop) {
  return translated([&] {
    const auto [next, slots, stack] = place;
    const SuspendedFrame frame{decode(code.ptr()), Ref::create(globals.ptr()), next, slots, stack};
    SuspendedFrame at_unit = frame;
    at_unit.next = stop;
    at_unit.slots = slots_at_stop;
    const UnitFunction made = make_unit_function(frame, at_unit, frame_eval::leave_function());
    std::vector<PlaceTuple> after;
    for (const SuspendedFrame& one : made.after) after.emplace_back(one.next, one.slots, one.stack);
    return py::make_tuple(object_or_none(made.function), after);
  });
}

// The function that runs from `place` to the end.
py::object rest_function(const py::object& code, const py::dict& globals, const PlaceTuple& place) {
  return translated([&] {
    const auto [next, slots, stack] = place;
    return object_or_none(
        make_rest_function({decode(code.ptr()), Ref::create(globals.ptr()), next, slots, stack}));
  });
}

// Calls it: (place or None, values or the result).
py::tuple call_unit(const py::function& function, const py::args& values) {
  const frame_eval::LeftValues left;
  const py::object result = function(*values);
  if (result.ptr() != frame_eval::left_object().get()) return py::make_tuple(py::none(), result);
  std::vector<PyObject*> taken(left.newest_count());
  const size_t place = left.take(taken.data(), taken.size());
  py::list list;
  for (PyObject* value : taken) list.append(py::reinterpret_steal<py::object>(value));
  return py::make_tuple(place, list);
}

}  // namespace

void bind_bytecode(py::module_& parent) {
  py::module_ m = parent.def_submodule("bytecode", "The bytecode decoder and encoder, for tests.");
  m.def("decode", &decode_to_tuples,
        "The canonical instructions and the handlers of a code object.");
  m.def("encode", &encode_tuples, "A code object from what decode() gave, edited.");
  m.def("reencode", &reencode, "decode() and encode() without an edit.");
  m.def("computed_stack_size", [](const py::object& code) {
    return translated([&] { return analyse_flow(*decode(code.ptr())).max_depth; });
  });
  m.def("local_slots", &slots);
  m.def("unit_function", &unit_function);
  m.def("rest_function", &rest_function);
  m.def("call_unit", &call_unit);
  m.def("can_leave_after", [](const py::object& code, int32_t index) {
    return translated([&] {
      const auto bytecode = decode(code.ptr());
      return can_leave_after(*bytecode, unit_at(*bytecode, index));
    });
  });
  m.def("opcode_table", &table,
        "(number, name, canonical instruction, caches, operand kind, form) of each opcode.");
}

}  // namespace numlift
