// Calls an extern by its recipe: at run time by the program's host, while tracing by the tracer.
#pragma once

#include "numlift/py/python.h"

#include <vector>

#include "numlift/frame_eval/trace.h"

namespace numlift::frame_eval {

// Operands by position. A new reference, or null with the error set. `generator`: what stands for
// ExternRecipe::generator.
PyObject* call_extern(const ExternRecipe& recipe, const std::vector<Ref>& operands,
                      BorrowedRef generator = {});
// The random generator of this call; null: it draws from none.
Ref generator_of(const ExternRecipe& recipe, const guards::CallInputs& call);
// Is the result put together as it was in the trial call (ExternRecipe::result_parts)?
bool has_traced_structure(const ExternRecipe& recipe, BorrowedRef result);

}  // namespace numlift::frame_eval
