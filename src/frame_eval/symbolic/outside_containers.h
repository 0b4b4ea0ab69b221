// Sets and deques from outside: what the traced code changes of them, and what it reads.
//
// A change is recorded as the call that makes it. Putting something in looks at nothing of what is
// there. Of a set only such questions are answered whose answer does not hang on its order, which
// nothing but the set itself knows.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

bool is_outside_set(const Sym& value);
bool is_outside_deque(const Sym& value);

// Methods by name, special ones too. Null: there is none that can be traced.
Sym call_outside_set(Interpreter& interpreter, const Sym& set, const std::string& name,
                     const CallArguments& arguments);
Sym call_outside_deque(Interpreter& interpreter, const Sym& deque, const std::string& name,
                       const CallArguments& arguments);
bool has_outside_set_method(const std::string& name);

bool outside_set_contains(Interpreter& interpreter, const Sym& set, const Sym& item);
int64_t outside_set_size(Interpreter& interpreter, const Sym& set);
// A set made in the frame with the same items, in an order of its own.
Sym copy_of_outside_set(Interpreter& interpreter, const Sym& set);
// set |= other, set -= other
bool change_outside_set(Interpreter& interpreter, int nb_op, const Sym& set, const Sym& other);

// The deque as the trace sees it, an object of the polyfill.
Sym opened_deque(Interpreter& interpreter, const Sym& deque);

}  // namespace numlift::frame_eval
