// Derivatives and batching, on the nodes of a graph that is being built: each transform looks at
// what was computed from some nodes and appends ordinary nodes. So transforms nest in any order,
// and the passes clean up behind them.
//
// The rules are named in the op table (its columns gradient and batching). Conventions:
//  - What a transform gets as inputs are nodes of their own (casts to their own dtype): whatever
//    else the function reads is constant.
//  - Complex numbers: the cotangent w of a value z pairs with its change dz as Re(w * dz), without
//    conjugation. The gradient of a real function of z = x + iy is df/dx - i df/dy.
//  - Where a derivative does not exist: 0 for absolute and hypot at 0; equal maxima and minima
//    share the cotangent in equal parts; piecewise constant functions have derivative 0.
//  - Nodes that a transform appends report no floating-point conditions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "numlift/graph/graph.h"
#include "numlift/support/result.h"

namespace numlift {

// Why there is no such transform; `node`: the one that has no rule.
struct TransformRefusal {
  std::string reason;
  NodeId node = kNoNode;
};

// Rules of calls out: the host knows what is called. They append to the same graph, and throw
// TransformRefusal for what they do not know.
class ExternRules {
 public:
  virtual ~ExternRules() = default;
  // By operand of `call`: its cotangent, of the operand's dtype and dims, or kNoNode. `items`: the
  // ExternItems of `call` that have the `cotangents`; `wanted`: by operand.
  virtual std::vector<NodeId> pull_back(NodeId call, std::span<const NodeId> items,
                                        std::span<const NodeId> cotangents,
                                        const std::vector<bool>& wanted) = 0;
  // The same items for `size` calls at once: each gets the batch as axis 0. Operands that are
  // batched have it there, too.
  virtual std::vector<NodeId> batch(NodeId call, std::span<const NodeId> items,
                                    std::span<const NodeId> operands,
                                    const std::vector<bool>& is_batched, const SizeExpr& size) = 0;
  // The call with other operands.
  virtual std::vector<NodeId> repeat(NodeId call, std::span<const NodeId> items,
                                     std::span<const NodeId> operands) = 0;
  // `call` and its items are read by nobody any more.
  virtual void drop(NodeId call) = 0;
};

using NodesOrRefusal = Result<std::vector<NodeId>, TransformRefusal>;

// By input: the cotangent that the cotangents of the outputs amount to; kNoNode where the outputs
// do not depend on it. A cotangent has the dtype and dims of its node. Every input is a cast that
// nothing before it depends on.
NodesOrRefusal pull_back(Graph* graph, std::span<const NodeId> inputs,
                         std::span<const NodeId> outputs, std::span<const NodeId> cotangents,
                         ExternRules& externs);

// By output: how it changes when the inputs change by the tangents.
NodesOrRefusal push_forward(Graph* graph, std::span<const NodeId> inputs,
                            std::span<const NodeId> tangents, std::span<const NodeId> outputs,
                            ExternRules& externs);

// The outputs for `size` values of the inputs at once: `batched` are these values, with the batch
// as axis 0; so have the results. The nodes of one example are not needed any more.
NodesOrRefusal batch(Graph* graph, std::span<const NodeId> inputs, std::span<const NodeId> batched,
                     const SizeExpr& size, std::span<const NodeId> outputs, ExternRules& externs);

// What the op table says, for people and for tests.
struct RuleNames {
  std::string_view gradient, batching;
};
RuleNames rule_names(Op op);
// "" when the rule covers the op, else why it has none.
std::string_view gradient_refusal(Op op);
std::string_view batching_refusal(Op op);

}  // namespace numlift
