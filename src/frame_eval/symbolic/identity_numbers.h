// id(): a number that the trace knows nothing of but whose it is. CPython computes it when it is
// handed out.
#pragma once

#include "symbolic/builtins.h"

namespace numlift::frame_eval {

struct IdentityNumber : IteratorValue {
  explicit IdentityNumber(Sym owner) : owner(std::move(owner)) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of an int"); }
  std::optional<CallShape> shape() const override;
  Ref type() const override;
  Sym owner;
};

Sym identity_number(Interpreter& interpreter, const CallArguments& arguments);
// Whether two such numbers are equal; nullopt: they are not two.
std::optional<bool> same_identity_number(Interpreter& interpreter, const Sym& a, const Sym& b);

}  // namespace numlift::frame_eval
