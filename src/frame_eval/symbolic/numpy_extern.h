// Calls that NumPy answers inside the program.
#pragma once

#include "symbolic/numpy_handlers.h"

namespace numlift::frame_eval {

// As call_extern, for results whose sizes depend on the values of the arguments. It is a handler
// too: rows of functions.def name it.
Sym call_extern_unknown(Tracer& tracer, const NumpyArguments& arguments);

// Where an integer that only the run knows lies in an axis: a size of the program from there on.
SizeExpr place_of_index(Tracer& tracer, const Sym& index, const SizeExpr& length);

// array[key] = value by NumPy, for index arrays.
void set_item_by_numpy(Tracer& tracer, const Sym& array, const Sym& key, const Sym& value);

}  // namespace numlift::frame_eval
