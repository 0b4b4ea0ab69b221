// Affine indices: which element of an array an iteration touches, as a sum over loop axes.
// The scheduler's common currency: composing views is substituting into them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "numlift/graph/graph.h"

namespace numlift::codegen {

// offset + sum of coefficient * axis. Terms are sorted by axis; no coefficient is the constant 0.
struct Affine {
  SizeExpr offset;
  std::vector<std::pair<uint32_t, SizeExpr>> terms;

  static Affine axis(uint32_t axis);
  // *this += factor * other
  void add(const Affine& other, const SizeExpr& factor);
  bool operator==(const Affine&) const = default;
};

// One index per array axis.
using Subscripts = std::vector<Affine>;

// Subscripts of a view's operand, given those of the view.
Subscripts through_view(const IndexMap& map, const Subscripts& view);

// How the axes of a reshape correspond: the axes [old_begin, old_end) hold the same elements, in
// C order, as the new axes [new_begin, new_end), and groups are as small as can be proved.
struct ReshapeGroup {
  size_t old_begin, old_end, new_begin, new_end;
};
std::vector<ReshapeGroup> match_reshape(const std::vector<SizeExpr>& old_dims,
                                        const std::vector<SizeExpr>& new_dims);
// Subscripts of a reshape's operand, when they are affine: every group has at most one operand
// axis that is longer than 1.
bool reshape_is_affine(const std::vector<SizeExpr>& old_dims,
                       const std::vector<SizeExpr>& new_dims);
Subscripts through_reshape(const std::vector<SizeExpr>& old_dims,
                           const std::vector<SizeExpr>& new_dims, const Subscripts& view);

inline bool is_one(const SizeExpr& size) { return size.constant() == 1; }
inline bool is_zero(const SizeExpr& size) { return size.constant() == 0; }
// Provably never negative: dims are not, and sums and products of such are not.
bool is_never_negative(const SizeExpr& size, const std::vector<Symbol>& symbols);

// Strides in bytes of a fresh array whose axes are in `order` from slowest to fastest (empty: C).
std::vector<SizeExpr> contiguous_strides(const std::vector<SizeExpr>& dims, const AxisOrder& order,
                                         int64_t item_bytes);
SizeExpr product(const std::vector<SizeExpr>& dims);

}  // namespace numlift::codegen
