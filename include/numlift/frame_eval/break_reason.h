// The table of break_reasons.def, and a break as Python sees it.
#pragma once

#include "numlift/py/python.h"

#include <span>
#include <string>
#include <string_view>

#include "numlift/frame_eval/trace.h"
#include "numlift/py/ref.h"

namespace numlift::frame_eval {

struct BreakReason {
  std::string_view id, code, text, explanation;
  std::string_view hints;  // one a line
};
std::span<const BreakReason> break_reasons();
// Throws InternalError for a category that the table does not have.
const BreakReason& break_reason(const std::string& category);

// numlift.Unsupported: set once, kept for the process.
void set_unsupported_class(BorrowedRef unsupported);

// A dict: reason, code, category, explanation, hints (a list of str), user_stack (a list of
// traceback.FrameSummary, outermost first). Throws PyError.
Ref break_attributes(const BreakInfo& info);
// The same of a loop that is not captured: reason, place.
Ref loop_attributes(const LoopLeft& loop);

}  // namespace numlift::frame_eval
