// The canonical form of size expressions: sums of products of atoms, their order and arithmetic.
// Division, minimum and maximum are in size_expr_fold.cpp, text in size_expr_text.cpp.
#include "numlift/graph/size_expr.h"

#include <algorithm>
#include <functional>

#include "numlift/support/check.h"
#include "size_expr_access.h"

namespace numlift {
namespace {

using Term = SizeExpr::Term;
using Access = SizeExprAccess;

int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw SizeOverflowError();
  return sum;
}

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw SizeOverflowError();
  return product;
}

template <class T>
int sign_of_difference(T a, T b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

Term multiply(const Term& a, const Term& b) {
  Term product{checked_multiply(a.coefficient, b.coefficient), {}};
  product.atoms.resize(a.atoms.size() + b.atoms.size());
  std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(), product.atoms.begin(),
             [](const auto& x, const auto& y) { return Access::compare(*x, *y) < 0; });
  return product;
}

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

}  // namespace

SizeExpr SizeExprAccess::make(int64_t constant, std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return compare_products(a.atoms, b.atoms) < 0; });
  std::vector<Term> merged;
  for (Term& term : terms) {
    if (term.atoms.empty()) {
      constant = checked_add(constant, term.coefficient);
    } else if (!merged.empty() && compare_products(merged.back().atoms, term.atoms) == 0) {
      merged.back().coefficient = checked_add(merged.back().coefficient, term.coefficient);
    } else {
      merged.push_back(std::move(term));
    }
  }
  std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
  return SizeExpr(
      std::make_shared<const SizeExpr::Sum>(SizeExpr::Sum{constant, std::move(merged)}));
}

SizeExpr SizeExprAccess::from_atom(Atom atom) {
  return make(0, {Term{1, {std::make_shared<const Atom>(std::move(atom))}}});
}

int SizeExprAccess::compare(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return sign_of_difference(a.kind, b.kind);
  if (a.kind == SizeExpr::AtomKind::kSymbol) return sign_of_difference(a.symbol, b.symbol);
  if (const int order = compare(a.left, b.left); order != 0) return order;
  return compare(a.right, b.right);
}

int SizeExprAccess::compare_products(const Atoms& a, const Atoms& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (const int order = compare(*a[i], *b[i]); order != 0) return order;
  }
  return 0;
}

int SizeExprAccess::compare(const SizeExpr& a, const SizeExpr& b) {
  if (a.sum_ == b.sum_) return 0;
  const auto& left = a.terms();
  const auto& right = b.terms();
  // Constants come last, as in the text form.
  if (left.size() != right.size()) return left.size() > right.size() ? -1 : 1;
  for (size_t i = 0; i < left.size(); ++i) {
    if (const int order = compare_products(left[i].atoms, right[i].atoms); order != 0) return order;
    if (left[i].coefficient != right[i].coefficient) {
      return sign_of_difference(left[i].coefficient, right[i].coefficient);
    }
  }
  return sign_of_difference(a.constant_part(), b.constant_part());
}

const SizeExpr::Atom* SizeExprAccess::as_atom(const SizeExpr& a) {
  if (a.constant_part() != 0 || a.terms().size() != 1) return nullptr;
  const Term& term = a.terms().front();
  return term.coefficient == 1 && term.atoms.size() == 1 ? term.atoms.front().get() : nullptr;
}

SizeExpr::SizeExpr(int64_t constant) : sum_(std::make_shared<const Sum>(Sum{constant, {}})) {}

SizeExpr SizeExpr::symbol(SymbolId id) {
  return Access::from_atom(Atom{AtomKind::kSymbol, id, {}, {}});
}

SizeExpr operator+(const SizeExpr& a, const SizeExpr& b) {
  std::vector<Term> terms = a.terms();
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return Access::make(checked_add(a.constant_part(), b.constant_part()), std::move(terms));
}

SizeExpr operator-(const SizeExpr& a, const SizeExpr& b) { return a + b * SizeExpr(-1); }

SizeExpr operator*(const SizeExpr& a, const SizeExpr& b) {
  std::vector<Term> terms;
  for (const Term& left : a.terms()) {
    for (const Term& right : b.terms()) terms.push_back(multiply(left, right));
    if (b.constant_part() != 0) terms.push_back(multiply(left, Term{b.constant_part(), {}}));
  }
  if (a.constant_part() != 0) {
    for (const Term& right : b.terms())
      terms.push_back(multiply(right, Term{a.constant_part(), {}}));
  }
  return Access::make(checked_multiply(a.constant_part(), b.constant_part()), std::move(terms));
}

bool SizeExpr::operator==(const SizeExpr& other) const {
  return Access::compare(*this, other) == 0;
}

bool SizeExpr::is_constant() const { return sum_->terms.empty(); }

std::optional<int64_t> SizeExpr::constant() const {
  if (!is_constant()) return std::nullopt;
  return sum_->constant;
}

std::optional<SymbolId> SizeExpr::as_symbol() const {
  const Atom* atom = Access::as_atom(*this);
  if (atom == nullptr || atom->kind != AtomKind::kSymbol) return std::nullopt;
  return atom->symbol;
}

namespace {

using Wide = __int128;

std::optional<int64_t> evaluate_atom(const SizeExpr::Atom& atom, std::span<const int64_t> symbols) {
  using Kind = SizeExpr::AtomKind;
  if (atom.kind == Kind::kSymbol) {
    const auto index = static_cast<size_t>(atom.symbol);
    NUMLIFT_CHECK(index < symbols.size(), "no value of symbol s{}", index);
    return symbols[index];
  }
  const auto left = atom.left.evaluate(symbols);
  const auto right = atom.right.evaluate(symbols);
  if (!left || !right) return std::nullopt;
  switch (atom.kind) {
    case Kind::kFloorDiv:
    case Kind::kFloorMod: {
      if (*right == 0 || (*left == INT64_MIN && *right == -1)) return std::nullopt;
      int64_t quotient = *left / *right;
      int64_t remainder = *left % *right;
      if (remainder != 0 && (remainder < 0) != (*right < 0)) {
        quotient -= 1;
        remainder += *right;
      }
      return atom.kind == Kind::kFloorDiv ? quotient : remainder;
    }
    case Kind::kMin:
      return std::min(*left, *right);
    case Kind::kMax:
      return std::max(*left, *right);
    case Kind::kSymbol:
      break;
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace

std::optional<int64_t> SizeExpr::evaluate(std::span<const int64_t> symbols) const {
  // Wider than the result: the expanded form can pass beyond int64 on the way to a value inside.
  Wide sum = sum_->constant;
  for (const Term& term : sum_->terms) {
    Wide product = term.coefficient;
    for (const auto& atom : term.atoms) {
      const auto value = evaluate_atom(*atom, symbols);
      if (!value || __builtin_mul_overflow(product, static_cast<Wide>(*value), &product)) {
        return std::nullopt;
      }
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  if (sum < INT64_MIN || sum > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(sum);
}

SizeExpr SizeExpr::substitute(std::span<const SizeExpr> replacements) const {
  SizeExpr sum(sum_->constant);
  for (const Term& term : sum_->terms) {
    SizeExpr product(term.coefficient);
    for (const auto& atom : term.atoms) {
      if (atom->kind == AtomKind::kSymbol) {
        const auto index = static_cast<size_t>(atom->symbol);
        NUMLIFT_CHECK(index < replacements.size(), "no replacement of symbol s{}", index);
        product = product * replacements[index];
        continue;
      }
      const SizeExpr left = atom->left.substitute(replacements);
      const SizeExpr right = atom->right.substitute(replacements);
      switch (atom->kind) {
        case AtomKind::kFloorDiv:
          product = product * floor_div(left, right);
          break;
        case AtomKind::kFloorMod:
          product = product * floor_mod(left, right);
          break;
        case AtomKind::kMin:
          product = product * min(left, right);
          break;
        case AtomKind::kMax:
          product = product * max(left, right);
          break;
        case AtomKind::kSymbol:
          NUMLIFT_UNREACHABLE();
      }
    }
    sum = sum + product;
  }
  return sum;
}

void SizeExpr::collect_symbols(std::vector<SymbolId>* out) const {
  for (const Term& term : sum_->terms) {
    for (const auto& atom : term.atoms) {
      if (atom->kind == AtomKind::kSymbol) {
        if (std::find(out->begin(), out->end(), atom->symbol) == out->end()) {
          out->push_back(atom->symbol);
        }
      } else {
        atom->left.collect_symbols(out);
        atom->right.collect_symbols(out);
      }
    }
  }
}

size_t SizeExpr::hash() const {
  size_t seed = std::hash<int64_t>()(sum_->constant);
  for (const Term& term : sum_->terms) {
    seed = mix(seed, std::hash<int64_t>()(term.coefficient));
    for (const auto& atom : term.atoms) {
      seed = mix(seed, static_cast<size_t>(atom->kind));
      if (atom->kind == AtomKind::kSymbol) {
        seed = mix(seed, static_cast<size_t>(atom->symbol));
      } else {
        seed = mix(mix(seed, atom->left.hash()), atom->right.hash());
      }
    }
  }
  return seed;
}

}  // namespace numlift
