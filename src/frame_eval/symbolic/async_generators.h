// Asynchronous generators, and what `async for` and `async with` wait for.
#pragma once

#include "symbolic/generators.h"

namespace numlift::frame_eval {

Sym make_async_generator(Interpreter& interpreter, std::unique_ptr<Frame> frame);
// What such a generator's `yield value` gives on, to tell it from what an await in it gives on.
Sym wrap_yielded(const Sym& value);
// What the step has given, once it has ended; null: `value` is no step of one.
Sym async_step_result(const Sym& value);

// value.__aiter__(); what `await anext(value)` waits for.
Sym async_iterator(Interpreter& interpreter, const Sym& value);
Sym async_next(Interpreter& interpreter, const Sym& iterator);

}  // namespace numlift::frame_eval
