// ValueRef of a graph value: the object that owns the memory, a view of it, or a scalar.
#include "schedule/outputs.h"

#include "numlift/support/check.h"

namespace numlift::codegen {
namespace {

ValueRef scalar_ref(const Plan& plan, NodeId id) {
  const Node& node = plan.graph.node(id);
  ValueRef result;
  result.node = id;
  result.dtype = node.type.dtype;
  if (node.op == Op::kSizeValue) {
    result.kind = ValueRef::Kind::kSize;
    result.size = attr_of<SizeAttr>(node).value;
  } else if (node.op == Op::kPlaceholder) {
    result.kind = ValueRef::Kind::kInputObject;
    result.input = attr_of<PlaceholderAttr>(node).input;
  } else {
    NUMLIFT_CHECK(plan.of(id).place, "%{} has no memory", index_of(id));
    result.kind = node.type.value_kind == ValueKind::kPyScalar ? ValueRef::Kind::kPyScalar
                                                               : ValueRef::Kind::kNumpyScalar;
    result.buffer = plan.of(id).place->buffer;
  }
  return result;
}

ValueRef array_ref(const Plan& plan, NodeId id) {
  const Node& node = plan.graph.node(id);
  const NodeId root = plan.root_of(id);
  const Place place = memory_place(plan, id);
  const Buffer& buffer = plan.buffers[static_cast<size_t>(place.buffer)];
  ValueRef result;
  result.node = id;
  result.dtype = node.type.dtype;
  result.buffer = place.buffer;
  if (is_view(node.op)) {
    result.kind = ValueRef::Kind::kView;
    result.offset = place.offset;
    result.dims = node.type.dims;
    result.strides = place.strides;
  } else if (buffer.kind == Buffer::Kind::kInput) {
    result.kind = ValueRef::Kind::kInputObject;
    result.input = buffer.input;
  } else {
    NUMLIFT_CHECK(buffer.kind == Buffer::Kind::kArray || buffer.kind == Buffer::Kind::kExtern,
                  "%{} is returned but its memory is not seen by Python", index_of(root));
    result.kind = ValueRef::Kind::kBufferArray;
  }
  return result;
}

}  // namespace

ValueRef value_ref(const Plan& plan, NodeId id) {
  switch (plan.graph.node(id).type.value_kind) {
    case ValueKind::kArray:
      return array_ref(plan, id);
    case ValueKind::kNumpyScalar:
    case ValueKind::kPyScalar:
      return scalar_ref(plan, id);
    case ValueKind::kObject: {
      ValueRef result;
      result.kind = ValueRef::Kind::kObject;
      result.node = id;
      return result;
    }
    case ValueKind::kEffect:
      break;
  }
  NUMLIFT_CHECK(false, "%{} has no value", index_of(id));
}

}  // namespace numlift::codegen
