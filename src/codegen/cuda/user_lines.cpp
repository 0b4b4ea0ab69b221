#include "user_lines.h"

#include <fmt/format.h>

#include <fstream>

namespace numlift::codegen::cuda {

std::string user_line_comment(const SourceLocation& location) {
  std::ifstream file(location.file);
  std::string text;
  for (int line = 0; line < location.line && file; ++line) std::getline(file, text);
  std::string comment = fmt::format("// {}:{}", location.file, location.line);
  if (!file) return comment;
  const size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t\r");
  if (first == std::string::npos) return comment;
  comment += ": " + text.substr(first, last - first + 1);
  // A backslash at the end would make the next line part of the comment.
  if (comment.back() == '\\') comment += ' ';
  return comment;
}

}  // namespace numlift::codegen::cuda
