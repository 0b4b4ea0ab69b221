// Composition of affine indices through views and reshapes.
#include "schedule/affine.h"

#include <algorithm>

#include "numlift/support/check.h"

namespace numlift::codegen {

Affine Affine::axis(uint32_t axis) { return Affine{SizeExpr(0), {{axis, SizeExpr(1)}}}; }

void Affine::add(const Affine& other, const SizeExpr& factor) {
  if (is_zero(factor)) return;
  const bool plain = is_one(factor);
  offset = offset + (plain ? other.offset : other.offset * factor);
  for (const auto& [axis, coefficient] : other.terms) {
    SizeExpr scaled = plain ? coefficient : coefficient * factor;
    auto at = std::lower_bound(terms.begin(), terms.end(), axis,
                               [](const auto& term, uint32_t key) { return term.first < key; });
    if (at == terms.end() || at->first != axis) {
      terms.insert(at, {axis, std::move(scaled)});
    } else {
      at->second = at->second + scaled;
      if (is_zero(at->second)) terms.erase(at);
    }
  }
}

Subscripts through_view(const IndexMap& map, const Subscripts& view) {
  Subscripts result;
  result.reserve(map.axes.size());
  for (const IndexMap::Axis& axis : map.axes) {
    Affine index{axis.start, {}};
    if (axis.axis >= 0) index.add(view[static_cast<size_t>(axis.axis)], axis.step);
    result.push_back(std::move(index));
  }
  return result;
}

namespace {

// Extends both ends until the products of sizes agree; the smallest such pair wins.
bool find_group_end(const std::vector<SizeExpr>& old_dims, const std::vector<SizeExpr>& new_dims,
                    ReshapeGroup* group) {
  const size_t old_left = old_dims.size() - group->old_begin;
  const size_t new_left = new_dims.size() - group->new_begin;
  std::vector<SizeExpr> old_products, new_products;
  for (size_t i = 0; i < old_left; ++i) {
    const SizeExpr& dim = old_dims[group->old_begin + i];
    old_products.push_back(i == 0 ? dim : old_products.back() * dim);
  }
  for (size_t i = 0; i < new_left; ++i) {
    const SizeExpr& dim = new_dims[group->new_begin + i];
    new_products.push_back(i == 0 ? dim : new_products.back() * dim);
  }
  for (size_t total = 2; total <= old_left + new_left; ++total) {
    for (size_t old_count = 1; old_count < total && old_count <= old_left; ++old_count) {
      const size_t new_count = total - old_count;
      if (new_count > new_left) continue;
      if (old_products[old_count - 1] == new_products[new_count - 1]) {
        group->old_end = group->old_begin + old_count;
        group->new_end = group->new_begin + new_count;
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::vector<ReshapeGroup> match_reshape(const std::vector<SizeExpr>& old_dims,
                                        const std::vector<SizeExpr>& new_dims) {
  std::vector<ReshapeGroup> groups;
  size_t old_at = 0, new_at = 0;
  while (old_at < old_dims.size() && new_at < new_dims.size()) {
    ReshapeGroup group{old_at, old_dims.size(), new_at, new_dims.size()};
    // The sizes as a whole are equal even where that cannot be proved.
    find_group_end(old_dims, new_dims, &group);
    groups.push_back(group);
    old_at = group.old_end;
    new_at = group.new_end;
  }
  if (old_at == old_dims.size() && new_at == new_dims.size()) return groups;
  // What is left over on one side has size 1 (or the whole is one element).
  if (groups.empty()) {
    groups.push_back({0, old_dims.size(), 0, new_dims.size()});
  } else {
    groups.back().old_end = old_dims.size();
    groups.back().new_end = new_dims.size();
  }
  return groups;
}

bool reshape_is_affine(const std::vector<SizeExpr>& old_dims,
                       const std::vector<SizeExpr>& new_dims) {
  for (const ReshapeGroup& group : match_reshape(old_dims, new_dims)) {
    int long_axes = 0;
    for (size_t i = group.old_begin; i < group.old_end; ++i) {
      if (!is_one(old_dims[i])) ++long_axes;
    }
    if (long_axes > 1) return false;
  }
  return true;
}

Subscripts through_reshape(const std::vector<SizeExpr>& old_dims,
                           const std::vector<SizeExpr>& new_dims, const Subscripts& view) {
  Subscripts result(old_dims.size());
  for (const ReshapeGroup& group : match_reshape(old_dims, new_dims)) {
    Affine flat;
    SizeExpr weight = 1;
    for (size_t i = group.new_end; i > group.new_begin; --i) {
      flat.add(view[i - 1], weight);
      weight = weight * new_dims[i - 1];
    }
    for (size_t i = group.old_begin; i < group.old_end; ++i) {
      if (!is_one(old_dims[i])) result[i] = flat;
    }
  }
  return result;
}

bool is_never_negative(const SizeExpr& size, const std::vector<Symbol>& symbols) {
  if (size.constant_part() < 0) return false;
  for (const SizeExpr::Term& term : size.terms()) {
    if (term.coefficient < 0) return false;
    for (const auto& atom : term.atoms) {
      if (atom->kind != SizeExpr::AtomKind::kSymbol) return false;
      const SymbolKind kind = symbols[static_cast<size_t>(atom->symbol)].kind;
      if (kind != SymbolKind::kDim && kind != SymbolKind::kExternDim) return false;
    }
  }
  return true;
}

std::vector<SizeExpr> contiguous_strides(const std::vector<SizeExpr>& dims, const AxisOrder& order,
                                         int64_t item_bytes) {
  NUMLIFT_CHECK(order.empty() || order.size() == dims.size(), "order of {} axes for rank {}",
                order.size(), dims.size());
  std::vector<SizeExpr> strides(dims.size());
  SizeExpr stride = item_bytes;
  for (size_t i = dims.size(); i > 0; --i) {
    const size_t axis = order.empty() ? i - 1 : order[i - 1];
    strides[axis] = stride;
    // The last one would be the size of the whole, which may not fit.
    if (i > 1 && !is_one(dims[axis])) stride = stride * dims[axis];
  }
  return strides;
}

SizeExpr product(const std::vector<SizeExpr>& dims) {
  SizeExpr result = 1;
  for (const SizeExpr& dim : dims) {
    if (!is_one(dim)) result = result * dim;
  }
  return result;
}

}  // namespace numlift::codegen
