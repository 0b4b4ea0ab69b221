// The first half of make_plan: what must or should have memory, before places are known.
#pragma once

#include "schedule/plan.h"

namespace numlift::codegen {

// Puts Copy nodes where the later stages need a node to give memory to: NumPy's inner loops take
// and give whole C-contiguous buffers, and a buffer may be stored into itself. A Copy whose memory
// is not needed in the end costs nothing: it is evaluated in place.
Graph insert_copies(Graph graph);

void mark_needed(Plan* plan);
// Memory that is seen or stored to, reductions, NumPy loops.
void mark_required(Plan* plan);
// Values that are cheaper to store than to compute again, and values that must be computed in whole
// because of their floating-point checks although only parts are used.
void mark_worthwhile(Plan* plan);

}  // namespace numlift::codegen
