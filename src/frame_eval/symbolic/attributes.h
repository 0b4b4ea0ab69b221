// Attribute reads and stores, as CPython's generic lookup does them. No user code runs: properties
// and methods are inlined, other descriptors leave the graph.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

Sym get_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name);
void set_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name, const Sym& value);
// Has it the attribute? For hasattr() and getattr() with a default; nullopt: cannot be told.
std::optional<bool> has_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name);
// object.__getattribute__(owner, name), for an instance of a Python class.
Sym generic_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name);
// What a class (or the classes that it is derived from) holds under the name, with its source; null
// when there is none.
Sym class_member(Interpreter& interpreter, BorrowedRef cls, BorrowedRef name);
// The same for the class of `owner`.
Sym type_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name);
// The function in a staticmethod or classmethod.
Sym wrapped_function(Interpreter& interpreter, const Sym& method);
// What reading a class's raw attribute through an instance (or a class) gives.
Sym bind_attribute(Interpreter& interpreter, const Sym& raw, const Sym& instance,
                   const Sym& owner_class);
// super().name for these.
Sym get_super_attribute(Interpreter& interpreter, const Sym& start_class, const Sym& self,
                        BorrowedRef name);

// super() itself
// Its class has its own idea of what __class__ is (a proxy): isinstance() asks it.
bool says_its_class(const Sym& value);

struct SuperValue : IteratorValue {
  SuperValue(Sym start_class, Sym self)
      : start_class(std::move(start_class)), self(std::move(self)) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of super()"); }
  Sym start_class, self;
};

}  // namespace numlift::frame_eval
