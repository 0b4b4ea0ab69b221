// GraphRunner over a graph with regions: node by node in order, regions as jumps.
#include <algorithm>

#include "copy_in_place.h"
#include "numlift/numpy_shim/run_graph.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift::numpy_shim {
namespace {

// NumPy may answer with memory of the operand, or with memory that cannot be written.
bool may_share_memory(const Node& node) {
  return node.op == Op::kReal || node.op == Op::kImag || node.op == Op::kIota;
}

uint32_t behind(NodeId id) { return index_of(id) + 1; }

}  // namespace

void GraphRunner::run() {
  raises_conditions_ = true;
  const bool has_control =
      std::any_of(graph_.nodes().begin(), graph_.nodes().end(),
                  [](const Node& node) { return op_info(node.op).op_class == OpClass::kControl; });
  if (has_control) return run_in_order();
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    const Node& node = graph_.node(NodeId{i});
    if (node.fp_checks != 0 || node.op == Op::kExtern) (void)value(NodeId{i});
  }
}

void GraphRunner::run_in_order() {
  in_order_ = true;
  values_.assign(graph_.size(), Ref());
  ends_ = region_ends(graph_);
  elses_.assign(graph_.size(), kNoNode);
  iterations_.assign(graph_.size(), {});
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    const Node& node = graph_.node(NodeId{i});
    if (node.op == Op::kElse) elses_[index_of(node.operands[0])] = NodeId{i};
  }
  const std::vector<bool> is_stored = stored_buffers();
  uint32_t at = 0;
  while (at < graph_.size()) {
    const Node& node = graph_.node(NodeId{at});
    if (op_info(node.op).op_class == OpClass::kControl) {
      at = step(NodeId{at});
      continue;
    }
    Ref made = make_value(NodeId{at});
    // The caller's arrays are never changed, and no value changes with a buffer.
    if (node.type.value_kind == ValueKind::kArray && (is_stored[at] || may_share_memory(node)))
      made = copy_in_place(as_array(made));
    values_[at] = std::move(made);
    ++at;
  }
}

std::vector<bool> GraphRunner::stored_buffers() const {
  std::vector<bool> is_stored(graph_.size(), false);
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    if (graph_.node(NodeId{i}).op == Op::kStore)
      is_stored[index_of(graph_.buffer_of(NodeId{i}))] = true;
  }
  return is_stored;
}

uint32_t GraphRunner::step(NodeId id) {
  const Node& node = graph_.node(id);
  switch (node.op) {
    case Op::kLoop: {
      const auto& trips = attr_of<RegionAttr>(node).trips;
      iterations_[index_of(id)] = {-1, trips ? std::optional(size(*trips)) : std::nullopt};
      return next_iteration(id);
    }
    case Op::kBlock:
      return behind(id);
    case Op::kIf: {
      if (truth(node)) return behind(id);
      const NodeId other = elses_[index_of(id)];
      return behind(other == kNoNode ? ends_[index_of(id)] : other);
    }
    case Op::kElse:  // behind the arm that has run
      return behind(ends_[index_of(id)]);
    case Op::kEnd:
      return graph_.node(node.operands[0]).op == Op::kLoop ? next_iteration(node.operands[0])
                                                           : behind(id);
    case Op::kBreak:
      return behind(ends_[index_of(node.operands[0])]);
    case Op::kContinue:
      return next_iteration(node.operands[0]);
    case Op::kAssign:
      assign(node);
      return behind(id);
    case Op::kCheck:
      if (truth(node)) return behind(id);
      PyErr_SetString(PyExc_RuntimeError, "a check of the program does not hold");
      throw PyError();
    default:
      NUMLIFT_UNREACHABLE();
  }
}

uint32_t GraphRunner::next_iteration(NodeId loop) {
  check_status(PyErr_CheckSignals());
  Iterations& iterations = iterations_[index_of(loop)];
  ++iterations.now;
  if (iterations.trips && iterations.now >= *iterations.trips) return behind(ends_[index_of(loop)]);
  const SymbolId counter = attr_of<RegionAttr>(graph_.node(loop)).counter;
  symbols_[static_cast<size_t>(counter)] = iterations.now;
  return behind(loop);
}

bool GraphRunner::truth(const Node& node) {
  const int truth = PyObject_IsTrue(value(node.operands[0]).get());
  check_status(truth < 0 ? -1 : 0);
  return truth == 1;
}

void GraphRunner::assign(const Node& node) {
  std::vector<int64_t> values;
  for (NodeId operand : node.operands) {
    const Ref number = checked(PyNumber_Index(value(operand).get()));
    values.push_back(PyLong_AsLongLong(number.get()));
    check_status(PyErr_Occurred() != nullptr ? -1 : 0);
  }
  const auto& symbols = attr_of<AssignAttr>(node).symbols;
  for (size_t i = 0; i < symbols.size(); ++i) symbols_[static_cast<size_t>(symbols[i])] = values[i];
}

}  // namespace numlift::numpy_shim
