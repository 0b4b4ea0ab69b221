// Graphs with regions as a tracer writes them down; settle_regions() gives them their form.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "numlift/graph/builder.h"
#include "numlift/graph/regions.h"
#include "numlift/graph/text.h"

namespace numlift::testing {

class LooseGraph : public GraphBuilder {
 public:
  LooseGraph() : GraphBuilder("f") {}

  NodeId loop(std::optional<SizeExpr> trips) {
    const SizeExpr counter = symbol(SymbolKind::kRun, 0, 0, 0);
    return control(Op::kLoop, {}, RegionAttr{*counter.as_symbol(), std::move(trips)});
  }
  SizeExpr counter(NodeId loop) {
    return SizeExpr::symbol(attr_of<RegionAttr>(graph().node(loop)).counter);
  }
  NodeId begin_if(NodeId condition) { return control(Op::kIf, {condition}); }
  NodeId begin_else(NodeId branch) { return control(Op::kElse, {branch}); }
  NodeId block() { return control(Op::kBlock, {}); }
  NodeId end(NodeId begin) { return control(Op::kEnd, {begin}); }
  // kBreak or kContinue.
  NodeId leave(Op op, NodeId begin) { return control(op, {begin}); }
  NodeId check(NodeId condition) { return control(Op::kCheck, {condition}); }
  NodeId assign(std::vector<SizeExpr> symbols, std::vector<NodeId> values) {
    AssignAttr attr;
    for (const SizeExpr& symbol : symbols) attr.symbols.push_back(*symbol.as_symbol());
    return control(Op::kAssign, std::move(values), std::move(attr));
  }
  void move(NodeId node, NodeId before) { moved_.push_back({node, before}); }

  // The graph in its final form, which verifies.
  Graph settle() {
    Graph graph = finish();
    settle_regions(&graph, moved_);
    EXPECT_EQ(verify(graph), "") << graph_text(graph);
    return graph;
  }
  // The text of its nodes.
  std::string settled() {
    const std::string text = graph_text(settle());
    return text.substr(text.find("%0: "));
  }

 private:
  NodeId control(Op op, std::vector<NodeId> operands, Attr attr = NoAttr{}) {
    Node node;
    node.op = op;
    node.operands = std::move(operands);
    node.attr = std::move(attr);
    node.type = Type{ValueKind::kEffect, DType::kFloat64, {}};
    return graph().append(std::move(node));
  }

  std::vector<MovedNode> moved_;
};

}  // namespace numlift::testing
