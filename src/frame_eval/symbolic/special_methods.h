// Operators of user classes: their special methods are inlined like any other function of theirs.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// type(self).name(self, *arguments) where that is a Python function; null when the class has none.
Sym special_method(Interpreter& interpreter, const Sym& self, const char* name,
                   std::vector<Sym> arguments, std::vector<std::pair<Ref, Sym>> keywords = {});
// Whether special_method() would find a function to inline.
bool has_python_method(Interpreter& interpreter, const Sym& self, const char* name);
// The comparison by the operands' methods; null: neither is an instance of a user class, or it
// cannot be told. `plain`: an operand's own class has nothing to say about objects of other
// classes.
Sym compare_by_methods(Interpreter& interpreter, int compare, const Sym& a, const Sym& b,
                       bool plain_left, bool plain_right);
// a.__op__(b), b.__rop__(a), a.__iop__(b); null when neither operand is an instance of a user
// class.
Sym binary_special_method(Interpreter& interpreter, int nb_op, bool in_place, const Sym& a,
                          const Sym& b);

}  // namespace numlift::frame_eval
