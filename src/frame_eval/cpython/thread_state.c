#include "cpython/thread_state.h"

#include "cpython/eval_frame.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x030C0000
#define Py_BUILD_CORE
#undef _PyGC_FINALIZED
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE
#endif

static _Thread_local uintptr_t stack_end; /* 0: not known yet */

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

void numlift_allow_python_call(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
  thread->c_recursion_remaining += 2;
#else
  (void)thread;
#endif
}

void numlift_forbid_python_call(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
  thread->c_recursion_remaining -= 2;
#else
  (void)thread;
#endif
}

/* Deep calls may use the stack of this thread down to here: a call of ours, the tracer or a code
   generator still have room below. */
static void find_stack_end(void) {
  enum { kWantedRoom = 512 * 1024 };
  pthread_attr_t attributes;
  void* low = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    if (pthread_attr_getstack(&attributes, &low, &size) != 0) size = 0;
    pthread_attr_destroy(&attributes);
  }
  const size_t room = size / 4 < kWantedRoom ? size / 4 : kWantedRoom;
  stack_end = size == 0 ? 1 : (uintptr_t)low + room;
}

int numlift_has_stack(void) {
  if (stack_end == 0) find_stack_end();
  if ((uintptr_t)__builtin_frame_address(0) > stack_end) return 1;
  PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
  return 0;
}

int numlift_enter_original(PyThreadState* thread) {
  if (!numlift_has_stack()) return -1;
  if (numlift_hook_is_installed()) return 0; /* it does so for each frame */
  numlift_allow_python_call(thread);
  return 1;
}

void numlift_leave_original(PyThreadState* thread, int entered) {
  if (entered) numlift_forbid_python_call(thread);
}
