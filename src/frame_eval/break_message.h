// What people are told about a break: the log, numlift.Unsupported, nl.explain. The words are those
// of break_reasons.def.
#pragma once

#include <string>
#include <vector>

#include "numlift/frame_eval/break_reason.h"
#include "numlift/frame_eval/trace.h"
#include "numlift/py/ref.h"

namespace numlift::frame_eval {

// What happened, where, why, what numlift did about it, what to do.
std::string break_log_text(const BreakInfo& info, const std::string& function,
                           const std::string& what_was_done);
// Sets numlift.Unsupported as Python's error. Throws PyError.
void raise_unsupported(const BreakInfo& info);

}  // namespace numlift::frame_eval
