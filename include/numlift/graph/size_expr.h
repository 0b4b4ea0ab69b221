// Symbolic sizes: exact integer expressions over run-time symbols (dims, strides, Python ints).
//
// An expression is kept in canonical form: a sum of terms, each an integer coefficient times a
// product of atoms in a fixed order. An atom is a symbol or an opaque quotient, remainder,
// minimum or maximum of two expressions. Equal canonical forms are equal values, so that
// operator== proves "always equal" (it may miss some equalities, never claims a false one).
// Values are int64; evaluate() reports overflow, and arithmetic on expressions throws
// SizeOverflowError when a coefficient would not fit (the caller leaves the value out of the
// graph).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace numlift {

enum class SymbolId : uint32_t {};

class SizeOverflowError : public std::overflow_error {
 public:
  SizeOverflowError() : std::overflow_error("a coefficient of a size expression exceeds int64") {}
};

class SizeExpr {
 public:
  SizeExpr() : SizeExpr(0) {}
  SizeExpr(int64_t constant);  // NOLINT(google-explicit-constructor): reads as a number
  static SizeExpr symbol(SymbolId id);

  friend SizeExpr operator+(const SizeExpr& a, const SizeExpr& b);
  friend SizeExpr operator-(const SizeExpr& a, const SizeExpr& b);
  friend SizeExpr operator*(const SizeExpr& a, const SizeExpr& b);
  SizeExpr operator-() const { return SizeExpr(0) - *this; }
  // Python's // and %: the quotient rounds towards minus infinity. The divisor must not be 0.
  static SizeExpr floor_div(const SizeExpr& a, const SizeExpr& b);
  static SizeExpr floor_mod(const SizeExpr& a, const SizeExpr& b);
  static SizeExpr min(const SizeExpr& a, const SizeExpr& b);
  static SizeExpr max(const SizeExpr& a, const SizeExpr& b);

  bool operator==(const SizeExpr& other) const;
  bool is_constant() const;
  std::optional<int64_t> constant() const;
  // The symbol when the expression is just that.
  std::optional<SymbolId> as_symbol() const;
  // Value for these symbol values (indexed by SymbolId); nullopt on overflow or division by 0.
  std::optional<int64_t> evaluate(std::span<const int64_t> symbols) const;
  // Each symbol replaced by the expression at its index (same length as the symbol table).
  SizeExpr substitute(std::span<const SizeExpr> replacements) const;
  void collect_symbols(std::vector<SymbolId>* out) const;

  // "s0*s1 + 2", "floor(s0 / 2)", "min(s0, 4)"; symbols print as s<index>.
  std::string text() const;
  // Reads what text() printed. nullopt when malformed.
  static std::optional<SizeExpr> parse(std::string_view text);
  size_t hash() const;

  // ---- structure, for code that compiles expressions (LLVM, the host evaluator) ----
  enum class AtomKind : uint8_t { kSymbol, kFloorDiv, kFloorMod, kMin, kMax };
  struct Atom;
  struct Term {
    int64_t coefficient;
    std::vector<std::shared_ptr<const Atom>> atoms;  // sorted; repeated for powers
  };
  const std::vector<Term>& terms() const { return sum_->terms; }
  int64_t constant_part() const { return sum_->constant; }

 private:
  struct Sum {
    int64_t constant = 0;
    std::vector<Term> terms;  // sorted, no zero coefficients, no constant term
  };
  explicit SizeExpr(std::shared_ptr<const Sum> sum) : sum_(std::move(sum)) {}
  std::shared_ptr<const Sum> sum_;  // never null; shared, immutable
  friend struct SizeExprAccess;
};

struct SizeExpr::Atom {
  AtomKind kind;
  SymbolId symbol{};     // kSymbol
  SizeExpr left, right;  // the others
};

}  // namespace numlift
