// Bounds that keep a trace short whatever the code is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace numlift::frame_eval {

// Python calls nested in each other: each takes some C stack.
inline constexpr int kMaxInlineDepth = 100;
// Instructions of one trace: a loop that makes no nodes is bounded by it.
inline constexpr int64_t kMaxInstructions = 200'000;

// Loops of a known length up to this are unrolled; inside captured loops fewer.
inline constexpr int64_t kUnrolledTrips = 8, kUnrolledInside = 4;

// Operations of the iterations of one unrolled loop. Straight code may be longer
// (config.max_graph_nodes): it runs once.
inline constexpr size_t kMostUnrolledNodes = 3000;

// Items of one container that are followed one by one; of a dict or set, whose keys are compared
// one with another, fewer.
inline constexpr int64_t kMaxSequenceItems = 4096;
inline constexpr int64_t kMaxKeys = 512;

}  // namespace numlift::frame_eval
