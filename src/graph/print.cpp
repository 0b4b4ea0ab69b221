// Writes graphs as text; the grammar is the one that parse.cpp reads.
#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "numlift/graph/scalar.h"
#include "numlift/graph/text.h"
#include "text_words.h"

namespace numlift {
namespace {

std::string node_name(NodeId id) { return fmt::format("%{}", index_of(id)); }

std::string node_list(const std::vector<NodeId>& ids) {
  std::string text;
  for (NodeId id : ids) text += (text.empty() ? "" : ", ") + node_name(id);
  return text;
}

std::string size_list(const std::vector<SizeExpr>& sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i) text += (i == 0 ? "" : ", ") + sizes[i].text();
  return "[" + text + "]";
}

std::string map_text(const IndexMap& map) {
  std::string text;
  for (size_t i = 0; i < map.axes.size(); ++i) {
    const IndexMap::Axis& axis = map.axes[i];
    if (i != 0) text += ", ";
    text += axis.start.text();
    if (axis.axis >= 0) text += fmt::format(":{}@{}", axis.step.text(), axis.axis);
  }
  return "[" + text + "]";
}

std::string attr_text(const Attr& attr) {
  return std::visit(
      [](const auto& a) -> std::string {
        using A = std::decay_t<decltype(a)>;
        if constexpr (std::is_same_v<A, NoAttr>) {
          return "";
        } else if constexpr (std::is_same_v<A, PlaceholderAttr>) {
          return fmt::format("input={}, strides={}", a.input, size_list(a.strides));
        } else if constexpr (std::is_same_v<A, ConstantAttr>) {
          return "value=" + scalar_text(a.value);
        } else if constexpr (std::is_same_v<A, SizeAttr>) {
          return "value=" + a.value.text();
        } else if constexpr (std::is_same_v<A, IotaAttr>) {
          return fmt::format("axis={}", a.axis);
        } else if constexpr (std::is_same_v<A, ViewAttr>) {
          return "map=" + map_text(a.map);
        } else if constexpr (std::is_same_v<A, PartAttr>) {
          return a.imaginary ? "part=imag" : "part=real";
        } else if constexpr (std::is_same_v<A, ReduceAttr>) {
          return fmt::format("axes=[{}]", fmt::join(a.axes, ", "));
        } else if constexpr (std::is_same_v<A, LoopAttr>) {
          return fmt::format("loop={}", a.loop);
        } else if constexpr (std::is_same_v<A, ExternAttr>) {
          return fmt::format("call={}", a.call);
        } else if constexpr (std::is_same_v<A, RegionAttr>) {
          const std::string counter = fmt::format("counter=s{}", static_cast<size_t>(a.counter));
          return a.trips ? counter + ", trips=" + a.trips->text() : counter;
        } else if constexpr (std::is_same_v<A, AssignAttr>) {
          std::string text;
          for (SymbolId id : a.symbols)
            text += fmt::format("{}s{}", text.empty() ? "" : ", ", static_cast<size_t>(id));
          return "symbols=[" + text + "]";
        } else {
          static_assert(std::is_same_v<A, ExternItemAttr>);
          const std::string path = fmt::format("path=[{}]", fmt::join(a.path, ", "));
          return a.strides.empty() ? path : path + ", strides=" + size_list(a.strides);
        }
      },
      attr);
}

std::string node_text(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string text = fmt::format("{}: {} = {}({})", node_name(id), type_text(node.type),
                                 op_info(node.op).text, node_list(node.operands));
  std::vector<std::string> attrs;
  if (std::string attr = attr_text(node.attr); !attr.empty()) attrs.push_back(std::move(attr));
  if (!node.order.empty()) attrs.push_back(fmt::format("order=[{}]", fmt::join(node.order, ", ")));
  if (node.fp_checks != 0) attrs.push_back(fmt::format("fp={}", node.fp_checks));
  if (!attrs.empty()) text += fmt::format(" {{{}}}", fmt::join(attrs, ", "));
  if (node.location != 0 && node.location < graph.locations.size()) {
    const SourceLocation& location = graph.locations[node.location];
    text += fmt::format("   # {}:{} in {}", escape(location.file), location.line,
                        escape(location.function));
  }
  return text;
}

std::string symbol_text(const Symbol& symbol) {
  std::string text(symbol_word(symbol.kind));
  switch (symbol.kind) {
    case SymbolKind::kDim:
    case SymbolKind::kStride:
      text += fmt::format("({}, {})", symbol.input, symbol.axis);
      break;
    case SymbolKind::kInt:
      text += fmt::format("({})", symbol.input);
      break;
    case SymbolKind::kExternDim:
      // Its item may have been dropped as dead.
      text += symbol.input == index_of(kNoNode)
                  ? fmt::format("(none, {})", symbol.axis)
                  : fmt::format("(%{}, {})", symbol.input, symbol.axis);
      break;
    case SymbolKind::kRun:
      break;
  }
  return text + fmt::format(" ~{}", symbol.hint);
}

uint32_t input_count(const Graph& graph) {
  uint32_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (const auto* attr = std::get_if<PlaceholderAttr>(&node.attr)) {
      count = std::max(count, attr->input + 1);
    }
  }
  for (const Symbol& symbol : graph.symbols) {
    const bool of_input = symbol.kind != SymbolKind::kExternDim && symbol.kind != SymbolKind::kRun;
    if (of_input) count = std::max(count, symbol.input + 1);
  }
  return count;
}

// " (0, 1), (1, 2?) -> (0, 2?)"
std::string core_text(const std::vector<std::vector<CoreAxis>>& core) {
  std::string text;
  for (size_t argument = 0; argument < core.size(); ++argument) {
    text += argument == 0 ? " (" : argument + 1 == core.size() ? " -> (" : ", (";
    for (size_t i = 0; i < core[argument].size(); ++i) {
      const CoreAxis& axis = core[argument][i];
      text += fmt::format("{}{}{}", i == 0 ? "" : ", ", axis.number, axis.is_absent ? "?" : "");
    }
    text += ")";
  }
  return text;
}

}  // namespace

std::string graph_text(const Graph& graph) {
  std::string text = fmt::format("graph {}({} inputs)\n", escape(graph.name), input_count(graph));
  if (!graph.symbols.empty()) {
    text += "symbols: ";
    for (size_t i = 0; i < graph.symbols.size(); ++i) {
      text += fmt::format("{}s{} = {}", i == 0 ? "" : ", ", i, symbol_text(graph.symbols[i]));
    }
    text += "\n";
  }
  for (const NumpyLoopInfo& loop : graph.loops) {
    text += fmt::format("loop: \"{}\"{}\n", escape(loop.name), core_text(loop.core));
  }
  for (const ExternInfo& info : graph.externs) {
    text += fmt::format("extern: \"{}\"{}{}\n", escape(info.name), info.pure ? " pure" : "",
                        info.may_raise ? " may_raise" : "");
  }
  for (const SizeGuard& guard : graph.size_guards) {
    text += fmt::format("guard: {} {} {} \"{}\"\n", guard.left.text(),
                        relation_word(guard.relation), guard.right.text(), escape(guard.reason));
  }
  for (size_t i = 0; i < graph.size(); ++i) {
    text += node_text(graph, NodeId{static_cast<uint32_t>(i)}) + "\n";
  }
  text += "return";
  if (!graph.outputs.empty()) text += " " + node_list(graph.outputs);
  text += "\n";
  if (!graph.mutated_inputs.empty()) text += "mutates " + node_list(graph.mutated_inputs) + "\n";
  return text;
}

std::string graph_table(const Graph& graph) {
  struct Row {
    std::string op, target, operands, type, place;
  };
  std::vector<Row> rows{{"op", "name", "operands", "type", "line"}};
  for (size_t i = 0; i < graph.size(); ++i) {
    const NodeId id{static_cast<uint32_t>(i)};
    const Node& node = graph.node(id);
    std::string place;
    if (node.location != 0 && node.location < graph.locations.size()) {
      const SourceLocation& location = graph.locations[node.location];
      place = fmt::format("{}:{}", escape(location.file), location.line);
    }
    rows.push_back({std::string(op_info(node.op).text), node_name(id), node_list(node.operands),
                    type_text(node.type), std::move(place)});
  }
  rows.push_back({"output", "", node_list(graph.outputs), "", ""});
  size_t op = 0, target = 0, operands = 0, type = 0;
  for (const Row& row : rows) {
    op = std::max(op, row.op.size());
    target = std::max(target, row.target.size());
    operands = std::max(operands, row.operands.size());
    type = std::max(type, row.type.size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:<{}}  {:<{}}  {:<{}}  {:<{}}  {}", row.op, op, row.target,
                                   target, row.operands, operands, row.type, type, row.place);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace numlift
