// Places: where in memory the elements of a node lie, as strides over a buffer.
#pragma once

#include <optional>
#include <vector>

#include "numlift/codegen/program.h"
#include "schedule/affine.h"

namespace numlift::codegen {

struct Place {
  BufferId buffer{};
  NodeId version = kNoNode;       // of the buffer: its first node or a Store
  SizeExpr offset;                // bytes
  std::vector<SizeExpr> strides;  // bytes, by axis of the node
  // By axis of the buffer: which of its indices the node has, as in IndexMap. Not known after a
  // reshape that merges or splits the axis. Used to prove that two accesses do not meet.
  std::vector<std::optional<IndexMap::Axis>> buffer_axes;
  // Not the buffer's own elements one for one (a part of complex numbers).
  bool partial_elements = false;
};

// A buffer as a whole.
Place whole_buffer(BufferId id, const Buffer& buffer, NodeId version);
// The place of a View, Reshape or PartView node, given that of its operand. nullopt: a reshape
// whose elements have no constant strides.
std::optional<Place> place_of_view(const Graph& graph, const Node& node, const Place& operand);

bool is_c_contiguous(const std::vector<SizeExpr>& dims, const std::vector<SizeExpr>& strides,
                     int64_t item_bytes);

}  // namespace numlift::codegen
