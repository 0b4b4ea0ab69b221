// Conditions that only the run knows.
#pragma once

#include <functional>
#include <optional>

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// The truth of a run-time number, as a bool of the graph. nullopt: the value is no such number.
std::optional<NodeId> run_time_truth(Interpreter& interpreter, const Sym& value);
// The truth of the value; where only the run knows it, `branch` is given the condition. It returns
// false where there can be no branch: the Break that says so is thrown. nullopt: it has branched.
std::optional<bool> decide_or_branch(Interpreter& interpreter, const Sym& value,
                                     const std::function<bool(NodeId)>& branch);

// a where the condition holds, else b. Throws Break when they are no numbers of one kind.
Sym select_number(Tracer& tracer, NodeId condition, const Sym& a, const Sym& b);

}  // namespace numlift::frame_eval
