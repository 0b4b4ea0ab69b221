// The slow reference back end: a graph evaluated node by node with NumPy. It is the definition of
// what the ops mean, what tells faults of tracing from faults of code generation (backend="graph",
// backend="eager"), and how the tracer learns present values.
#pragma once

#include "numlift/py/python.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "numlift/graph/graph.h"
#include "numlift/py/ref.h"

namespace numlift::numpy_shim {

// NumPy's function of which the node is one call, for elementwise nodes and reductions: np.add,
// np.where, np.add.reduce, np.float32 or np.astype. Null: there is none.
Ref numpy_function_of(const Graph& graph, const Node& node);

// The array that a node gave in the memory order that the node says: a copy where it has another.
Ref laid_out(Ref value, const Node& node);

class GraphRunner {
 public:
  // Calls extern `call` (index into Graph::externs) with its operands.
  using ExternCaller = std::function<Ref(uint32_t call, const std::vector<Ref>& operands)>;

  // `inputs` by input index (null for Python ints), `symbols` by SymbolId.
  GraphRunner(const Graph& graph, std::vector<Ref> inputs, std::vector<int64_t> symbols,
              ExternCaller call_extern);

  // Runs the program: with control flow, all nodes in order, each as often as its region says;
  // without, those that can fail. value() and result() then give what its end finds. Throws
  // PyError: whatever NumPy raises, and where the program restarts (FloatingPointError for a
  // condition among a node's fp_checks, others for a check that does not hold and an integer that
  // leaves int64).
  void run();

  // Computed on demand, kept. An ndarray for arrays, a NumPy scalar for scalars of either kind, the
  // object itself for objects. Stores work on copies: no input is ever changed. Throws PyError.
  Ref value(NodeId id);
  // As the caller of the program sees it: Python scalars for kPyScalar.
  Ref result(NodeId id);

  // Runs the externs that it depends on, if need be.
  int64_t size(const SizeExpr& expr);

  // Values computed by an earlier runner over a prefix of this graph, by node; and back.
  void adopt(std::vector<Ref> values) { values_ = std::move(values); }
  std::vector<Ref> release() { return std::move(values_); }

 private:
  Ref make_value(NodeId id);
  Ref compute(NodeId id);
  Ref elementwise(const Node& node);
  Ref reduction(const Node& node);
  Ref store(const Node& node);
  Ref view(const Node& node, BorrowedRef operand);
  Ref through_views(NodeId place, NodeId root, BorrowedRef buffer);
  std::vector<int64_t> sizes(const std::vector<SizeExpr>& exprs);
  // The item as its node promises it: its type, and the sizes that are known now. Raises otherwise.
  void take_extern_item(NodeId id, BorrowedRef item);

  void run_in_order();
  // Where the program goes on behind a node of control flow:
  uint32_t step(NodeId id);
  uint32_t next_iteration(NodeId loop);
  bool truth(const Node& node);
  void assign(const Node& node);
  std::vector<bool> stored_buffers() const;

  const Graph& graph_;
  std::vector<Ref> inputs_;
  std::vector<int64_t> symbols_;
  ExternCaller call_extern_;
  std::vector<Ref> values_;  // by node; null: not computed yet

  // Running in order, a buffer is one array, which stores change; every version has it as its
  // value.
  struct Iterations {
    int64_t now = 0;
    std::optional<int64_t> trips;
  };
  bool raises_conditions_ = false;
  bool in_order_ = false;
  std::vector<NodeId> ends_, elses_;    // by begin; kNoNode: none
  std::vector<Iterations> iterations_;  // by loop
  std::map<NodeId, Ref> resized_;       // by buffer: its array since its last resize()
};

}  // namespace numlift::numpy_shim
