// Running an entry's graph node by node with NumPy: backend="graph" and backend="eager".
#pragma once

#include "numlift/py/python.h"

#include <span>
#include <vector>

#include "numlift/frame_eval/trace.h"
#include "numlift/graph/graph.h"
#include "numlift/guards/guard_set.h"
#include "run_program.h"

namespace numlift::frame_eval {

// slots and symbols as GuardSet::check left them. As ProgramHost::run.
Outcome run_reference(const Graph& graph, const std::vector<InputSpec>& inputs,
                      const std::vector<RecipeNode>& recipe, const std::vector<uint32_t>& results,
                      const std::vector<ExternRecipe>& externs, const guards::GuardSet& guards,
                      uint8_t fp_checks, const guards::CallInputs& call, PyObject* const* slots,
                      std::span<const int64_t> symbols, PyObject** results_out);

}  // namespace numlift::frame_eval
