// Functions without effects whose results depend on their arguments only (pure_calls.def): on
// values that are known while tracing they are called for real.
#pragma once

#include <optional>
#include <string>

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

bool is_pure_function(const std::string& name);
// The call's result; null: not all arguments are known. Throws Break where the function raises or
// warns.
Sym call_pure_function(Interpreter& interpreter, BorrowedRef callable,
                       const CallArguments& arguments);

// The object that a value is in every call, containers made inside included (as new objects);
// nullopt: it is not known now, or not to be computed with.
std::optional<Ref> known_value(Interpreter& interpreter, const Sym& value);
// A real object that was just made, as a value of the trace; null: of a type that is not known to
// be safe.
Sym value_from_real(Interpreter& interpreter, Ref object);

}  // namespace numlift::frame_eval
