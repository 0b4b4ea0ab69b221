#include "text_words.h"

#include "numlift/graph/text.h"
#include "numlift/support/check.h"

namespace numlift {

std::string_view symbol_word(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::kDim:
      return "dim";
    case SymbolKind::kStride:
      return "stride";
    case SymbolKind::kInt:
      return "int";
    case SymbolKind::kExternDim:
      return "extern_dim";
    case SymbolKind::kRun:
      return "run";
  }
  NUMLIFT_UNREACHABLE();
}

std::string_view relation_word(SizeGuard::Relation relation) {
  switch (relation) {
    case SizeGuard::Relation::kEqual:
      return "==";
    case SizeGuard::Relation::kNotEqual:
      return "!=";
    case SizeGuard::Relation::kLess:
      return "<";
    case SizeGuard::Relation::kLessEqual:
      return "<=";
  }
  NUMLIFT_UNREACHABLE();
}

std::string escape(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '\n':
        escaped += "\\n";
        break;
      case '\r':
        escaped += "\\r";
        break;
      case '"':
        escaped += "\\\"";
        break;
      case '\\':
        escaped += "\\\\";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
      continue;
    }
    ++i;
    plain += text[i] == 'n' ? '\n' : text[i] == 'r' ? '\r' : text[i];
  }
  return plain;
}

}  // namespace numlift
