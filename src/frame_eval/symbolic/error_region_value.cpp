#include "symbolic/error_region_value.h"

#include "symbolic/builtins.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

std::optional<CallShape> ErrorRegionExit::shape() const {
  return CallShape{Ref::create(known_object("numlift.explain", "_entered")),
                   {interpreter.boolean(state->is_error)},
                   {},
                   0};
}

Sym leave_error_region(Interpreter&, const CallArguments&) {
  throw_break("with_statement",
              "the end of an error_on_graph_break() block that has a graph break");
}

Sym make_error_region(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("error_on_graph_break", arguments);
  read.expect(1, 1);
  const auto wanted = pure_constant(interpreter, read[0], "a setting");
  if (!wanted || !PyBool_Check(wanted->get())) {
    throw_break("unsupported_call", "error_on_graph_break() of something that is no bool");
  }
  return std::make_shared<ErrorRegionValue>(wanted->get() == Py_True);
}

}  // namespace numlift::frame_eval
