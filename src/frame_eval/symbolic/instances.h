// Instances of Python classes: those made in the frame, and what the frame changes of those from
// outside. Attributes are found and set as CPython's generic lookup does it; no user code runs
// but what is traced.
#pragma once

#include "symbolic/calls.h"
#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// A method of object as the class holds it: "__new__", "__setattr__", …
Ref object_method(const char* name);

// Whether the class has object's own method of that name, or (where object has none) no such
// method; guarded, for a class may get one later.
bool has_objects_method(Interpreter& interpreter, BorrowedRef cls, const char* name);

// cls(*arguments), where the class is plain: its instances are objects with attributes and no more.
// Throws Break where it is not.
Sym make_instance(Interpreter& interpreter, const Sym& cls, CallArguments arguments);

// The class itself where it is written in C, else the nearest such class that it is derived from.
PyTypeObject* base_in_c(PyTypeObject* type);

// list.__new__(cls, …) for a class derived from list, and the same of dict; null: something else.
Sym make_of_container_class(Interpreter& interpreter, const Sym& callable,
                            const std::vector<Sym>& arguments);

// The trace is over: what the instances made in it hold is dropped, for it may be they themselves.
void drop_instances();

// What the object itself holds under the name, its class apart; null: nothing.
Sym own_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name);
// Whether the trace alone tells what own_attribute() gives, whatever the real object holds.
bool is_own_attribute_traced(const Sym& owner, BorrowedRef name);

// object.__setattr__(owner, name, value); null: object.__delattr__.
void set_own_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name,
                       const Sym& value);

// Calls of object's own methods by their class: object.__setattr__(x, "a", 1), super().__init__().
// Null when the callable is none of them.
Sym call_object_method(Interpreter& interpreter, const Sym& callable,
                       const CallArguments& arguments);

// What a functools.cached_property gives for the instance, which keeps it from then on.
Sym cached_property_value(Interpreter& interpreter, const Sym& property, const Sym& instance);

}  // namespace numlift::frame_eval
