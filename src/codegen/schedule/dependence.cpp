// Proofs about footprints: disjoint, or aligned on a pair of loops. Both are "yes" or "not proved".
#include <numeric>

#include "schedule/task.h"

namespace numlift::codegen {
namespace {

struct Range {
  SizeExpr low, high;  // inclusive
};

// nullopt where the sign of a coefficient is not known.
std::optional<Range> range_of(const Affine& index, const std::vector<SizeExpr>& extents) {
  Range range{index.offset, index.offset};
  for (const auto& [axis, coefficient] : index.terms) {
    const auto step = coefficient.constant();
    if (!step) return std::nullopt;
    const SizeExpr span = (extents[axis] - 1) * coefficient;
    if (*step > 0) {
      range.high = range.high + span;
    } else {
      range.low = range.low + span;
    }
  }
  return range;
}

// x[0::2] and x[1::2]: the offsets differ by what no combination of steps can make up.
bool differ_by_phase(const Affine& a, const Affine& b) {
  const auto difference = a.offset.is_constant() && b.offset.is_constant()
                              ? std::optional(a.offset.constant_part() - b.offset.constant_part())
                              : (a.offset - b.offset).constant();
  if (!difference) return false;
  int64_t divisor = 0;
  for (const Affine* index : {&a, &b}) {
    for (const auto& [axis, coefficient] : index->terms) {
      const auto step = coefficient.constant();
      if (!step) return false;
      divisor = std::gcd(divisor, *step);
    }
  }
  return divisor == 0 ? *difference != 0 : *difference % divisor != 0;
}

}  // namespace

bool are_disjoint(const Plan& plan, const Task& a, const Footprint& fa, const Task& b,
                  const Footprint& fb) {
  for (size_t axis = 0; axis < fa.index.size(); ++axis) {
    if (!fa.index[axis] || !fb.index[axis]) continue;
    const Affine& ia = *fa.index[axis];
    const Affine& ib = *fb.index[axis];
    if (differ_by_phase(ia, ib)) return true;
    const auto ra = range_of(ia, a.extents);
    const auto rb = range_of(ib, b.extents);
    if (!ra || !rb) continue;
    if (is_never_negative(rb->low - ra->high - 1, plan.graph.symbols) ||
        is_never_negative(ra->low - rb->high - 1, plan.graph.symbols)) {
      return true;
    }
  }
  return false;
}

bool are_aligned(const Footprint& fa, uint32_t axis_a, const Footprint& fb, uint32_t axis_b) {
  for (size_t axis = 0; axis < fa.index.size(); ++axis) {
    if (!fa.index[axis] || !fb.index[axis]) continue;
    const Affine& ia = *fa.index[axis];
    const Affine& ib = *fb.index[axis];
    if (ia.terms.size() == 1 && ib.terms.size() == 1 && ia.terms[0].first == axis_a &&
        ib.terms[0].first == axis_b && ia.terms[0].second == ib.terms[0].second &&
        ia.offset == ib.offset) {
      return true;
    }
  }
  return false;
}

}  // namespace numlift::codegen
