// The generator: a pool of nodes that may be read, grown by random operations.
#include "codegen/random_graph.h"

#include <algorithm>
#include <random>

#include "numlift/graph/builder.h"

namespace numlift::testing {
namespace {

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : builder_("random"), random_(seed) {}

  Graph make() {
    const SizeExpr rows = builder_.symbol(SymbolKind::kDim, 0, 0, 7);
    const SizeExpr columns = builder_.symbol(SymbolKind::kDim, 0, 1, 5);
    add(builder_.placeholder(DType::kInt64, {rows, columns}));
    add(builder_.placeholder(DType::kInt64, {rows, columns},
                             {builder_.symbol(SymbolKind::kStride, 1, 0, 200),
                              builder_.symbol(SymbolKind::kStride, 1, 1, 16)}));
    add(builder_.placeholder(DType::kInt64, {columns}));
    add(builder_.placeholder(DType::kInt64, {rows}));
    add(builder_.scalar_placeholder(numpy_scalar_type(DType::kInt64)));
    const int steps = pick(4, 24);
    for (int i = 0; i < steps; ++i) grow();
    const int outputs = pick(1, 3);
    for (int i = 0; i < outputs; ++i) {
      // Late nodes depend on most.
      const size_t back = static_cast<size_t>(pick(1, 4));
      builder_.output(pool_[pool_.size() - std::min(back, pool_.size())]);
    }
    return builder_.finish();
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  NodeId any() { return pool_[static_cast<size_t>(pick(0, static_cast<int>(pool_.size()) - 1))]; }
  NodeId recent() {
    const int count = static_cast<int>(pool_.size());
    return pool_[static_cast<size_t>(pick(std::max(0, count - 6), count - 1))];
  }
  const std::vector<SizeExpr>& dims(NodeId id) { return builder_.type(id).dims; }
  void add(NodeId id) { pool_.push_back(id); }

  void grow() {
    switch (pick(0, 12)) {
      case 0:
      case 1:
      case 2:
        return combine();
      case 3:
        return add(builder_.elementwise(
            Op::kRemainder, {recent(), builder_.constant(static_cast<int64_t>(pick(2, 9)))}));
      case 4:
      case 5:
        return slice();
      case 6:
        return transpose();
      case 7:
      case 8:
        return reduce();
      case 9:
        return reshape();
      case 10:
      case 11:
        return store();
      default:
        return copy_or_empty();
    }
  }

  static bool can_combine(const std::vector<SizeExpr>& a, const std::vector<SizeExpr>& b) {
    for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
      const SizeExpr& x = a[a.size() - i];
      const SizeExpr& y = b[b.size() - i];
      if (!(x == y) && x.constant() != 1 && y.constant() != 1) return false;
    }
    return true;
  }

  void combine() {
    const NodeId a = recent();
    NodeId b = any();
    for (int i = 0; i < 20 && !can_combine(dims(a), dims(b)); ++i) b = any();
    if (!can_combine(dims(a), dims(b)) || std::max(dims(a).size(), dims(b).size()) > 3) b = a;
    static constexpr Op kOps[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kMaximum};
    AxisOrder order;
    const size_t rank = std::max(dims(a).size(), dims(b).size());
    if (rank == 2 && pick(0, 5) == 0) order = {1, 0};
    add(builder_.elementwise(kOps[pick(0, 3)], {a, b}, order));
  }

  void slice() {
    const NodeId from = recent();
    if (dims(from).empty()) return;
    const int axis = pick(0, static_cast<int>(dims(from).size()) - 1);
    const SizeExpr size = dims(from)[static_cast<size_t>(axis)];
    if (size.is_constant() && *size.constant() < 4) return;
    switch (pick(0, 4)) {
      case 0:
        return add(builder_.slice(from, axis, 1, 1, size - 1));
      case 1:
        return add(builder_.slice(from, axis, 0, 1, size - 1));
      case 2:
        return add(builder_.slice(from, axis, size - 1, -1, size));
      case 3:
        return add(builder_.slice(from, axis, 0, 2, SizeExpr::floor_div(size + 1, 2)));
      default: {
        IndexMap map;  // a new axis of size 1
        std::vector<SizeExpr> view = dims(from);
        if (view.size() > 2) return;
        for (int i = 0; i < static_cast<int>(view.size()); ++i) {
          map.axes.push_back({0, 1, i < axis ? i : i + 1});
        }
        view.insert(view.begin() + axis, SizeExpr(1));
        return add(builder_.view(from, std::move(map), std::move(view)));
      }
    }
  }

  void transpose() {
    const NodeId from = recent();
    if (dims(from).size() != 2) return;
    add(builder_.transpose(from, std::vector<int>{1, 0}));
  }

  void reduce() {
    const NodeId from = recent();
    const int rank = static_cast<int>(dims(from).size());
    if (rank == 0) return;
    std::vector<int> axes{pick(0, rank - 1)};
    if (pick(0, 3) == 0) {
      axes.clear();
      for (int i = 0; i < rank; ++i) axes.push_back(i);
    }
    const NodeId result =
        builder_.reduce(pick(0, 4) == 0 ? Op::kReduceProd : Op::kReduceSum, from, axes);
    add(result);
    if (axes.size() != 1 || rank < 2 || pick(0, 1) == 0) return;
    IndexMap map;  // keepdims
    std::vector<SizeExpr> view = dims(result);
    for (int i = 0; i < rank - 1; ++i) map.axes.push_back({0, 1, i < axes[0] ? i : i + 1});
    view.insert(view.begin() + axes[0], SizeExpr(1));
    add(builder_.view(result, std::move(map), std::move(view)));
  }

  // Of memory only where it is contiguous, as capture would: here, of copies and computed values.
  void reshape() {
    const NodeId from = recent();
    const std::vector<SizeExpr> old = dims(from);
    if (old.empty()) return;
    const NodeId root = builder_.graph().buffer_of(from);
    const bool is_plain = root == from && builder_.graph().node(from).order.empty();
    const NodeId source = is_plain && root != pool_[1] ? from : builder_.copy(from);
    SizeExpr count = 1;
    for (const SizeExpr& dim : old) count = count * dim;
    switch (pick(0, 2)) {
      case 0:
        return add(builder_.reshape(source, {count}));
      case 1:
        return add(builder_.reshape(source, {SizeExpr(1), count}));
      default: {
        std::vector<SizeExpr> swapped(old.rbegin(), old.rend());
        return add(builder_.reshape(source, std::move(swapped)));
      }
    }
  }

  void copy_or_empty() {
    const NodeId from = recent();
    const NodeId copy = builder_.copy(from);
    if (pick(0, 1) == 0 || dims(from).empty()) return add(copy);
    const NodeId fresh = builder_.empty(DType::kInt64, dims(from));
    add(builder_.store(fresh, from));
  }

  bool is_broadcast_view(NodeId id) {
    const Graph& graph = builder_.graph();
    for (; id != graph.buffer_of(id); id = graph.node(id).operands[0]) {
      const Node& node = graph.node(id);
      if (node.op != Op::kView) continue;
      std::vector<bool> named(node.type.dims.size(), false);
      for (const IndexMap::Axis& axis : attr_of<ViewAttr>(node).map.axes) {
        if (axis.axis >= 0) named[static_cast<size_t>(axis.axis)] = true;
      }
      for (size_t i = 0; i < named.size(); ++i) {
        if (!named[i] && node.type.dims[i].constant() != 1) return true;
      }
    }
    return false;
  }

  void store() {
    NodeId target = recent();
    for (int i = 0; i < 10 && (dims(target).empty() || is_broadcast_view(target)); ++i) {
      target = any();
    }
    const Type type = builder_.type(target);
    if (type.value_kind != ValueKind::kArray || dims(target).empty() || is_broadcast_view(target)) {
      return;
    }
    NodeId value = any();
    for (int i = 0; i < 30 && !stretches_to(dims(value), dims(target)); ++i) value = any();
    if (!stretches_to(dims(value), dims(target))) value = target;
    const Graph& graph = builder_.graph();
    const NodeId root = graph.buffer_of(target);
    const NodeId next = builder_.store(target, value);
    // Old versions and views of them may not be read any more.
    std::erase_if(pool_, [&](NodeId id) { return graph.buffer_of(id) == root; });
    add(next);
    if (pool_.size() < 2) add(builder_.constant(int64_t{3}));
  }
  static bool stretches_to(const std::vector<SizeExpr>& from, const std::vector<SizeExpr>& to) {
    if (from.size() > to.size()) return false;
    for (size_t i = 1; i <= from.size(); ++i) {
      const SizeExpr& dim = from[from.size() - i];
      if (!(dim == to[to.size() - i]) && dim.constant() != 1) return false;
    }
    return true;
  }

  GraphBuilder builder_;
  std::mt19937_64 random_;
  std::vector<NodeId> pool_;
};

}  // namespace

Graph make_random_graph(uint64_t seed) { return RandomGraph(seed).make(); }

}  // namespace numlift::testing
