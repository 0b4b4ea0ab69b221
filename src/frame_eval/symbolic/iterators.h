// Iterators made while tracing. Each gives its items one by one, as lazily as Python's own.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// iter(value). Throws Break for what cannot be iterated now.
std::shared_ptr<IteratorValue> make_iterator(Interpreter& interpreter, const Sym& value);

// iter(range(*bounds)), of ints that may be known only when the program runs.
std::shared_ptr<IteratorValue> make_range_iterator(Interpreter& interpreter,
                                                   std::vector<Sym> bounds);

// Builtins that give iterators.
Sym make_enumerate(Interpreter& interpreter, const Sym& values, int64_t start);
Sym make_zip(Interpreter& interpreter, const std::vector<Sym>& iterables, bool strict);
Sym make_map(Interpreter& interpreter, const Sym& function, const std::vector<Sym>& iterables);
Sym make_filter(Interpreter& interpreter, const Sym& function, const Sym& values);
Sym make_reversed(Interpreter& interpreter, const Sym& values);
// A generator of Python code: its frame runs on at each next().
Sym make_generator(Interpreter& interpreter, std::unique_ptr<Frame> frame);

// What a generator that is exhausted has returned; None for other iterators.
Sym generator_result(Interpreter& interpreter, const Sym& iterator);

// The iterator that the base of a class derived from list or dict gives, or its reversed().
std::shared_ptr<IteratorValue> make_container_iterator(Interpreter& interpreter,
                                                       const Sym& instance, bool backward);

}  // namespace numlift::frame_eval
