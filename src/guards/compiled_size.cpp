#include "numlift/guards/guard_set.h"

namespace numlift::guards {

CompiledSize::CompiledSize(SizeExpr expr) : expr_(std::move(expr)) {
  constant_ = expr_.constant_part();
  if (expr_.is_constant()) return;
  form_ = Form::kGeneral;
  if (expr_.terms().size() != 1) return;
  const SizeExpr::Term& term = expr_.terms().front();
  if (term.atoms.size() != 1 || term.atoms.front()->kind != SizeExpr::AtomKind::kSymbol) return;
  symbol_ = static_cast<uint32_t>(term.atoms.front()->symbol);
  coefficient_ = term.coefficient;
  form_ = coefficient_ == 1 && constant_ == 0 ? Form::kSymbol : Form::kLinear;
}

bool CompiledSize::evaluate_general(std::span<const int64_t> symbols, int64_t* out) const {
  const std::optional<int64_t> value = expr_.evaluate(symbols);
  if (!value) return false;
  *out = *value;
  return true;
}

bool CompiledSizeGuard::holds(std::span<const int64_t> symbols) const {
  int64_t a = 0, b = 0;
  if (!left.evaluate(symbols, &a) || !right.evaluate(symbols, &b)) return false;
  switch (relation) {
    case SizeGuard::Relation::kEqual:
      return a == b;
    case SizeGuard::Relation::kNotEqual:
      return a != b;
    case SizeGuard::Relation::kLess:
      return a < b;
    case SizeGuard::Relation::kLessEqual:
      return a <= b;
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift::guards
