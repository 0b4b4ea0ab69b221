// Simplification of quotients, remainders, minima and maxima of size expressions. Each rule is an
// identity of integers wherever the divisor is not 0 (which the caller guarantees).
#include <algorithm>
#include <numeric>

#include "size_expr_access.h"

namespace numlift {
namespace {

using Access = SizeExprAccess;
using Atom = SizeExpr::Atom;
using AtomKind = SizeExpr::AtomKind;
using Term = SizeExpr::Term;

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && ((a % b < 0) != (b < 0)) ? quotient - 1 : quotient;
}

struct Split {
  SizeExpr quotient, remainder;  // dividend = divisor * quotient + remainder
};

// Divisor > 1: the remainder has all coefficients in [0, divisor).
Split split_by_constant(const SizeExpr& dividend, int64_t divisor) {
  std::vector<Term> quotient, remainder;
  for (const Term& term : dividend.terms()) {
    const int64_t q = floor_quotient(term.coefficient, divisor);
    quotient.push_back(Term{q, term.atoms});
    remainder.push_back(Term{term.coefficient - q * divisor, term.atoms});
  }
  const int64_t q = floor_quotient(dividend.constant_part(), divisor);
  return Split{Access::make(q, std::move(quotient)),
               Access::make(dividend.constant_part() - q * divisor, std::move(remainder))};
}

// term / by, when `by` divides it as a monomial.
std::optional<Term> divide_term(const Term& term, const Term& by) {
  // INT64_MIN % -1 traps.
  if (by.coefficient == -1 ? term.coefficient == INT64_MIN
                           : term.coefficient % by.coefficient != 0) {
    return std::nullopt;
  }
  Term quotient{term.coefficient / by.coefficient, {}};
  auto rest = by.atoms.begin();
  for (const auto& atom : term.atoms) {
    if (rest != by.atoms.end() && Access::compare(*atom, **rest) == 0) {
      ++rest;
    } else {
      quotient.atoms.push_back(atom);
    }
  }
  if (rest != by.atoms.end()) return std::nullopt;
  return quotient;
}

std::vector<Term> all_terms(const SizeExpr& a) {
  std::vector<Term> terms = a.terms();
  if (a.constant_part() != 0) terms.push_back(Term{a.constant_part(), {}});
  return terms;
}

// Divisor not constant. One term: takes out every term that it divides. Several: exact polynomial
// division or nothing.
Split split_by_expression(const SizeExpr& dividend, const SizeExpr& divisor) {
  const std::vector<Term> divisor_terms = all_terms(divisor);
  SizeExpr quotient, remainder = dividend;
  if (divisor_terms.size() == 1) {
    for (const Term& term : all_terms(dividend)) {
      if (const auto part = divide_term(term, divisor_terms.front())) {
        quotient = quotient + Access::from_term(*part);
        remainder = remainder - Access::from_term(term);
      }
    }
    return Split{quotient, remainder};
  }
  // The leading terms go down in a monomial order, so that this ends.
  while (!(remainder == SizeExpr(0))) {
    const auto part = divide_term(all_terms(remainder).front(), divisor_terms.front());
    if (!part) return Split{SizeExpr(0), dividend};
    const SizeExpr step = Access::from_term(*part);
    quotient = quotient + step;
    remainder = remainder - step * divisor;
  }
  return Split{quotient, remainder};
}

// Greatest common divisor of the divisor and the coefficients of all symbolic terms.
int64_t common_factor(const SizeExpr& a, int64_t divisor) {
  int64_t factor = divisor;
  for (const Term& term : a.terms()) factor = std::gcd(factor, term.coefficient);
  return factor;
}

// Each symbolic coefficient divided exactly, the constant rounded down.
SizeExpr divide_coefficients(const SizeExpr& a, int64_t factor) {
  std::vector<Term> terms;
  for (const Term& term : a.terms()) terms.push_back(Term{term.coefficient / factor, term.atoms});
  return Access::make(floor_quotient(a.constant_part(), factor), std::move(terms));
}

// x and d of an expression mod(x, d) with a constant d > 0.
const Atom* as_constant_mod(const SizeExpr& a) {
  const Atom* atom = Access::as_atom(a);
  if (atom == nullptr || atom->kind != AtomKind::kFloorMod) return nullptr;
  const auto modulus = atom->right.constant();
  return modulus && *modulus > 0 ? atom : nullptr;
}

SizeExpr divide_by_constant(const SizeExpr& dividend, int64_t divisor) {
  const Split split = split_by_constant(dividend, divisor);
  if (split.remainder.is_constant()) return split.quotient;  // in [0, divisor)
  const int64_t factor = common_factor(split.remainder, divisor);
  const SizeExpr numerator = divide_coefficients(split.remainder, factor);
  const int64_t denominator = divisor / factor;
  if (denominator == 1) return split.quotient + numerator;

  const Atom* mod = as_constant_mod(numerator);
  if (mod != nullptr && *mod->right.constant() <= denominator) return split.quotient;
  // floor((floor(x / d) + c) / e) = floor((x + c*d) / (d*e)) for d > 0
  const SizeExpr inner = numerator - SizeExpr(numerator.constant_part());
  const Atom* atom = Access::as_atom(inner);
  if (atom != nullptr && atom->kind == AtomKind::kFloorDiv) {
    const auto nested = atom->right.constant();
    int64_t product = 0;
    if (nested && *nested > 0 && !__builtin_mul_overflow(*nested, denominator, &product)) {
      return split.quotient +
             divide_by_constant(atom->left + SizeExpr(*nested) * numerator.constant_part(),
                                product);
    }
  }
  return split.quotient +
         Access::from_atom(Atom{AtomKind::kFloorDiv, {}, numerator, SizeExpr(denominator)});
}

SizeExpr remainder_by_constant(const SizeExpr& dividend, int64_t divisor) {
  const SizeExpr remainder = split_by_constant(dividend, divisor).remainder;
  if (remainder.is_constant()) return remainder;
  const Atom* mod = as_constant_mod(remainder);
  if (mod != nullptr) {
    const int64_t inner = *mod->right.constant();
    if (inner <= divisor) return remainder;
    if (inner % divisor == 0) return SizeExpr::floor_mod(mod->left, divisor);
  }
  const int64_t factor = std::gcd(common_factor(remainder, divisor), remainder.constant_part());
  if (factor > 1) {
    return SizeExpr(factor) *
           SizeExpr::floor_mod(divide_coefficients(remainder, factor), divisor / factor);
  }
  return Access::from_atom(Atom{AtomKind::kFloorMod, {}, remainder, SizeExpr(divisor)});
}

// All operands of nested minima (maxima), of which none is a constant away from another.
void flatten(AtomKind kind, const SizeExpr& a, std::vector<SizeExpr>* out) {
  const Atom* atom = Access::as_atom(a);
  if (atom != nullptr && atom->kind == kind) {
    flatten(kind, atom->left, out);
    flatten(kind, atom->right, out);
    return;
  }
  for (SizeExpr& other : *out) {
    if (const auto difference = (a - other).constant()) {
      if ((*difference < 0) == (kind == AtomKind::kMin)) other = a;
      return;
    }
  }
  out->push_back(a);
}

SizeExpr extreme(AtomKind kind, const SizeExpr& a, const SizeExpr& b) {
  std::vector<SizeExpr> operands;
  flatten(kind, a, &operands);
  flatten(kind, b, &operands);
  std::sort(operands.begin(), operands.end(),
            [](const SizeExpr& x, const SizeExpr& y) { return Access::compare(x, y) < 0; });
  SizeExpr result = operands.front();
  for (size_t i = 1; i < operands.size(); ++i) {
    result = Access::from_atom(Atom{kind, {}, result, operands[i]});
  }
  return result;
}

}  // namespace

SizeExpr SizeExpr::floor_div(const SizeExpr& a, const SizeExpr& b) {
  if (const auto divisor = b.constant()) {
    if (*divisor == 1) return a;
    if (*divisor > 1) return divide_by_constant(a, *divisor);
    if (*divisor < 0 && *divisor != INT64_MIN) return floor_div(-a, -*divisor);
    return Access::from_atom(Atom{AtomKind::kFloorDiv, {}, a, b});
  }
  const Split split = split_by_expression(a, b);
  if (split.remainder == SizeExpr(0)) return split.quotient;
  return split.quotient + Access::from_atom(Atom{AtomKind::kFloorDiv, {}, split.remainder, b});
}

SizeExpr SizeExpr::floor_mod(const SizeExpr& a, const SizeExpr& b) {
  if (const auto divisor = b.constant()) {
    if (*divisor == 1) return SizeExpr(0);
    if (*divisor > 1) return remainder_by_constant(a, *divisor);
    if (*divisor < 0 && *divisor != INT64_MIN) return -floor_mod(-a, -*divisor);
    return Access::from_atom(Atom{AtomKind::kFloorMod, {}, a, b});
  }
  const Split split = split_by_expression(a, b);
  if (split.remainder == SizeExpr(0)) return SizeExpr(0);
  return Access::from_atom(Atom{AtomKind::kFloorMod, {}, split.remainder, b});
}

SizeExpr SizeExpr::min(const SizeExpr& a, const SizeExpr& b) {
  return extreme(AtomKind::kMin, a, b);
}
SizeExpr SizeExpr::max(const SizeExpr& a, const SizeExpr& b) {
  return extreme(AtomKind::kMax, a, b);
}

}  // namespace numlift
