/* The frame evaluation hook (PEP 523): regions in which every call of a Python function is looked
   at when its frame begins. Plain C: CPython's frames are no C++ on every supported version.

   The hook stands in the interpreter only while some thread is in a region. Elsewhere a call costs
   what it always does. Used with the GIL held. */
#pragma once

#include "numlift/py/python.h"

#ifdef __cplusplus
extern "C" {
#endif

struct _PyInterpreterFrame;
typedef struct _PyInterpreterFrame NumliftFrame;

typedef enum {
  NUMLIFT_RUN_FRAME,    /* CPython runs it */
  NUMLIFT_RUN_PLAINLY,  /* so it does, and nothing that is called from it is looked at */
  NUMLIFT_FRAME_IS_DONE /* *result is what the call gives; null: an error is set */
} NumliftDecision;

/* Of a frame whose function has just been called, with its arguments bound. `kept` is what
   numlift_keep_with_code() was given for its code, or null. Must not raise nor throw. */
typedef NumliftDecision (*NumliftFrameHandler)(NumliftFrame* frame, PyObject* function,
                                               PyCodeObject* code, void* kept, PyObject** result);
/* Once, in the interpreter that numlift was imported into. `free_kept` gets what was kept with a
   code object that dies. Returns -1 with an error set. */
int numlift_initialize_frames(NumliftFrameHandler handler, void (*free_kept)(void*));

/* Of frames with this code nothing is asked. As `kept`. */
#define NUMLIFT_PLAIN_CODE ((void*)1)
/* Takes over `kept`. Returns -1 with an error set. */
int numlift_keep_with_code(PyCodeObject* code, void* kept);

/* `everywhere`: of all threads, not of this one only. Returns -1 with an error set: in another
   interpreter than numlift's. */
int numlift_enter_region(int everywhere);
void numlift_leave_region(int everywhere);
int numlift_is_in_region(void);
int numlift_hook_is_installed(void);

/* The next frame of `function` on this thread is not looked at. Returns what was set before. */
PyObject* numlift_exchange_plain_function(PyObject* function);

/* Calls a Python function with positional arguments. entered(context) is called when its frame has
   references of its own to them: then nobody else needs to hold any, and they die when the function
   lets go of them. */
PyObject* numlift_call_and_let_go(PyObject* function, PyObject* const* arguments, size_t count,
                                  void (*entered)(void*), void* context);

/* ---- for the handler */
/* The first `count` slots, borrowed; null where nothing is. */
void numlift_frame_arguments(NumliftFrame* frame, PyObject** arguments, Py_ssize_t count);
/* Drops them. The frame must not run afterwards. */
void numlift_release_frame_arguments(NumliftFrame* frame, Py_ssize_t count);

#ifdef __cplusplus
}
#endif
