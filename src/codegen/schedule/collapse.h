// Merging a loop with the only loop inside it, where all memory below is walked as if by one loop.
#pragma once

#include "schedule/raw_nest.h"

namespace numlift::codegen {

void collapse_loops(RawNest* raw);

}  // namespace numlift::codegen
