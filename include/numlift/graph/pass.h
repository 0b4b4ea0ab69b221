// Graph passes. Each keeps the meaning of the graph exactly (values bit for bit, warnings,
// effects).
#pragma once

#include "numlift/graph/graph.h"

namespace numlift {

// Evaluates pure elementwise nodes of constants (never one that would raise a floating-point
// condition), drops casts to the same dtype, views that are the identity and checks of conditions
// that cannot occur (overflow of an integer array).
void fold_constants(Graph* graph);
// Merges nodes with the same op, operands, attributes and type. Effects and fresh memory that is
// visible (outputs, store targets) are not merged.
void eliminate_common_subexpressions(Graph* graph);
// Drops what neither an output nor a mutated input nor an effect needs. A node with fp_checks stays
// (NumPy would warn or raise); so does an extern that may raise.
void eliminate_dead_code(Graph* graph);
// fold, CSE, DCE in order, verifying after each when verify_enabled().
void run_default_passes(Graph* graph);

}  // namespace numlift
