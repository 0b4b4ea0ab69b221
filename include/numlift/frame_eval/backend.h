// Backends that the user wrote: nl.compile(f, backend=callable).
//
// The callable gets the graph of each compiled piece as a Python object, with example inputs, once;
// what it returns is called in place of the piece. Making the Python graph is the business of the
// bindings, which say how here.
#pragma once

#include "numlift/py/python.h"

#include <cstdint>
#include <span>
#include <vector>

#include "numlift/frame_eval/trace.h"
#include "numlift/graph/graph.h"
#include "numlift/py/ref.h"

namespace numlift::frame_eval {

// What a user's backend made of one graph.
struct BackendProgram {
  Ref callable;                   // null: the backend was not asked yet
  std::vector<uint32_t> inputs;   // its first arguments: these inputs of the program, in order
  std::vector<SymbolId> symbols;  // … and then these sizes
};

// Asks `backend` for the program of `graph`. inputs: the objects of the present call, by input;
// symbols: its sizes. Throws PyError with whatever the backend raises.
using BackendMaker = BackendProgram (*)(BorrowedRef backend, const Graph& graph,
                                        const std::vector<InputSpec>& specs,
                                        const std::vector<ExternRecipe>& externs,
                                        const std::vector<Ref>& inputs,
                                        std::span<const int64_t> symbols);
// Called once, when the module is imported.
void set_backend_maker(BackendMaker maker);
BackendMaker backend_maker();

// The arguments and keyword arguments of an extern call as a tuple and a dict, operands put in
// (they may be any objects).
Ref extern_arguments(const ExternRecipe& recipe, const std::vector<Ref>& operands);

}  // namespace numlift::frame_eval
