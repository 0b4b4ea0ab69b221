// Code objects through the C API of the running version.
#include "numlift/py/python.h"

#include "cpython/code_object.h"

#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift {
namespace {

// The bits of co_localspluskinds (CPython's internal CO_FAST_*, the same in every version).
constexpr int kLocalBit = 0x20;
constexpr int kCellBit = 0x40;
constexpr int kFreeBit = 0x80;

Ref make_bytes(std::string_view data) {
  return checked(PyBytes_FromStringAndSize(data.data(), static_cast<Py_ssize_t>(data.size())));
}

#if PY_VERSION_HEX >= 0x030C0000
constexpr auto kNewCode = PyUnstable_Code_NewWithPosOnlyArgs;
#else
constexpr auto kNewCode = PyCode_NewWithPosOnlyArgs;
#endif

}  // namespace

std::span<const uint8_t> bytes_of(BorrowedRef bytes) {
  NUMLIFT_CHECK(PyBytes_Check(bytes.get()), "a code object's table is no bytes object");
  return {reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes.get())),
          static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

SlotKind slot_kind(PyCodeObject* code, int slot) {
  const uint8_t kind = bytes_of(code->co_localspluskinds)[static_cast<size_t>(slot)];
  return {(kind & kLocalBit) != 0, (kind & kCellBit) != 0, (kind & kFreeBit) != 0};
}

int argument_slots(const PyCodeObject* code) {
  return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
         ((code->co_flags & CO_VARKEYWORDS) != 0);
}

std::vector<LocalSlot> local_slots(BorrowedRef code) {
  PyCodeObject* object = as_code(code);
  std::vector<LocalSlot> slots;
  slots.reserve(static_cast<size_t>(object->co_nlocalsplus));
  for (int i = 0; i < object->co_nlocalsplus; ++i) {
    const auto [is_local, is_cell, is_free] = slot_kind(object, i);
    slots.push_back(
        {Ref::create(PyTuple_GET_ITEM(object->co_localsplusnames, i)), is_local, is_cell, is_free});
  }
  return slots;
}

Ref make_code(PyCodeObject* original, const NewCode& parts) {
  const Ref varnames = checked(PyCode_GetVarnames(original));
  const Ref freevars = checked(PyCode_GetFreevars(original));
  const Ref cellvars = checked(PyCode_GetCellvars(original));
  const Ref code = make_bytes(parts.code);
  const Ref line_table = make_bytes(parts.line_table);
  const Ref exception_table = make_bytes(parts.exception_table);
  PyCodeObject* made =
      kNewCode(original->co_argcount, original->co_posonlyargcount, original->co_kwonlyargcount,
               original->co_nlocals, parts.stack_size, original->co_flags, code.get(),
               parts.constants.get(), parts.names.get(), varnames.get(), freevars.get(),
               cellvars.get(), original->co_filename, original->co_name, original->co_qualname,
               original->co_firstlineno, line_table.get(), exception_table.get());
  Ref result = checked(reinterpret_cast<PyObject*>(made));
  // The constructor makes the slots anew from the three name tuples and cannot say which of them
  // are hidden from locals() (comprehension variables outside functions): take the original's.
  const bool same_slots =
      PyObject_RichCompareBool(made->co_localsplusnames, original->co_localsplusnames, Py_EQ) == 1;
  NUMLIFT_CHECK(same_slots, "a new code object orders its slots differently");
  PyObject* const kinds = made->co_localspluskinds;
  made->co_localspluskinds = Py_NewRef(original->co_localspluskinds);
  Py_DECREF(kinds);
  return result;
}

Ref make_code_with_locals(PyCodeObject* original, int arguments, BorrowedRef varnames) {
  const Ref freevars = checked(PyCode_GetFreevars(original));
  const Ref cellvars = checked(PyCode_GetCellvars(original));
  const Ref code = checked(PyCode_GetCode(original));
  const int flags = original->co_flags & ~(CO_VARARGS | CO_VARKEYWORDS);
  PyCodeObject* made = kNewCode(
      arguments, 0, 0, static_cast<int>(PyTuple_GET_SIZE(varnames.get())), original->co_stacksize,
      flags, code.get(), original->co_consts, original->co_names, varnames.get(), freevars.get(),
      cellvars.get(), original->co_filename, original->co_name, original->co_qualname,
      original->co_firstlineno, original->co_linetable, original->co_exceptiontable);
  return checked(reinterpret_cast<PyObject*>(made));
}

}  // namespace numlift
