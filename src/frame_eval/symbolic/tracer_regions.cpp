// Tracer: regions, the symbols that the program sets, and decisions on sizes that change from
// iteration to iteration: proved for all iterations by their extremes, else left to a check in the
// program, which restarts where this trace does not hold.
#include <algorithm>

#include "numlift/support/check.h"
#include "symbolic/tracer_state.h"

namespace numlift::frame_eval {

namespace {

constexpr Type effect_type() { return Type{ValueKind::kEffect, DType::kFloat64, {}}; }

// Signs of the factors of a term, as far as they are known: sizes of axes are not negative.
bool is_never_negative(const Symbol& symbol) {
  return symbol.kind == SymbolKind::kDim || symbol.kind == SymbolKind::kExternDim;
}

}  // namespace

NodeId Tracer::enter_region(Op op, std::vector<NodeId> operands, Attr attr) {
  has_regions_ = true;
  const NodeId begin = append(op, std::move(operands), std::move(attr), effect_type());
  open_regions_.push_back(begin);
  return begin;
}

void Tracer::leave_regions(size_t depth) {
  while (open_regions_.size() > depth) leave_region(open_regions_.back());
}

void Tracer::leave_region(NodeId begin) {
  control(Op::kEnd, begin);
  state_->sizes_of.clear();
  forget_counts(begin);
  NUMLIFT_CHECK(!open_regions_.empty() && open_regions_.back() == begin,
                "%{} is not the innermost open region", index_of(begin));
  open_regions_.pop_back();
}

NodeId Tracer::control(Op op, NodeId operand, Attr attr) {
  if (op == Op::kElse) {
    state_->sizes_of.clear();
    forget_counts(operand);
  }
  return append(op, {operand}, std::move(attr), effect_type());
}

void Tracer::assign(std::vector<SymbolId> symbols, std::vector<NodeId> values) {
  if (!symbols.empty())
    append(Op::kAssign, std::move(values), AssignAttr{std::move(symbols)}, effect_type());
}

void Tracer::move_before(NodeId node, NodeId before) { state_->moved.push_back({node, before}); }

SizeExpr Tracer::run_symbol(int64_t hint, std::optional<Bounds> bounds) {
  const SymbolId id = new_symbol(SymbolKind::kRun, 0, 0, hint);
  if (bounds) state_->bounds.emplace(id, std::move(*bounds));
  return SizeExpr::symbol(id);
}

bool Tracer::depends_on_run(const SizeExpr& expr) const {
  if (!has_regions_) return false;
  std::vector<SymbolId> symbols;
  expr.collect_symbols(&symbols);
  return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId id) {
    return graph_.symbols[static_cast<size_t>(id)].kind == SymbolKind::kRun;
  });
}

NodeId Tracer::size_node(const SizeExpr& expr) {
  return append(Op::kSizeValue, {}, SizeAttr{simplify(expr)}, py_scalar_type(DType::kInt64));
}

SizeExpr Tracer::size_of(NodeId integer, int64_t hint) {
  const NodeId given = integer;
  if (const auto known = state_->sizes_of.find(given); known != state_->sizes_of.end())
    return known->second;
  if (type_of(integer).dtype != DType::kInt64) {
    integer = append(Op::kCast, {integer}, NoAttr{}, py_scalar_type(DType::kInt64));
  }
  has_regions_ = true;
  const SizeExpr symbol = run_symbol(hint, std::nullopt);
  assign({*symbol.as_symbol()}, {integer});
  state_->sizes_of.emplace(given, symbol);
  return symbol;
}

SizeExpr Tracer::count_of(NodeId mask) {
  if (const auto known = known_count_of(mask)) return *known;
  const Type& type = type_of(mask);
  SizeExpr most = 1;
  std::vector<int> axes;
  for (const SizeExpr& dim : type.dims) {
    most = most * dim;
    axes.push_back(static_cast<int>(axes.size()));
  }
  const Type ones = array_type(DType::kInt64, type.dims);
  const NodeId count = append(Op::kReduceSum, {append(Op::kCast, {mask}, NoAttr{}, ones)},
                              ReduceAttr{std::move(axes)}, numpy_scalar_type(DType::kInt64));
  has_regions_ = true;
  const SizeExpr symbol = run_symbol(hint(most), Bounds{0, simplify(most)});
  assign({*symbol.as_symbol()}, {count});
  note_count_of(mask, symbol);
  return symbol;
}

std::optional<SizeExpr> Tracer::known_count_of(NodeId mask) const {
  const auto found = state_->counts.find(mask);
  if (found == state_->counts.end()) return std::nullopt;
  return simplify(found->second.size);
}

void Tracer::note_count_of(NodeId mask, const SizeExpr& count) {
  state_->counts[mask] = {count, NodeId{static_cast<uint32_t>(graph_.size())}};
}

void Tracer::forget_counts(NodeId since) {
  std::erase_if(state_->counts, [&](const auto& one) { return one.second.since > since; });
}

void Tracer::promise_sizes(const Sym& array, std::vector<SizeExpr> dims) {
  auto& value = static_cast<ArrayValue&>(*array);
  Node& node = graph_.mutable_node(value.storage->current);
  // Strides in another order are made of the sizes that it has now.
  if (!attr_of<ExternItemAttr>(node).strides.empty()) return;
  node.type.dims = dims;
  value.type.dims = std::move(dims);
  value.strides = strides_for(value.type, {});
}

// The least or the largest value over all iterations, in terms of what is known before the
// outermost loop; nullopt where a symbol has no bounds, or its influence no known sign.
std::optional<SizeExpr> Tracer::extreme(const SizeExpr& expr, bool most) const {
  SizeExpr now = simplify(expr);
  // Each round replaces the youngest symbol: bounds name older ones.
  for (int rounds = 0; rounds < 64; ++rounds) {
    std::vector<SymbolId> used;
    now.collect_symbols(&used);
    std::optional<SymbolId> youngest;
    for (SymbolId id : used) {
      if (graph_.symbols[static_cast<size_t>(id)].kind != SymbolKind::kRun) continue;
      if (!youngest || *youngest < id) youngest = id;
    }
    if (!youngest) return now;
    const auto bounds = state_->bounds.find(*youngest);
    if (bounds == state_->bounds.end()) return std::nullopt;
    std::optional<int> sign;
    for (const SizeExpr::Term& term : now.terms()) {
      int occurs = 0;
      bool others_are_sizes = true;
      for (const auto& atom : term.atoms) {
        if (atom->kind != SizeExpr::AtomKind::kSymbol) {
          std::vector<SymbolId> inner;
          atom->left.collect_symbols(&inner);
          atom->right.collect_symbols(&inner);
          if (std::find(inner.begin(), inner.end(), *youngest) != inner.end()) return std::nullopt;
          others_are_sizes = false;
        } else if (atom->symbol == *youngest) {
          ++occurs;
        } else if (!is_never_negative(graph_.symbols[static_cast<size_t>(atom->symbol)])) {
          others_are_sizes = false;
        }
      }
      if (occurs == 0) continue;
      if (occurs > 1 || !others_are_sizes) return std::nullopt;
      const int one = term.coefficient > 0 ? 1 : -1;
      if (sign && *sign != one) return std::nullopt;
      sign = one;
    }
    if (!sign) return std::nullopt;
    std::vector<SizeExpr> replacements;
    for (uint32_t i = 0; i < graph_.symbols.size(); ++i)
      replacements.push_back(SizeExpr::symbol(static_cast<SymbolId>(i)));
    const bool takes_most = (*sign > 0) == most;
    replacements[static_cast<size_t>(*youngest)] =
        takes_most ? bounds->second.most : bounds->second.least;
    now = simplify(now.substitute(replacements));
  }
  return std::nullopt;
}

std::optional<bool> Tracer::holds_always(SizeGuard::Relation relation, const SizeExpr& left,
                                         const SizeExpr& right, const std::string& reason) {
  using Relation = SizeGuard::Relation;
  const SizeExpr a = simplify(left), b = simplify(right);
  const SizeExpr difference = b - a;
  if (const auto constant = difference.constant()) {
    switch (relation) {
      case Relation::kEqual:
        return *constant == 0;
      case Relation::kNotEqual:
        return *constant != 0;
      case Relation::kLess:
        return *constant > 0;
      case Relation::kLessEqual:
        return *constant >= 0;
    }
  }
  // Known before the program runs, though the two sides are not: 1 + i and n + i.
  if (!is_run_time(difference) && !depends_on_extern(difference)) {
    switch (relation) {
      case Relation::kEqual:
        return decide_equal(difference, 0, reason);
      case Relation::kNotEqual:
        return !decide_equal(difference, 0, reason);
      case Relation::kLess:
        return decide_less(0, difference, reason);
      case Relation::kLessEqual:
        return decide_less_equal(0, difference, reason);
    }
  }
  const auto least = extreme(difference, false), most = extreme(difference, true);
  const auto is_at_least = [&](const SizeExpr& expr, int64_t bound) {
    if (depends_on_extern(expr)) return lower_bound(expr, graph_.symbols) >= bound;
    return hint(expr) >= bound && decide_less_equal(bound, expr, reason);
  };
  const auto is_at_most = [&](const SizeExpr& expr, int64_t bound) {
    if (depends_on_extern(expr)) return lower_bound(-expr, graph_.symbols) >= -bound;
    return hint(expr) <= bound && decide_less_equal(expr, bound, reason);
  };
  switch (relation) {
    case Relation::kLess:
      if (least && is_at_least(*least, 1)) return true;
      if (most && is_at_most(*most, 0)) return false;
      return std::nullopt;
    case Relation::kLessEqual:
      if (least && is_at_least(*least, 0)) return true;
      if (most && is_at_most(*most, -1)) return false;
      return std::nullopt;
    case Relation::kEqual:
    case Relation::kNotEqual:
      if ((least && is_at_least(*least, 1)) || (most && is_at_most(*most, -1)))
        return relation == Relation::kNotEqual;
      return std::nullopt;
  }
  NUMLIFT_UNREACHABLE();
}

bool Tracer::has_bounds(const SizeExpr& expr) const {
  return extreme(expr, false) && extreme(expr, true);
}

// The size of an extern's result is taken to be what it equals now: the program checks it where the
// result is taken.
bool Tracer::take_as_equal(const SizeExpr& a, const SizeExpr& b) {
  const auto is_younger = [&](const SizeExpr& one, const SizeExpr& other) {
    const auto symbol = one.as_symbol();
    if (!symbol || graph_.symbols[static_cast<size_t>(*symbol)].kind != SymbolKind::kExternDim)
      return false;
    std::vector<SymbolId> used;
    other.collect_symbols(&used);
    return std::all_of(used.begin(), used.end(), [&](SymbolId id) { return id < *symbol; });
  };
  if (!is_younger(a, b) && !is_younger(b, a)) return false;
  merge_sizes(is_younger(a, b) ? a : b, is_younger(a, b) ? b : a);
  return simplify(a) == simplify(b);
}

bool Tracer::decide_in_run(SizeGuard::Relation relation, const SizeExpr& a, const SizeExpr& b,
                           const std::string& reason) {
  using Relation = SizeGuard::Relation;
  if (const auto always = holds_always(relation, a, b, reason)) return *always;
  const int64_t x = hint(a), y = hint(b);
  if (relation == Relation::kEqual && x == y) {
    if (take_as_equal(a, b)) return true;
    // Nodes whose sizes are equal by a check alone would not fit together.
    refuse_loop(reason + ": sizes that are not known to be equal in every iteration");
  }
  bool holds = false;
  Op op = Op::kEqual;
  switch (relation) {
    case Relation::kEqual:
      holds = x == y;
      op = holds ? Op::kEqual : Op::kNotEqual;
      break;
    case Relation::kNotEqual:
      holds = x != y;
      op = holds ? Op::kNotEqual : Op::kEqual;
      break;
    case Relation::kLess:
      holds = x < y;
      op = holds ? Op::kLess : Op::kGreaterEqual;
      break;
    case Relation::kLessEqual:
      holds = x <= y;
      op = holds ? Op::kLessEqual : Op::kGreater;
      break;
  }
  control(Op::kCheck,
          append(op, {size_node(a), size_node(b)}, NoAttr{}, py_scalar_type(DType::kBool)));
  return holds;
}

bool Tracer::depends_on_region(NodeId id) const {
  std::vector<NodeId> pending{id};
  std::vector<bool> seen(graph_.size(), false);
  const auto sizes_depend = [&](const std::vector<SizeExpr>& sizes) {
    return std::any_of(sizes.begin(), sizes.end(),
                       [&](const SizeExpr& size) { return depends_on_run(size); });
  };
  while (!pending.empty()) {
    const NodeId one = pending.back();
    pending.pop_back();
    if (seen[index_of(one)]) continue;
    seen[index_of(one)] = true;
    const Node& node = graph_.node(one);
    if (node.op == Op::kExtern && !graph_.externs[attr_of<ExternAttr>(node).call].pure) return true;
    pending.insert(pending.end(), node.operands.begin(), node.operands.end());
    if (!has_regions_) continue;
    if (node.op == Op::kEmpty || node.op == Op::kStore || sizes_depend(node.type.dims)) return true;
    if (const auto* size = std::get_if<SizeAttr>(&node.attr); size && depends_on_run(size->value))
      return true;
    if (const auto* view = std::get_if<ViewAttr>(&node.attr)) {
      for (const IndexMap::Axis& axis : view->map.axes) {
        if (depends_on_run(axis.start) || depends_on_run(axis.step)) return true;
      }
    }
    // An input that the region stores to.
    if (node.op == Op::kPlaceholder && node.type.value_kind == ValueKind::kArray) {
      const auto& storage = state_->storages[attr_of<PlaceholderAttr>(node).input];
      if (storage && storage->stored_to) return true;
    }
  }
  return false;
}

}  // namespace numlift::frame_eval
