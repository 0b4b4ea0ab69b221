// Changes of objects that existed before the call. None is traced yet: each kind leaves the graph
// here, and here a log that is replayed after the program will hook in.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

[[noreturn]] void store_outside_attribute(Interpreter& interpreter, const Sym& owner,
                                          BorrowedRef name, const Sym& value);
[[noreturn]] void store_global(Interpreter& interpreter, BorrowedRef name);
[[noreturn]] void store_outside_cell(Interpreter& interpreter, BorrowedRef name);
// list.append, dict.update, obj[key] = value, del obj[key], …
[[noreturn]] void change_outside_container(Interpreter& interpreter, const Sym& container,
                                           const std::string& what);

// A variable's value goes (null: it has none): an outside object that may die here may run code.
void let_go(const Sym& value);

}  // namespace numlift::frame_eval
