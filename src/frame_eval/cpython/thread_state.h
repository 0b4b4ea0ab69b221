/* What a compiled function asks of the thread it is called on. Plain C: pycore_interp.h is no C++
   on every supported version. */
#pragma once

#include "numlift/py/python.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tracer, profiler or sys.monitoring tool watches `code` (or all code): it must see real frames.
 */
int numlift_is_watched(PyCodeObject* code);
/* Before the first of these calls, in the interpreter that numlift was imported into. */
void numlift_initialize_thread_state(void);

/* Around a call of a Python function from C. On 3.12 and 3.13 each such call counts against the
   limit of C recursion, which is far below the user's recursion limit: given back here. */
void numlift_allow_python_call(PyThreadState* thread);
void numlift_forbid_python_call(PyThreadState* thread);
/* What then protects the C stack: how much of it is left. Returns 0 with RecursionError set. */
int numlift_has_stack(void);
/* Both. Returns what numlift_leave_original() is to be given, or -1 with RecursionError set. */
int numlift_enter_original(PyThreadState* thread);
void numlift_leave_original(PyThreadState* thread, int entered);

#ifdef __cplusplus
}
#endif
