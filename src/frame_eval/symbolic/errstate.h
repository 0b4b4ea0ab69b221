// `with np.errstate(...)`: which floating-point conditions the program looks for.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

struct ErrstateValue : IteratorValue {
  Sym next(Tracer&) override { throw_break("would_raise", "next() of np.errstate"); }
  void enter(Tracer& tracer);
  void exit(Tracer& tracer);

  // By condition: what it sets; nullopt: left as it is.
  std::optional<bool> divide, over, invalid;
  uint8_t before = 0;
  bool entered = false;
};

// __exit__ of one that was entered: called when the block ends.
struct ErrstateExit : IteratorValue {
  explicit ErrstateExit(std::shared_ptr<ErrstateValue> state) : state(std::move(state)) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a method"); }
  std::shared_ptr<ErrstateValue> state;
};

// Its __enter__, where a `with` calls that in a step of its own.
struct ErrstateEnter : IteratorValue {
  explicit ErrstateEnter(std::shared_ptr<ErrstateValue> state) : state(std::move(state)) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a method"); }
  std::shared_ptr<ErrstateValue> state;
};

Sym make_errstate(Interpreter& interpreter, const CallArguments& arguments);

}  // namespace numlift::frame_eval
