// Iterators over arrays, and how iterators are made again for CPython.
#pragma once

#include "symbolic/value.h"

namespace numlift::frame_eval {

std::shared_ptr<IteratorValue> make_array_iterator(const Sym& array);
std::shared_ptr<IteratorValue> make_reversed_array_iterator(const Sym& array);

// The iterator of `iterable` behind its first `position` items.
CallShape iterator_shape(Sym iterable, size_t position, const char* maker = "iter");
// The iterators of lists, tuples, ranges and strings know their place by its number.
CallShape placed_shape(Sym iterable, int64_t place, const char* maker = "iter");

}  // namespace numlift::frame_eval
