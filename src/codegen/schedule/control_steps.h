// Steps of control flow, and what the whole program must know because of them.
#pragma once

#include "schedule/plan.h"

namespace numlift::codegen {

Step make_control_step(const Plan& plan, NodeId id);

// Whether a nest of a program with control flow is emitted into `program` itself; clears its
// parallel loops then.
bool make_inline(const Plan& plan, NodeId loop_around, int inline_loops, LoopNest* nest);

// Which loops ask the host whether to go on: those around other loops, and the outermost.
void mark_polls(Program* program);
// Fills Program::shared_symbols.
void find_shared_symbols(Program* program);

}  // namespace numlift::codegen
