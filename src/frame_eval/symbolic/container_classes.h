// Classes written in Python that are derived from list or dict. An instance made in the frame is
// an ObjectValue whose state holds all items as `content`; one from outside is read and changed as
// a list or dict from outside is. What the class does not override is done by the methods of its
// base.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// list or dict
bool is_container_class(const PyTypeObject* type);
// An instance of a class derived from one of these.
bool is_container_instance(const Sym& value);

// list.__init__(instance, …), dict.__init__(instance, …)
void init_container(Interpreter& interpreter, const Sym& instance, const CallArguments& arguments);

// A function of list or dict, as their classes hold it, called with an instance first. Null: it is
// none of those that are known, or no such instance.
Sym call_container_function(Interpreter& interpreter, BorrowedRef function,
                            const CallArguments& arguments);
// The list or dict that compares as the instance does: it has the same items. Other values are
// returned as they are.
Sym as_plain_container(Interpreter& interpreter, const Sym& value);

}  // namespace numlift::frame_eval
