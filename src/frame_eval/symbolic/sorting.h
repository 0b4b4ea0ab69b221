// sorted(), list.sort(): stable order of constant keys.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// keywords: key, reverse. Throws Break when the order depends on run-time values.
std::vector<Sym> sort_items(Interpreter& interpreter, const std::vector<Sym>& items,
                            const std::vector<std::pair<Ref, Sym>>& keywords);

}  // namespace numlift::frame_eval
