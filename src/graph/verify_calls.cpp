#include "verify_calls.h"

#include <fmt/format.h>

namespace numlift {
namespace {

bool has_value(const Type& type) {
  return type.value_kind != ValueKind::kObject && type.value_kind != ValueKind::kEffect;
}

int batch_axes(const Type& type, const std::vector<CoreAxis>& core) {
  return type.rank() - present_axes(core);
}

}  // namespace

std::string check_gather(const Graph& graph, const Node& node) {
  if (node.operands.empty()) return "it has no source";
  const Type& source = graph.node(node.operands[0]).type;
  if (source.rank() == 0) return "its source has no axes";
  if (node.operands.size() != source.dims.size() + 1) return "not one index an axis of its source";
  if (node.type.value_kind != ValueKind::kArray) return "it is no array";
  for (size_t i = 1; i < node.operands.size(); ++i) {
    const Type& index = graph.node(node.operands[i]).type;
    if (!has_value(index) || index.dtype != DType::kInt64)
      return fmt::format("index {} is no int64", i - 1);
    if (index.rank() != 0 && index.dims != node.type.dims)
      return fmt::format("index {} is neither of rank 0 nor of the result's dims", i - 1);
  }
  return node.type.dtype == source.dtype ? "" : "its dtype is not its source's";
}

std::string check_gufunc(const Graph& graph, const Node& node) {
  const uint32_t loop = attr_of<LoopAttr>(node).loop;
  if (loop >= graph.loops.size()) return "no such loop";
  const auto& core = graph.loops[loop].core;
  if (core.size() != node.operands.size() + 1) return "its loop has other operands";
  const int batch = batch_axes(node.type, core.back());
  if (!has_value(node.type) || batch < 0 || batch > 1) return "its rank is not the loop's";
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const int axes = batch_axes(graph.node(node.operands[i]).type, core[i]);
    if (axes < 0 || axes > batch) return fmt::format("operand {} has another rank", i);
  }
  return "";
}

}  // namespace numlift
