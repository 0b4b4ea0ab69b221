#include "thread_state.h"

#include <string.h>

#if PY_VERSION_HEX >= 0x030C0000
#define Py_BUILD_CORE
#undef _PyGC_FINALIZED
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE
#endif

enum { kMostNestedCalls = 10000 };
static _Thread_local int nested_calls;

#if PY_VERSION_HEX >= 0x030C0000
static PyInterpreterState* interpreter; /* NumPy, and so numlift, lives in one of a process */

/* A byte an event: more than 8 of them. The last words looked at overlap. */
static inline int any_tool(const void* monitors, size_t size) {
  const char* bytes = (const char*)monitors;
  uint64_t any, word;
  memcpy(&any, bytes + size - sizeof any, sizeof any);
  for (size_t i = 0; i + sizeof word < size; i += sizeof word) {
    memcpy(&word, bytes + i, sizeof word);
    any |= word;
  }
  return any != 0;
}
#define ANY_TOOL(monitors) any_tool(&(monitors), sizeof(monitors))
#endif

void numlift_initialize_thread_state(void) {
#if PY_VERSION_HEX >= 0x030C0000
  _Static_assert(sizeof(_Py_GlobalMonitors) >= sizeof(uint64_t) &&
                     sizeof(_Py_LocalMonitors) >= sizeof(uint64_t),
                 "any_tool reads words");
  interpreter = PyInterpreterState_Get();
#endif
}

int numlift_is_watched(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030C0000
  /* Settrace and setprofile are tools of sys.monitoring, too. */
  if (ANY_TOOL(interpreter->monitors)) return 1;
  return code->_co_monitoring != NULL && ANY_TOOL(code->_co_monitoring->local_monitors);
#else
  (void)code;
  return PyThreadState_Get()->cframe->use_tracing != 0;
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
