// Tracer: decisions on symbolic sizes. An undecided question is answered by the values seen now,
// and the answer becomes an entry guard, so that sizes stay symbolic (a branch guards its outcome,
// not the size).
#include <algorithm>
#include <limits>

#include "numlift/py/py_error.h"
#include "symbolic/tracer_state.h"

namespace numlift::frame_eval {

std::optional<int64_t> lower_bound(const SizeExpr& expr, const std::vector<Symbol>& symbols) {
  for (const SizeExpr::Term& term : expr.terms()) {
    if (term.coefficient < 0) return std::nullopt;
    for (const auto& atom : term.atoms) {
      if (atom->kind != SizeExpr::AtomKind::kSymbol) return std::nullopt;
      const SymbolKind kind = symbols[static_cast<size_t>(atom->symbol)].kind;
      if (kind != SymbolKind::kDim && kind != SymbolKind::kExternDim) return std::nullopt;
    }
  }
  return expr.constant_part();
}

SizeExpr Tracer::simplify(const SizeExpr& expr) const {
  if (expr.is_constant()) return expr;
  // Most symbols equal nothing else: a sum of many is not built anew, term by term.
  std::vector<SymbolId> used;
  expr.collect_symbols(&used);
  const bool is_simple = std::none_of(used.begin(), used.end(), [&](SymbolId id) {
    return state_->merged[static_cast<size_t>(id)].as_symbol() != id;
  });
  return is_simple ? expr : expr.substitute(state_->merged);
}

int64_t Tracer::hint(const SizeExpr& expr) const {
  const auto value = expr.evaluate(graph_.symbol_hints());
  if (!value) throw_break("unsupported_value", "an integer beyond 64 bits");
  return *value;
}

bool Tracer::depends_on_extern(const SizeExpr& expr) const {
  std::vector<SymbolId> symbols;
  expr.collect_symbols(&symbols);
  return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId id) {
    return graph_.symbols[static_cast<size_t>(id)].kind == SymbolKind::kExternDim;
  });
}

void Tracer::merge_sizes(const SizeExpr& a, const SizeExpr& b) {
  auto replace = [&](const SizeExpr& what, const SizeExpr& by) {
    const auto symbol = what.as_symbol();
    if (!symbol) return false;
    std::vector<SymbolId> used;
    by.collect_symbols(&used);
    if (std::find(used.begin(), used.end(), *symbol) != used.end()) return false;
    std::vector<SizeExpr> one;  // made when it is needed: most sizes are symbols by themselves
    for (SizeExpr& known : state_->merged) {
      if (const auto alone = known.as_symbol()) {
        if (*alone == *symbol) known = by;
        continue;
      }
      if (known.is_constant()) continue;
      for (uint32_t i = static_cast<uint32_t>(one.size()); i < state_->merged.size(); ++i) {
        one.push_back(SizeExpr::symbol(static_cast<SymbolId>(i)));
      }
      one[static_cast<size_t>(*symbol)] = by;
      known = known.substitute(one);
    }
    return true;
  };
  // The younger symbol gives way, so that names in the graph stay those of the first argument.
  const auto left = a.as_symbol(), right = b.as_symbol();
  if (left && right && *left > *right) {
    replace(a, b);
  } else if (!replace(b, a) && !replace(a, b)) {
    // n - 1 equals m - 1: solved for the youngest symbol that stands alone in a term.
    const SizeExpr difference = a - b;
    std::optional<SymbolId> youngest;
    int64_t coefficient = 0;
    for (const SizeExpr::Term& term : difference.terms()) {
      const bool alone =
          term.atoms.size() == 1 && term.atoms[0]->kind == SizeExpr::AtomKind::kSymbol;
      if (!alone || (term.coefficient != 1 && term.coefficient != -1)) continue;
      if (youngest && *youngest > term.atoms[0]->symbol) continue;
      youngest = term.atoms[0]->symbol;
      coefficient = term.coefficient;
    }
    if (!youngest) return;
    const SizeExpr symbol = SizeExpr::symbol(*youngest);
    replace(symbol, coefficient == 1 ? symbol - difference : symbol + difference);
  }
}

bool Tracer::answer(SizeGuard::Relation relation, const SizeExpr& a, const SizeExpr& b, bool holds,
                    const std::string& reason) {
  if (is_run_time(a) || is_run_time(b)) return decide_in_run(relation, a, b, reason);
  if (depends_on_extern(a) || depends_on_extern(b)) {
    throw_break("data_dependent", reason + ": a size that is known only when the program runs");
  }
  using Relation = SizeGuard::Relation;
  if (holds) {
    graph_.size_guards.push_back({relation, a, b, reason, location_text()});
    if (relation == Relation::kEqual) merge_sizes(a, b);
    return true;
  }
  switch (relation) {
    case Relation::kEqual:
      graph_.size_guards.push_back({Relation::kNotEqual, a, b, reason, location_text()});
      return false;
    case Relation::kLess:
      graph_.size_guards.push_back({Relation::kLessEqual, b, a, reason, location_text()});
      return false;
    case Relation::kLessEqual:
      graph_.size_guards.push_back({Relation::kLess, b, a, reason, location_text()});
      return false;
    case Relation::kNotEqual:
      break;
  }
  NUMLIFT_UNREACHABLE();
}

bool Tracer::decide_equal(const SizeExpr& left, const SizeExpr& right, const std::string& reason) {
  const SizeExpr a = simplify(left), b = simplify(right);
  if (a == b) return true;
  const SizeExpr difference = a - b;
  if (difference.is_constant()) return false;
  // A symbolic axis is never of size 1: array classes make that size a constant.
  auto is_axis = [&](const SizeExpr& e) {
    const auto symbol = e.as_symbol();
    return symbol && graph_.symbols[static_cast<size_t>(*symbol)].kind == SymbolKind::kDim;
  };
  if ((is_axis(a) && b.constant() == 1) || (is_axis(b) && a.constant() == 1)) return false;
  return answer(SizeGuard::Relation::kEqual, a, b, hint(a) == hint(b), reason);
}

bool Tracer::decide_less(const SizeExpr& left, const SizeExpr& right, const std::string& reason) {
  const SizeExpr a = simplify(left), b = simplify(right);
  if (b.constant() == std::numeric_limits<int64_t>::min() ||
      a.constant() == std::numeric_limits<int64_t>::max())
    return false;
  if (auto bound = lower_bound(b - a, graph_.symbols); bound && *bound > 0) return true;
  if (auto bound = lower_bound(a - b, graph_.symbols); bound && *bound >= 0) return false;
  return answer(SizeGuard::Relation::kLess, a, b, hint(a) < hint(b), reason);
}

bool Tracer::decide_less_equal(const SizeExpr& left, const SizeExpr& right,
                               const std::string& reason) {
  const SizeExpr a = simplify(left), b = simplify(right);
  // The bounds of all sizes: the difference might have none.
  if (b.constant() == std::numeric_limits<int64_t>::max() ||
      a.constant() == std::numeric_limits<int64_t>::min())
    return true;
  if (b.constant() == std::numeric_limits<int64_t>::min() ||
      a.constant() == std::numeric_limits<int64_t>::max())
    return answer(SizeGuard::Relation::kLessEqual, a, b, hint(a) <= hint(b), reason);
  if (auto bound = lower_bound(b - a, graph_.symbols); bound && *bound >= 0) return true;
  if (auto bound = lower_bound(a - b, graph_.symbols); bound && *bound > 0) return false;
  return answer(SizeGuard::Relation::kLessEqual, a, b, hint(a) <= hint(b), reason);
}

int64_t Tracer::specialize(const SizeExpr& expr, const std::string& reason) {
  const SizeExpr now = simplify(expr);
  if (auto value = now.constant()) return *value;
  const int64_t value = hint(now);
  if (is_run_time(now))
    throw_break("data_dependent", reason + ": an integer that changes from iteration to iteration");
  answer(SizeGuard::Relation::kEqual, now, value, true, reason);
  return value;
}

}  // namespace numlift::frame_eval
