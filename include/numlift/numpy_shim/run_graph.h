// The slow, obvious back end: runs a graph node by node with NumPy. It is the definition of what a
// program computes; backend="graph" and backend="eager" use it, and tracing, to learn present values.
#pragma once

#include "numlift/py/python.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "numlift/graph/graph.h"
#include "numlift/py/ref.h"

namespace numlift::numpy_shim {

// Answers an Extern node: call `call` (index into Graph::externs) on these operands. Throws PyError.
using ExternCallback = std::function<Ref(uint32_t call, std::span<const Ref> operands)>;

struct GraphInputs {
  std::vector<Ref> inputs;       // by input index: arrays (stores go into them) and scalars
  std::vector<int64_t> symbols;  // by SymbolId; kExternDim ones are filled during the run
  ExternCallback extern_call;    // empty: a graph with externs throws
};

// The values of `wanted`, after running (in graph order) just the nodes that they need; stores that
// none of them reads are left out. Arrays are ndarrays, NumPy scalars and Python scalars what their
// type says. Floating-point conditions in a node's fp_checks throw PyError (FloatingPointError is
// set), others are ignored; so do failed casts. Needs the GIL.
std::vector<Ref> run_graph(const Graph& graph, GraphInputs inputs, std::span<const NodeId> wanted);

}  // namespace numlift::numpy_shim
