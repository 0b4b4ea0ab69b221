// Regions in which every Python function that a thread calls is compiled, as if it were decorated
// (numlift.compile_region, python -m numlift).
#pragma once

#include "numlift/py/python.h"

#include "numlift/frame_eval/compiled_function.h"

namespace numlift::frame_eval {

// Once, when the module is imported. Throws PyError.
void initialize_frame_hook();

// `everywhere`: on all threads. Throws PyError. Each is left on the thread that entered it, the
// last one first.
void enter_region(const CompileOptions& options, bool everywhere);
void leave_region();
// Whether calls on this thread are looked at now.
bool is_in_region();

struct RegionStats {
  uint64_t looked_at = 0;  // calls that were not known to have nothing to gain
  uint64_t functions = 0;  // that were looked at so far, each once for its code and globals
};
RegionStats region_stats();

}  // namespace numlift::frame_eval
