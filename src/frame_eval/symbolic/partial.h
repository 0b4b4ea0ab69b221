// functools.partial, made in the frame or before it.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

struct PartialValue : IteratorValue {
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a partial"); }
  std::optional<CallShape> shape() const override;
  Sym function;
  CallArguments arguments;
};

bool is_partial(BorrowedRef object);
Sym make_partial(Interpreter& interpreter, const CallArguments& arguments);
Sym call_partial(Interpreter& interpreter, const PartialValue& partial, CallArguments arguments);
Sym call_outside_partial(Interpreter& interpreter, const Sym& partial, CallArguments arguments);

}  // namespace numlift::frame_eval
