// Calls of what the user has marked: see marks.h.
#pragma once

#include "numlift/frame_eval/marks.h"
#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// Null when nothing is said about `callable`.
const MarkEntry* mark_of(Interpreter& interpreter, const Sym& callable);
Sym call_marked(Interpreter& interpreter, const Sym& callable, const MarkEntry& entry,
                CallArguments arguments);

// nonstrict_trace(f) or allow_in_graph(f), written inside the code that is traced.
struct MarkedValue : IteratorValue {
  MarkedValue(Mark mark, Sym maker, Sym function)
      : mark(mark), maker(std::move(maker)), function(std::move(function)) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a function"); }
  std::optional<CallShape> shape() const override;
  Mark mark;  // kNonstrict or kAllowed
  Sym maker, function;
};
Sym call_marked_value(Interpreter& interpreter, const MarkedValue& value, CallArguments arguments);

// ---- for both files of hatches
// The arguments with outside lists and dicts opened; throws Break, and names the argument, when one
// holds anything else than arrays, numbers, text, dtypes and containers of these.
CallArguments plain_arguments(Interpreter& interpreter, BorrowedRef function,
                              const std::string& name, const CallArguments& arguments);
// custom_op_calls.cpp
Sym call_custom_op(Interpreter& interpreter, BorrowedRef op, const std::string& name,
                   const CallArguments& given);

// The trace begins again, with one more function taken as an operation of its own.
struct Retrace {};

}  // namespace numlift::frame_eval
