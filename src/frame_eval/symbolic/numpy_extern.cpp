#include "symbolic/numpy_extern.h"

namespace numlift::frame_eval {

Sym call_extern_unknown(Tracer& tracer, const CallArguments& arguments) {
  if (arguments.get_unless_none("out")) {
    throw_break("unsupported_numpy", fmt::format("{} with out=", arguments.entry->path));
  }
  return tracer.extern_call(arguments.callable, arguments.positional, arguments.keywords,
                            arguments.entry->path, ExternDims::kUnknown);
}

}  // namespace numlift::frame_eval
