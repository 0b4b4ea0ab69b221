// What kept operations out of one loop, in terms of the user's lines: the channel perf_hints.
#pragma once

#include <string>
#include <vector>

#include "schedule/task.h"

namespace numlift::codegen {

// One step of the program as fusion left it.
struct FusedStep {
  std::vector<TaskId> tasks;  // of a nest, an extern call or a NumPy loop
  NodeId control = kNoNode;   // or the node of control flow
};

// Lines of text, each for one place, in program order:
//  - a store in place (or out=) whose elements other iterations of a neighbouring nest touch;
//  - a value that gets memory only because a store changes what it is made of before it is used;
//  - an extern call between two nests, and what to write instead where something is known;
//  - a loop of the user's with several nests in it.
std::vector<std::string> fusion_hints(const Plan& plan, const std::vector<Task>& tasks,
                                      const std::vector<FusedStep>& steps);

}  // namespace numlift::codegen
