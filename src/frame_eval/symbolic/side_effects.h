// Changes of objects that existed before the call: the trace sees them at once, the objects when
// the program has run (Tracer::record_effect). Attributes: instances.h.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// globals[name] = value; null: del globals[name].
void store_global(Interpreter& interpreter, BorrowedRef globals, BorrowedRef name,
                  const Sym& value);
// The same for the content of a cell from outside.
void store_outside_cell(Interpreter& interpreter, const Sym& cell, const Sym& value);

// type.method(*arguments) is called on a list, dict or set from outside; the first argument is it.
// Of an instance made in the frame nothing is recorded.
void record_method(Interpreter& interpreter, PyTypeObject* type, const char* method,
                   std::vector<Sym> arguments);
// The same where the call sets what `key` names to its last argument.
void record_item(Interpreter& interpreter, PyTypeObject* type, BorrowedRef key,
                 std::vector<Sym> arguments);

// A variable's value goes (null: it has none): an outside object that may die here may run code.
void let_go(const Sym& value);

}  // namespace numlift::frame_eval
