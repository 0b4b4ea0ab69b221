// Text form of size expressions and its reader (recursive descent).
#include <charconv>

#include <fmt/format.h>

#include "numlift/support/check.h"
#include "size_expr_access.h"

namespace numlift {
namespace {

using Access = SizeExprAccess;
using Atom = SizeExpr::Atom;
using AtomKind = SizeExpr::AtomKind;
using Term = SizeExpr::Term;

// In parentheses unless it is one factor.
std::string factor_text(const SizeExpr& a) {
  if (a.is_constant() || Access::as_atom(a) != nullptr) return a.text();
  return "(" + a.text() + ")";
}

std::string atom_text(const Atom& atom) {
  switch (atom.kind) {
    case AtomKind::kSymbol:
      return fmt::format("s{}", static_cast<uint32_t>(atom.symbol));
    case AtomKind::kFloorDiv:
      return fmt::format("floor({} / {})", factor_text(atom.left), factor_text(atom.right));
    case AtomKind::kFloorMod:
      return fmt::format("mod({}, {})", atom.left.text(), atom.right.text());
    case AtomKind::kMin:
      return fmt::format("min({}, {})", atom.left.text(), atom.right.text());
    case AtomKind::kMax:
      return fmt::format("max({}, {})", atom.left.text(), atom.right.text());
  }
  NUMLIFT_UNREACHABLE();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<SizeExpr> parse_sum() {
    bool negative = accept('-');
    SizeExpr sum;
    for (;;) {
      const auto product = parse_product(negative);
      if (!product) return std::nullopt;
      sum = sum + *product;
      if (accept('+')) {
        negative = false;
      } else if (accept('-')) {
        negative = true;
      } else {
        return sum;
      }
    }
  }

  std::string_view rest() const { return text_; }

 private:
  std::optional<SizeExpr> parse_product(bool negative) {
    skip_spaces();
    SizeExpr product(negative ? -1 : 1);
    // The sign goes into a leading number: -2**63 has no positive counterpart.
    const bool signed_number = negative && at_digit();
    if (signed_number) product = SizeExpr(1);
    bool first = true;
    do {
      const auto factor = parse_factor(first && signed_number);
      if (!factor) return std::nullopt;
      product = product * *factor;
      first = false;
    } while (accept('*'));
    return product;
  }

  std::optional<SizeExpr> parse_factor(bool negative_number) {
    skip_spaces();
    if (accept('(')) {
      auto inner = parse_sum();
      if (!inner || !accept(')')) return std::nullopt;
      return inner;
    }
    if (at_digit()) return parse_number(negative_number);
    if (accept_word("floor(")) return parse_pair('/', SizeExpr::floor_div);
    if (accept_word("mod(")) return parse_pair(',', SizeExpr::floor_mod);
    if (accept_word("min(")) return parse_pair(',', SizeExpr::min);
    if (accept_word("max(")) return parse_pair(',', SizeExpr::max);
    return parse_symbol();
  }

  std::optional<SizeExpr> parse_number(bool negative) {
    const std::string digits = (negative ? "-" : "") + std::string(take_digits());
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) return std::nullopt;
    return SizeExpr(value);
  }

  std::optional<SizeExpr> parse_symbol() {
    if (!accept('s')) return std::nullopt;
    const std::string_view digits = take_digits();
    uint32_t index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (digits.empty() || error != std::errc()) return std::nullopt;
    return SizeExpr::symbol(SymbolId{index});
  }

  template <class Make>
  std::optional<SizeExpr> parse_pair(char separator, Make make) {
    const auto left = parse_sum();
    if (!left || !accept(separator)) return std::nullopt;
    const auto right = parse_sum();
    if (!right || !accept(')')) return std::nullopt;
    return make(*left, *right);
  }

  bool at_digit() const { return !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; }
  void skip_spaces() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  bool accept(char c) {
    // Spaces belong to the expression only if something of it follows.
    const std::string_view before = text_;
    skip_spaces();
    if (!text_.empty() && text_.front() == c) {
      text_.remove_prefix(1);
      return true;
    }
    text_ = before;
    return false;
  }
  bool accept_word(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::string_view take_digits() {
    size_t count = 0;
    while (count < text_.size() && text_[count] >= '0' && text_[count] <= '9') ++count;
    const std::string_view digits = text_.substr(0, count);
    text_.remove_prefix(count);
    return digits;
  }

  std::string_view text_;
};

}  // namespace

std::string SizeExpr::text() const {
  std::string text;
  auto append = [&](bool negative, const std::string& magnitude) {
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    text += magnitude;
  };
  for (const Term& term : terms()) {
    std::string product;
    const auto magnitude = term.coefficient < 0 ? 0 - static_cast<uint64_t>(term.coefficient)
                                                : static_cast<uint64_t>(term.coefficient);
    if (magnitude != 1) product = std::to_string(magnitude);
    for (const auto& atom : term.atoms) product += (product.empty() ? "" : "*") + atom_text(*atom);
    append(term.coefficient < 0, product);
  }
  if (constant_part() != 0 || text.empty()) {
    const std::string digits = std::to_string(constant_part());
    const bool negative = constant_part() < 0;
    append(negative, negative ? digits.substr(1) : digits);
  }
  return text;
}

std::optional<SizeExpr> parse_size_expr_prefix(std::string_view* text) {
  Parser parser(*text);
  try {
    auto parsed = parser.parse_sum();
    if (parsed) *text = parser.rest();
    return parsed;
  } catch (const SizeOverflowError&) {
    return std::nullopt;
  }
}

std::optional<SizeExpr> SizeExpr::parse(std::string_view text) {
  auto parsed = parse_size_expr_prefix(&text);
  if (!parsed || text.find_first_not_of(' ') != std::string_view::npos) return std::nullopt;
  return parsed;
}

}  // namespace numlift
