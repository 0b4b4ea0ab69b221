// Places of views: strides and buffer axes composed through View, Reshape and PartView.
#include "schedule/place.h"

#include "numlift/support/check.h"

namespace numlift::codegen {

Place whole_buffer(BufferId id, const Buffer& buffer, NodeId version) {
  Place place{id, version, 0, buffer.strides, {}, false};
  for (size_t axis = 0; axis < buffer.dims.size(); ++axis) {
    place.buffer_axes.push_back(IndexMap::Axis{0, 1, static_cast<int>(axis)});
  }
  return place;
}

bool is_c_contiguous(const std::vector<SizeExpr>& dims, const std::vector<SizeExpr>& strides,
                     int64_t item_bytes) {
  SizeExpr expected = item_bytes;
  for (size_t i = dims.size(); i > 0; --i) {
    if (is_one(dims[i - 1])) continue;
    if (!(strides[i - 1] == expected)) return false;
    if (i > 1) expected = expected * dims[i - 1];
  }
  return true;
}

namespace {

Place through_map(const IndexMap& map, size_t rank, const Place& operand) {
  Place place = operand;
  place.strides.assign(rank, SizeExpr(0));
  for (size_t i = 0; i < map.axes.size(); ++i) {
    const IndexMap::Axis& axis = map.axes[i];
    place.offset = place.offset + axis.start * operand.strides[i];
    if (axis.axis < 0) continue;
    SizeExpr& stride = place.strides[static_cast<size_t>(axis.axis)];
    stride = stride + axis.step * operand.strides[i];
  }
  for (auto& buffer_axis : place.buffer_axes) {
    if (!buffer_axis || buffer_axis->axis < 0) continue;
    const IndexMap::Axis& axis = map.axes[static_cast<size_t>(buffer_axis->axis)];
    buffer_axis = IndexMap::Axis{buffer_axis->start + buffer_axis->step * axis.start,
                                 buffer_axis->step * axis.step, axis.axis};
  }
  return place;
}

// Strides of one group of reshaped axes; false when the operand's axes do not run on.
bool split_group(const ReshapeGroup& group, const std::vector<SizeExpr>& old_dims,
                 const std::vector<SizeExpr>& old_strides, const std::vector<SizeExpr>& new_dims,
                 std::vector<SizeExpr>* new_strides) {
  std::optional<size_t> inner;
  for (size_t i = group.old_end; i > group.old_begin; --i) {
    if (is_one(old_dims[i - 1])) continue;
    if (inner && !(old_strides[i - 1] == old_strides[*inner] * old_dims[*inner])) return false;
    inner = i - 1;
  }
  SizeExpr stride = 0;
  for (size_t i = group.old_end; i > group.old_begin && is_zero(stride); --i) {
    if (!is_one(old_dims[i - 1])) stride = old_strides[i - 1];
  }
  for (size_t i = group.new_end; i > group.new_begin; --i) {
    (*new_strides)[i - 1] = stride;
    stride = stride * new_dims[i - 1];
  }
  return true;
}

std::optional<Place> through_reshape(const Node& node, const std::vector<SizeExpr>& old_dims,
                                     int64_t item_bytes, const Place& operand) {
  const std::vector<SizeExpr>& new_dims = node.type.dims;
  Place place = operand;
  place.strides.assign(new_dims.size(), SizeExpr(0));
  const std::vector<ReshapeGroup> groups = match_reshape(old_dims, new_dims);
  if (is_c_contiguous(old_dims, operand.strides, item_bytes)) {
    place.strides = contiguous_strides(new_dims, {}, item_bytes);
  } else {
    for (const ReshapeGroup& group : groups) {
      if (!split_group(group, old_dims, operand.strides, new_dims, &place.strides)) {
        return std::nullopt;
      }
    }
  }
  // Axes that the reshape leaves as they are.
  std::vector<int> kept(old_dims.size(), -1);
  for (const ReshapeGroup& group : groups) {
    if (group.old_end - group.old_begin == 1 && group.new_end - group.new_begin == 1) {
      kept[group.old_begin] = static_cast<int>(group.new_begin);
    }
  }
  for (auto& axis : place.buffer_axes) {
    if (!axis || axis->axis < 0) continue;
    const size_t old_axis = static_cast<size_t>(axis->axis);
    if (kept[old_axis] >= 0) {
      axis->axis = kept[old_axis];
    } else if (is_one(old_dims[old_axis])) {
      axis->axis = -1;
    } else {
      axis = std::nullopt;
    }
  }
  return place;
}

}  // namespace

std::optional<Place> place_of_view(const Graph& graph, const Node& node, const Place& operand) {
  const Type& operand_type = graph.node(node.operands[0]).type;
  if (node.op == Op::kView) {
    return through_map(attr_of<ViewAttr>(node).map, node.type.dims.size(), operand);
  }
  if (node.op == Op::kReshape) {
    return through_reshape(node, operand_type.dims, item_size(operand_type.dtype), operand);
  }
  NUMLIFT_CHECK(node.op == Op::kPartView, "{} is no view", op_info(node.op).text);
  Place place = operand;
  place.partial_elements = true;
  if (attr_of<PartAttr>(node).imaginary) {
    place.offset = place.offset + item_size(node.type.dtype);
  }
  return place;
}

}  // namespace numlift::codegen
