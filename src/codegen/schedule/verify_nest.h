// The checker of loop nests: definitions before uses, variables in scope, at most one vector loop
// on a path, known buffers.
#pragma once

#include <string>

#include "numlift/codegen/program.h"

namespace numlift::codegen {

// "" when the nest keeps the promises of loop_nest.h, else what is broken.
std::string verify_nest(const LoopNest& nest, const std::vector<Buffer>& buffers);
// Throws InternalError.
void check_nests_verified(const Program& program);

}  // namespace numlift::codegen
