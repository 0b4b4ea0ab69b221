// The functions of resume_code.h where the arguments of a call would live until it returns: CPython
// keeps them so while a hook stands in the interpreter. There a function calls hold(values...)
// before it calls the one for the inner frame, which begins with take(): that gives the values in a
// tuple and forgets them.
#pragma once

#include "numlift/frame_eval/resume_code.h"

namespace numlift {

struct Handover {
  BorrowedRef hold, take;
};

// `handover`: how the function itself gets its values; null: they are its arguments.
Ref make_rest_function(const SuspendedFrame& frame, const Handover* handover);
// `inner_handover`: how `inner` gets its values. `forget`: called without arguments when `inner`
// raises and a handler of the frame's is about to run, so that its values are not needed again;
// null: nobody keeps them.
Ref make_outer_function(const SuspendedFrame& frame, BorrowedRef inner, size_t inner_values,
                        BorrowedRef left, BorrowedRef forget, const Handover* handover,
                        const Handover* inner_handover);
UnitFunction make_unit_function(const SuspendedFrame& frame, const SuspendedFrame& at_unit,
                                BorrowedRef leave, const Handover* handover);

}  // namespace numlift
