// Functions of the standard library that are written in C, and for which Python code of ours
// (numlift.polyfills) is interpreted. Nobody sees its frames: it belongs to the instruction that
// called.
#pragma once

#include <optional>
#include <string>

#include "symbolic/builtins.h"

namespace numlift::frame_eval {

// "itertools.islice", for a module-level callable that can be found under this name; nullopt for
// every other object.
std::optional<std::string> library_name(BorrowedRef callable);

// The module's object with this name: a function or table of numlift.polyfills.
BorrowedRef polyfill_object(const char* name);
// The Python function that stands for the C function of this name; null.
BorrowedRef find_polyfill(const std::string& name);
Sym call_polyfill(Interpreter& interpreter, BorrowedRef callable, const std::string& name,
                  CallArguments arguments);
// What a polyfill asks the interpreter (leave(), …); null: `function` is none of these.
Sym polyfill_intrinsic(Interpreter& interpreter, BorrowedRef function,
                       const CallArguments& arguments);

// What a polyfill gave, as the C function's result: its generator is an iterator without the
// methods of generators, its function an object of the callable's type.
struct LibraryValue : IteratorValue {
  Sym next(Tracer& tracer) override;
  std::optional<CallShape> shape() const override { return remade; }
  Sym inner;                        // an iterator or a function
  Ref generator;                    // the code that makes the items, or null
  Ref callable;                     // the C callable; null: not known
  std::optional<CallShape> remade;  // how CPython makes it, where that is possible later
};

}  // namespace numlift::frame_eval
