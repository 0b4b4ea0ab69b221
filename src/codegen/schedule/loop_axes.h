// Captured loops that are axes: what such a loop does, all its tasks do for one more axis, so that
// its iterations are fused, ordered by strides, vectorised and run in parallel like any others.
#pragma once

#include <vector>

#include "schedule/task.h"

namespace numlift::codegen {

// Gives the tasks of such loops their axis, and the numbers that live for one iteration an element
// for each. The loop itself stays in the program, to run once where it has iterations at all
// (Plan::runs_once): nothing is loaded or tested for a loop that does not run.
//
// A loop over statements on arrays, without branches or calls, is an axis
//  - when no iteration touches what another one writes; or
//  - when the elements along one axis of all its statements never meet, whatever the iteration, and
//    memory lies the other way: then that axis becomes the outer loop, and the iterations run in
//    their order inside it (Task::in_order). So a recurrence along the rows of a C-ordered array,
//    written for all rows at once, walks along them.
void make_axes_of_loops(Plan* plan, std::vector<Task>* tasks);

}  // namespace numlift::codegen
