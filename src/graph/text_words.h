// The fixed words of the text form, shared by the writer and the reader.
#pragma once

#include <string>
#include <string_view>

#include "numlift/graph/graph.h"

namespace numlift {

std::string_view symbol_word(SymbolKind kind);

// Line breaks, quotes and backslashes as \n, \r, \", \\ (also keeps names on one line).
std::string escape(std::string_view text);
std::string unescape(std::string_view text);

}  // namespace numlift
