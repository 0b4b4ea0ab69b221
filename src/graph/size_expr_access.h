// Building blocks of SizeExpr shared by size_expr*.cpp; nobody else includes it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "numlift/graph/size_expr.h"

namespace numlift {

struct SizeExprAccess {
  using Atom = SizeExpr::Atom;
  using AtomPtr = std::shared_ptr<const Atom>;
  using Atoms = std::vector<AtomPtr>;

  // Sorts, merges equal products, drops zeros; a term without atoms goes into the constant.
  static SizeExpr make(int64_t constant, std::vector<SizeExpr::Term> terms);
  static SizeExpr from_atom(Atom atom);
  static SizeExpr from_term(SizeExpr::Term term) { return make(0, {std::move(term)}); }

  // Total structural orders: negative, 0 or positive.
  static int compare(const Atom& a, const Atom& b);
  static int compare(const SizeExpr& a, const SizeExpr& b);
  // Monomial order: higher degree first, then by atoms. Compatible with multiplication.
  static int compare_products(const Atoms& a, const Atoms& b);

  // The atom when the expression is just one atom, else null.
  static const Atom* as_atom(const SizeExpr& a);
};

// Reads the longest expression that `text` starts with and removes it from `text`.
std::optional<SizeExpr> parse_size_expr_prefix(std::string_view* text);

}  // namespace numlift
