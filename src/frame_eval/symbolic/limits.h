// Bounds that keep a trace short whatever the code is.
#pragma once

#include <cstdint>

namespace numlift::frame_eval {

// Python calls nested in each other: each takes some C stack.
inline constexpr int kMaxInlineDepth = 100;
// Instructions of one trace: a loop that makes no nodes is bounded by it.
inline constexpr int64_t kMaxInstructions = 200'000;

}  // namespace numlift::frame_eval
