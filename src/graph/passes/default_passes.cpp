#include "numlift/graph/pass.h"
#include "numlift/graph/text.h"

namespace numlift {

void run_default_passes(Graph* graph) {
  auto check = [&](std::string_view stage) {
    if (verify_enabled()) check_verified(*graph, stage);
  };
  check("capture");
  fold_constants(graph);
  check("fold_constants");
  eliminate_common_subexpressions(graph);
  check("eliminate_common_subexpressions");
  eliminate_dead_code(graph);
  check("eliminate_dead_code");
}

}  // namespace numlift
