// Loop collapsing: i over n and j over m become one loop over n*m when every access moves by
// stride(j)*m along i, positions included, and nothing asks for i or j alone.
#include "schedule/collapse.h"

#include <algorithm>

namespace numlift::codegen {
namespace {

SizeExpr stride_along(const std::vector<std::pair<VarId, SizeExpr>>& strides, VarId var) {
  for (const auto& [at, stride] : strides) {
    if (at == var) return stride;
  }
  return 0;
}

class Collapser {
 public:
  explicit Collapser(RawNest* raw) : raw_(*raw), nest_(raw->nest) {}

  void run() {
    for (const Item& item : nest_.root) {
      if (item.kind == Item::Kind::kLoop) visit(VarId{item.index});
    }
  }

 private:
  Loop& loop(VarId var) { return nest_.loops[static_cast<size_t>(var)]; }

  // Inside first, so that a loop meets what its child has become.
  void visit(VarId var) {
    for (const Item& item : loop(var).body) {
      if (item.kind == Item::Kind::kLoop) visit(VarId{item.index});
    }
    const std::vector<Item>& body = loop(var).body;
    if (body.size() != 1 || body[0].kind != Item::Kind::kLoop) return;
    const VarId inner{body[0].index};
    if (can_merge(var, inner)) merge(var, inner);
  }

  bool can_merge(VarId outer, VarId inner) {
    const Loop& a = loop(outer);
    const Loop& b = loop(inner);
    if (a.reduction != b.reduction || a.in_order || b.in_order) return false;
    // A reduction is carried by the outermost of its loops and runs over both of these or neither.
    if (!b.reductions.empty()) return false;
    for (const Loop& carrier : nest_.loops) {
      for (const Reduction& reduction : carrier.reductions) {
        if (runs_over(reduction, outer) != runs_over(reduction, inner)) return false;
      }
    }
    if (raw_.holds_private[static_cast<size_t>(outer)] !=
        raw_.holds_private[static_cast<size_t>(inner)]) {
      return false;
    }
    for (const RawNest::Position& position : raw_.positions) {
      if (!walks_as_one(in_bytes(position.index), outer, inner)) return false;
    }
    return body_walks_as_one(b.body, outer, inner);
  }

  static bool runs_over(const Reduction& reduction, VarId var) {
    return std::find(reduction.loops.begin(), reduction.loops.end(), var) != reduction.loops.end();
  }

  static std::vector<std::pair<VarId, SizeExpr>> in_bytes(const Affine& index) {
    std::vector<std::pair<VarId, SizeExpr>> strides;
    for (const auto& [var, step] : index.terms) strides.emplace_back(VarId{var}, step);
    return strides;
  }

  bool body_walks_as_one(const std::vector<Item>& body, VarId outer, VarId inner) {
    for (const Item& item : body) {
      if (item.kind == Item::Kind::kLoop) {
        if (!body_walks_as_one(loop(VarId{item.index}).body, outer, inner)) return false;
      } else if (item.kind == Item::Kind::kStore) {
        if (!walks_as_one(nest_.stores[item.index].access.strides, outer, inner)) return false;
      } else {
        const Value& value = nest_.values[item.index];
        if (value.kind == Value::Kind::kIndex && (value.var == outer || value.var == inner)) {
          return false;
        }
        if (!walks_as_one(value.access.strides, outer, inner)) return false;
      }
    }
    return true;
  }

  bool walks_as_one(const std::vector<std::pair<VarId, SizeExpr>>& strides, VarId outer,
                    VarId inner) {
    const SizeExpr along_outer = stride_along(strides, outer);
    const SizeExpr along_inner = stride_along(strides, inner);
    if (is_zero(along_outer) && is_zero(along_inner)) return true;
    return along_outer == along_inner * loop(inner).extent;
  }

  // The inner loop stays and takes over; the outer one becomes its own body's place holder.
  void merge(VarId outer, VarId inner) {
    Loop merged = std::move(loop(inner));
    Loop& kept = loop(outer);
    merged.extent = kept.extent * merged.extent;
    merged.reductions = std::move(kept.reductions);
    rename_below(merged.body, inner, outer);
    for (RawNest::Position& position : raw_.positions) rename(&position.index, inner, outer);
    kept = std::move(merged);
    for (Loop& carrier : nest_.loops)
      for (Reduction& reduction : carrier.reductions) std::erase(reduction.loops, inner);
  }

  void rename_below(const std::vector<Item>& body, VarId from, VarId to) {
    for (const Item& item : body) {
      if (item.kind == Item::Kind::kLoop) {
        rename_below(loop(VarId{item.index}).body, from, to);
      } else if (item.kind == Item::Kind::kStore) {
        rename(&nest_.stores[item.index].access.strides, from, to);
      } else {
        rename(&nest_.values[item.index].access.strides, from, to);
      }
    }
  }
  // The outer variable's own stride is implied by the inner one's.
  static void rename(std::vector<std::pair<VarId, SizeExpr>>* strides, VarId from, VarId to) {
    std::erase_if(*strides, [&](const auto& term) { return term.first == to; });
    for (auto& [var, stride] : *strides) {
      if (var == from) var = to;
    }
  }
  static void rename(Affine* index, VarId from, VarId to) {
    std::erase_if(index->terms,
                  [&](const auto& term) { return term.first == static_cast<uint32_t>(to); });
    for (auto& [var, step] : index->terms) {
      if (var == static_cast<uint32_t>(from)) var = static_cast<uint32_t>(to);
    }
  }

  RawNest& raw_;
  LoopNest& nest_;
};

}  // namespace

void collapse_loops(RawNest* raw) { Collapser(raw).run(); }

}  // namespace numlift::codegen
