// One call of a compiled function, from its arguments to its result. Private to
// compiled_function.cpp and frame_hook.cpp.
#pragma once

#include "function_state.h"

namespace numlift::frame_eval {

enum class Found : uint8_t {
  kResult,
  kCPython,  // nothing has happened: CPython runs the call
  kError,    // a Python error is set
};

// Called when the call's own arguments are not needed any more though it goes on: whoever owns them
// may drop them, as a Python function's frame does when its variables change.
struct Leaving {
  void (*drop_arguments)(void* context);
  void* context;
};

// The boundary: whatever goes wrong inside numlift, the user's call goes on in CPython. `leaving`
// may be null.
Found run_call(FunctionState& state, const guards::CallInputs& call, const Leaving* leaving,
               PyObject** result) noexcept;
// The same with a short way for the usual call.
Found run_bound(FunctionState& state, const guards::CallInputs& call, const Leaving* leaving,
                PyObject** result) noexcept;

}  // namespace numlift::frame_eval
