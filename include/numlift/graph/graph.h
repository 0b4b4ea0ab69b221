// The FX-like graph: nodes in order, each with op, operands, attributes, type, source line.
//
// Invariants (verify.h checks them):
//  - operands stand before their user; the graph owns its nodes, others hold NodeIds;
//  - elementwise operands have exactly the result's dims, or rank 0 (broadcasting is an explicit
//    View); their dtype is the op's loop dtype (casts are explicit);
//  - memory is in SSA form: a buffer is born at a Placeholder (array), Empty, Copy, Extern item or
//    at any computed node whose memory is looked at (an output, a store's target); each Store gives
//    the next version, and a read names the version it reads. Only the newest version that exists
//    at that point of the order may be read or stored to;
//  - a node that checks nothing and has no effect may be moved, merged or dropped.
//
// Regions: control flow is structured and lies in the list of nodes itself. loop, block and if
// begin a region, end closes it, else parts the two arms of an if; regions nest.
//  - A node inside a region may be used up to the end of that region (of an arm: of that arm) only.
//    What is to be seen outside goes through memory: state that lives across iterations or paths is
//    a buffer (of rank 0 for scalars) that is born before the region and stored to inside.
//  - Integers that sizes and indices are made of can be symbols instead (SymbolKind::kRun): loop
//    counters, and what assign() sets. A symbol keeps its value while anything made with it is
//    used.
//  - Where paths meet (the begin and the end of a loop, else, the end of an if or block), each
//    buffer that was stored to on one of the paths gets a merge() before it is read or stored to.
#pragma once

#include <array>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "numlift/graph/op.h"
#include "numlift/graph/size_expr.h"
#include "numlift/graph/type.h"

namespace numlift {

enum class NodeId : uint32_t {};
inline constexpr NodeId kNoNode{0xFFFFFFFFu};
inline uint32_t index_of(NodeId id) { return static_cast<uint32_t>(id); }

// ---------------------------------------------------------------- attributes

// One scalar of any dtype, in the memory format of NumPy (little endian).
struct ScalarBits {
  DType dtype = DType::kFloat64;
  alignas(16) std::array<unsigned char, 16> bytes{};
  bool operator==(const ScalarBits& other) const {
    return dtype == other.dtype && bytes == other.bytes;
  }
};

// Where the elements of a view lie in its operand. One entry per operand axis:
//   operand index along that axis = start + step * (view index along `axis`)
// axis = -1: the index is just `start`. Covers slices (also reversed), integer indices,
// transposition, new axes and broadcasting (view axes that no entry names), diagonals (an axis
// named twice). Every operand index so computed lies inside the operand.
struct IndexMap {
  struct Axis {
    SizeExpr start;
    SizeExpr step;
    int axis = -1;
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> axes;
  bool operator==(const IndexMap&) const = default;
};

// Memory order of a fresh array: axes from slowest to fastest varying; empty means C order.
using AxisOrder = std::vector<uint8_t>;

struct NoAttr {
  bool operator==(const NoAttr&) const = default;
};
// Placeholder. kArray: strides in bytes, as expressions of dims (contiguous) or of symbols.
// kPyScalar of kInt64: use SizeValue of its symbol instead; other scalars: `input` indexes the
// program's inputs (arrays and scalars numbered together).
struct PlaceholderAttr {
  uint32_t input = 0;
  std::vector<SizeExpr> strides;
  bool operator==(const PlaceholderAttr&) const = default;
};
struct ConstantAttr {
  ScalarBits value;
  bool operator==(const ConstantAttr&) const = default;
};
struct SizeAttr {
  SizeExpr value;
  bool operator==(const SizeAttr&) const = default;
};
struct IotaAttr {
  int axis = 0;
  bool operator==(const IotaAttr&) const = default;
};
struct ViewAttr {
  IndexMap map;
  bool operator==(const ViewAttr&) const = default;
};
// Reshape has no attribute beside its type: elements in C order of the logical indices. When the
// operand must be memory (it is stored through, or returned as a view), that memory is C
// contiguous.
struct PartAttr {
  bool imaginary = false;
  bool operator==(const PartAttr&) const = default;
};
struct ReduceAttr {
  std::vector<int> axes;  // sorted, non-negative, not repeated, at least one
  bool operator==(const ReduceAttr&) const = default;
};
// Index into Graph::loops.
struct LoopAttr {
  uint32_t loop = 0;
  bool operator==(const LoopAttr&) const = default;
};
// Index into Graph::externs. Operands: the arrays and scalars that the call's argument recipe
// names, in order (the recipe itself belongs to numpy_shim).
struct ExternAttr {
  uint32_t call = 0;
  bool operator==(const ExternAttr&) const = default;
};
// A part of the operand's result: path of tuple positions; empty = the result itself. Arrays:
// strides in bytes, constants or of the item's own dims; empty = C contiguous.
struct ExternItemAttr {
  std::vector<int> path;
  std::vector<SizeExpr> strides{};
  bool operator==(const ExternItemAttr&) const = default;
};

// Loop. Without trips: until a break. `counter` counts the iterations from 0 on; trips are
// evaluated once, before the first.
struct RegionAttr {
  SymbolId counter{};
  std::optional<SizeExpr> trips;
  bool operator==(const RegionAttr&) const = default;
};
struct AssignAttr {
  std::vector<SymbolId> symbols;  // one an operand
  bool operator==(const AssignAttr&) const = default;
};

using Attr =
    std::variant<NoAttr, PlaceholderAttr, ConstantAttr, SizeAttr, IotaAttr, ViewAttr, PartAttr,
                 ReduceAttr, LoopAttr, ExternAttr, ExternItemAttr, RegionAttr, AssignAttr>;

// ---------------------------------------------------------------- nodes

// Which floating-point conditions of a node NumPy would report under the np.errstate that was in
// force where it was traced (0: all ignored). Underflow is never reported by default; a program
// traced while it would be is not compiled.
// On integer ops: kFpDivide is division by zero; kFpInvalid on power is a negative exponent (an
// error whatever errstate says: always set there); kFpOver is floor_divide's one overflow, and, on
// add, subtract, multiply, negative and absolute with a NumPy scalar as result, any overflow (the
// operators report it on NumPy scalars, ufuncs and arrays wrap silently).
enum FpChecks : uint8_t { kFpNone = 0, kFpDivide = 1, kFpOver = 2, kFpInvalid = 4, kFpAll = 7 };

struct Node {
  Op op = Op::kConstant;
  std::vector<NodeId> operands;
  Attr attr;
  Type type;
  AxisOrder order;  // memory order, if it is materialised as a fresh array
  uint8_t fp_checks = kFpNone;
  uint32_t location = 0;  // index into Graph::locations
};

struct SourceLocation {
  std::string file;
  std::string function;
  int line = 0;
  bool operator==(const SourceLocation&) const = default;
};

enum class SymbolKind : uint8_t {
  kDim,        // dimension `axis` of array input `input`
  kStride,     // stride in bytes of axis `axis` of array input `input`
  kInt,        // the Python int that is input `input`
  kExternDim,  // dimension `axis` of the array that node `input` (an ExternItem) gave
  kRun,        // a loop's counter, or what assign() sets
};

struct Symbol {
  SymbolKind kind = SymbolKind::kDim;
  uint32_t input = 0;
  uint32_t axis = 0;
  int64_t hint = 0;  // the value seen while tracing
  bool operator==(const Symbol&) const = default;
};

// A core axis of a generalized ufunc's argument. Axes of one number have one size.
struct CoreAxis {
  int number = 0;
  bool is_absent = false;  // a vector where the loop takes a matrix: the loop sees size 1
  bool operator==(const CoreAxis&) const = default;
};

// NumPy's inner loop: void(char** args, npy_intp const* dims, npy_intp const* steps, void* data).
struct NumpyLoopInfo {
  std::string name;  // "gcd.ll->l"
  void (*function)(char**, const int64_t*, const int64_t*, void*) = nullptr;
  void* data = nullptr;
  // Gufunc: by operand, the result last.
  std::vector<std::vector<CoreAxis>> core{};
};

// Axes that the argument itself has.
inline int present_axes(const std::vector<CoreAxis>& core) {
  return static_cast<int>(std::count_if(core.begin(), core.end(),
                                        [](const CoreAxis& axis) { return !axis.is_absent; }));
}

struct ExternInfo {
  std::string name;  // "numpy.linalg.det"
  bool pure = true;  // result depends on the operands only and shares no memory with them
  bool may_raise = true;
};

// A condition on sizes that every run of the program must meet (an entry guard).
struct SizeGuard {
  enum class Relation : uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual
  } relation = Relation::kEqual;
  SizeExpr left, right;
  std::string reason;  // for people: "operands of add have equal sizes along axis 1"
  std::string place;   // the user's line: "user.py:3"; not part of the graph's text
  bool operator==(const SizeGuard&) const = default;
};

class Graph {
 public:
  std::string name;
  std::vector<SourceLocation> locations{SourceLocation{}};
  std::vector<Symbol> symbols;  // by SymbolId
  std::vector<NumpyLoopInfo> loops;
  std::vector<ExternInfo> externs;
  std::vector<SizeGuard> size_guards;
  // Values the caller gets, in order; a node may occur twice. Arrays, scalars or objects.
  std::vector<NodeId> outputs;
  // Last version of each array input that is stored to.
  std::vector<NodeId> mutated_inputs;

  NodeId append(Node node);
  size_t size() const { return nodes_.size(); }
  const Node& node(NodeId id) const;
  Node& mutable_node(NodeId id);
  const std::vector<Node>& nodes() const { return nodes_; }
  // Drops all nodes for which keep is false and renumbers the rest, outputs included.
  void compact(const std::vector<bool>& keep);
  // Puts the nodes into this order (each once; operands before their users) and renumbers them.
  void reorder(const std::vector<NodeId>& order);

  std::vector<int64_t> symbol_hints() const;
  // The buffer that a version belongs to: its first version. Follows Store, Merge, View, Reshape,
  // PartView.
  NodeId buffer_of(NodeId id) const;

 private:
  std::vector<Node> nodes_;
};

inline bool begins_region(Op op) { return op == Op::kLoop || op == Op::kIf || op == Op::kBlock; }
// By node: the end() of the region that it begins (of an else: of its if); kNoNode for all others.
std::vector<NodeId> region_ends(const Graph& graph);

template <class T>
const T& attr_of(const Node& node) {
  return std::get<T>(node.attr);
}

}  // namespace numlift
