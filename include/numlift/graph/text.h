// Text form of a graph: print -> parse gives an equal graph (loops and externs by name). Goldens
// and pass tests rely on it. No addresses.
//
//   graph f(3 inputs)
//   symbols: s0 = dim(0, 0) ~1024, s1 = dim(0, 1) ~64
//   guard: s0 == s2 "operands of add have equal sizes along axis 0"
//   %0: f64[s0, s1] = placeholder {input=0, strides=[8*s1, 8]}
//   %1: f64[s0, s1] = add(%0, %0) {fp=7}   # user.py:12
//   return %1
//   mutates %5
#pragma once

#include <string>
#include <string_view>

#include "numlift/graph/graph.h"
#include "numlift/support/result.h"

namespace numlift {

std::string graph_text(const Graph& graph);
// The error names line and cause.
Result<Graph, std::string> parse_graph(std::string_view text);
std::string_view relation_word(SizeGuard::Relation relation);  // "==", "<", …
// One line a node: op, target, operands, as a table (compiled.entries, explain).
std::string graph_table(const Graph& graph);

// "" when all invariants of graph.h hold, else what is broken and where.
std::string verify(const Graph& graph);
// Throws InternalError with the text of verify().
void check_verified(const Graph& graph, std::string_view stage);
// On in tests and debug builds (option `verify`).
void set_verify_enabled(bool on);
bool verify_enabled();

}  // namespace numlift
