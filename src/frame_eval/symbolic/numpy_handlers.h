// Handlers of NumPy calls: one a row of functions.def that is compiled natively. A handler gets the
// arguments bound to the parameter names of its row and returns the call's value; it throws Break
// for what it does not cover and for what NumPy would refuse.
#pragma once

#include "numlift/numpy_shim/function_table.h"
#include "symbolic/numpy_calls.h"

namespace numlift::frame_eval {

struct NumpyArguments {
  const numpy_shim::FunctionEntry* entry = nullptr;
  Ref callable;  // for a method: ndarray's (or the scalar class's) unbound one, self comes first

  // As the caller wrote them.
  std::vector<Sym> positional;
  std::vector<std::pair<Ref, Sym>> keywords;

  // By position in entry->parameters; null: not given. A variadic one is in `rest`.
  std::vector<Sym> values;
  std::vector<Sym> rest;

  // Null when it was not given (or the row has no such parameter).
  Sym get(std::string_view name) const;
  // As get; the object None and np._NoValue count as not given too.
  Sym get_unless_none(std::string_view name) const;
};

using NumpyHandler = Sym (*)(Tracer&, const NumpyArguments&);

// Binds; Break would_raise where Python would raise TypeError.
NumpyArguments bind_arguments(const numpy_shim::FunctionEntry& entry, BorrowedRef callable,
                              std::span<const Sym> args, Keywords kwargs);
// NumPy runs the call inside the program. Refuses `out`.
Sym call_extern(Tracer& tracer, const NumpyArguments& arguments);

#define NUMLIFT_NATIVE(path, handler, parameters) Sym handler(Tracer&, const NumpyArguments&);
#define NUMLIFT_EXTERN(path, parameters)
#define NUMLIFT_LEAVE(path, reason)
#define NUMLIFT_METHOD(name, handler, parameters) Sym handler(Tracer&, const NumpyArguments&);
#define NUMLIFT_METHOD_EXTERN(name, parameters)
#define NUMLIFT_METHOD_LEAVE(name, reason)
#include "numlift/numpy_shim/functions.def"
#undef NUMLIFT_NATIVE
#undef NUMLIFT_EXTERN
#undef NUMLIFT_LEAVE
#undef NUMLIFT_METHOD
#undef NUMLIFT_METHOD_EXTERN
#undef NUMLIFT_METHOD_LEAVE

}  // namespace numlift::frame_eval
