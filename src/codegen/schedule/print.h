// Text of a scheduled program, for goldens and the output_code log.
#pragma once

#include <string>

#include "numlift/codegen/program.h"

namespace numlift::codegen {

// Buffers, steps in order (nests as nest_text), outputs.
std::string program_text(const Program& program);

}  // namespace numlift::codegen
