// One call of a compiled function, from its arguments to its result. Private to
// compiled_function.cpp.
#pragma once

#include "function_state.h"

namespace numlift::frame_eval {

enum class Found : uint8_t {
  kResult,
  kCPython,  // nothing has happened: CPython runs the call
  kError,    // a Python error is set
};

// The boundary: whatever goes wrong inside numlift, the user's call goes on in CPython.
Found run_call(FunctionState& state, const guards::CallInputs& call, PyObject** result) noexcept;

}  // namespace numlift::frame_eval
