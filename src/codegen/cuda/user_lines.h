// The user's source lines, for comments in generated code.
#pragma once

#include <string>

#include "numlift/graph/graph.h"

namespace numlift::codegen::cuda {

// "// user.py:3: y = np.exp(x)"; without the text when the file cannot be read.
std::string user_line_comment(const SourceLocation& location);

}  // namespace numlift::codegen::cuda
