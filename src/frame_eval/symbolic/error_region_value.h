// `with numlift.error_on_graph_break(...)`: whether a graph break in the block raises.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

struct ErrorRegionValue : IteratorValue {
  explicit ErrorRegionValue(bool is_error) : is_error(is_error) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of error_on_graph_break"); }
  void enter(Tracer& tracer) { before = std::exchange(tracer.error_on_break, is_error); }
  void exit(Tracer& tracer) const { tracer.error_on_break = before; }

  bool is_error;
  std::optional<bool> before;
};

// Its __enter__, where a `with` calls that in a step of its own.
struct ErrorRegionEnter : IteratorValue {
  explicit ErrorRegionEnter(std::shared_ptr<ErrorRegionValue> state) : state(std::move(state)) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a method"); }
  std::shared_ptr<ErrorRegionValue> state;
};

// __exit__ of one that was entered. When CPython goes on inside the block it gets that of a real
// one.
struct ErrorRegionExit : IteratorValue {
  ErrorRegionExit(Interpreter& interpreter, std::shared_ptr<ErrorRegionValue> state)
      : interpreter(interpreter), state(std::move(state)) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a method"); }
  std::optional<CallShape> shape() const override;
  Interpreter& interpreter;
  std::shared_ptr<ErrorRegionValue> state;
};

// The end of a block that CPython has begun: CPython ends it.
Sym leave_error_region(Interpreter& interpreter, const CallArguments& arguments);
Sym make_error_region(Interpreter& interpreter, const CallArguments& arguments);

}  // namespace numlift::frame_eval
