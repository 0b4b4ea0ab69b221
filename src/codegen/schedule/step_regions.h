// The regions of a program's list of steps.
#pragma once

#include <vector>

#include "numlift/codegen/program.h"

namespace numlift::codegen {

struct OpenRegion {
  size_t begin = 0, end = 0;  // steps
  NodeId node = kNoNode;      // of its begin
  bool is_loop = false;
};

// The node of a begin; kNoNode for all other steps.
inline NodeId begun_by(const Step& step) {
  if (const auto* loop = std::get_if<LoopStep>(&step)) return loop->node;
  if (const auto* branch = std::get_if<IfStep>(&step)) return branch->node;
  if (const auto* block = std::get_if<BlockStep>(&step)) return block->node;
  return kNoNode;
}

// By step of a begin: of its end.
inline std::vector<size_t> find_ends(const std::vector<Step>& steps) {
  std::vector<size_t> ends(steps.size(), 0), open;
  for (size_t at = 0; at < steps.size(); ++at) {
    if (begun_by(steps[at]) != kNoNode) open.push_back(at);
    if (!std::holds_alternative<EndStep>(steps[at])) continue;
    ends[open.back()] = at;
    open.pop_back();
  }
  return ends;
}

// Calls visit(step, regions that are open there, outermost first); a begin and its end belong to
// the regions around them.
template <class Visit>
void walk_regions(const std::vector<Step>& steps, Visit visit) {
  const std::vector<size_t> ends = find_ends(steps);
  std::vector<OpenRegion> open;
  for (size_t at = 0; at < steps.size(); ++at) {
    if (std::holds_alternative<EndStep>(steps[at])) open.pop_back();
    visit(at, open);
    const NodeId node = begun_by(steps[at]);
    if (node == kNoNode) continue;
    open.push_back({at, ends[at], node, std::holds_alternative<LoopStep>(steps[at])});
  }
}

}  // namespace numlift::codegen
