// Running an entry's graph by what a user's backend made of it.
#pragma once

#include "numlift/py/python.h"

#include <span>
#include <vector>

#include "numlift/frame_eval/backend.h"
#include "numlift/guards/guard_set.h"
#include "run_program.h"

namespace numlift::frame_eval {

// slots and symbols as GuardSet::check left them. As ProgramHost::run, but the callable's own
// exceptions are the user's to see (kError). A floating-point condition that NumPy would report is
// no answer of the callable: kRestart.
Outcome run_backend(const BackendProgram& program, const Graph& graph,
                    const std::vector<InputSpec>& inputs, const std::vector<RecipeNode>& recipe,
                    const std::vector<uint32_t>& results, const guards::GuardSet& guards,
                    uint8_t fp_checks, const guards::CallInputs& call, PyObject* const* slots,
                    std::span<const int64_t> symbols, PyObject** results_out);

}  // namespace numlift::frame_eval
