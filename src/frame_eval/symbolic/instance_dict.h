// obj.__dict__ and vars(obj): a mapping of what the instance itself holds. Like CPython's it is no
// copy: it holds nothing, and reads and sets the instance's attributes. Its methods are a polyfill.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// Null: not an instance of a plain Python class, or one whose __dict__ is something else.
Sym instance_dict(Interpreter& interpreter, const Sym& owner);
bool is_instance_dict(const Sym& value);
// A dict with its items as they are now.
Sym copy_of_instance_dict(Interpreter& interpreter, const Sym& value);

// own_names(owner), own_value(owner, name, default), set_own(owner, name, value), del_own(owner,
// name) of numlift.polyfills; null: another function.
Sym instance_dict_intrinsic(Interpreter& interpreter, BorrowedRef function,
                            const std::vector<Sym>& arguments);

}  // namespace numlift::frame_eval
