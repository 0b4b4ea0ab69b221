// TypeVar and its kin, made by the code of PEP 695: nothing is done with one but handing it on.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

struct TypeParameterValue : IteratorValue {
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a type parameter"); }
};

}  // namespace numlift::frame_eval
