// Objects of the standard library's classes that are made in the frame and whose behaviour is
// written as a class of numlift.polyfills: collections.deque, defaultdict, …
//
// The polyfill class is never instantiated. Its methods are interpreted with a LibraryObject as
// self; to them it has the attributes that they set, to all other code those of the real class. Its
// SHAPE names the attributes that the real class is called with when CPython gets the object ("*x":
// with the items of the tuple x); a class without SHAPE has CPython make the object. DICT names the
// attribute that holds the items of a mapping.
#pragma once

#include <map>

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

struct LibraryObject : IteratorValue {
  Sym next(Tracer&) override { throw_break("would_raise", "next() of an object"); }
  std::optional<CallShape> shape() const override;
  Ref type() const override { return cls; }
  Ref cls;       // what type() gives; null: not known
  Ref polyfill;  // the class that is interpreted
  std::map<std::string, Sym, std::less<>> fields;
};

LibraryObject* as_library_object(const Sym& value);  // null: it is none

// `cls` null: the class of the object is not known.
Sym make_library_object(Interpreter& interpreter, BorrowedRef cls, BorrowedRef polyfill,
                        CallArguments arguments);
Sym library_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name);
void set_library_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name,
                           const Sym& value);
// Null: the class has no such method.
Sym call_library_method(Interpreter& interpreter, const Sym& self, const std::string& name,
                        CallArguments arguments);
// Whether the polyfill class itself defines the method.
bool has_library_method(BorrowedRef polyfill, const std::string& name);
// The dict inside a mapping; null: it is none.
Sym dict_of_library_object(const Sym& value);

}  // namespace numlift::frame_eval
