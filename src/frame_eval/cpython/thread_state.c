#include "thread_state.h"

#if PY_VERSION_HEX >= 0x030C0000
#define Py_BUILD_CORE
#undef _PyGC_FINALIZED
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE
#endif

enum { kMostNestedCalls = 10000 };
static _Thread_local int nested_calls;

#if PY_VERSION_HEX >= 0x030C0000
static int any_tool(const void* monitors, size_t size) {
  const unsigned char* bytes = (const unsigned char*)monitors;
  unsigned char any = 0;
  for (size_t i = 0; i < size; ++i) any |= bytes[i];
  return any != 0;
}
#endif

int numlift_is_watched(PyThreadState* thread, PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030C0000
  /* Settrace and setprofile are tools of sys.monitoring, too. */
  if (any_tool(&thread->interp->monitors, sizeof thread->interp->monitors)) return 1;
  return code->_co_monitoring != NULL && any_tool(&code->_co_monitoring->local_monitors,
                                                  sizeof code->_co_monitoring->local_monitors);
#else
  (void)code;
  return thread->cframe->use_tracing != 0;
#endif
}

int numlift_enter_original(PyThreadState* thread) {
  if (nested_calls >= kMostNestedCalls) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
    return -1;
  }
  ++nested_calls;
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
  thread->c_recursion_remaining += 2;
#else
  (void)thread;
#endif
  return 0;
}

void numlift_leave_original(PyThreadState* thread) {
  --nested_calls;
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
  thread->c_recursion_remaining -= 2;
#else
  (void)thread;
#endif
}
