#include "cpython/eval_frame.h"

#include <pthread.h>

#include "cpython/thread_state.h"

#define Py_BUILD_CORE
#if PY_VERSION_HEX >= 0x030C0000
#undef _PyGC_FINALIZED
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#include <internal/pycore_stackref.h>
#else
#include <internal/pycore_frame.h>
#endif
#undef Py_BUILD_CORE

/* Exported by CPython and declared in headers that are no public ones. */
extern PyObject* _PyEval_EvalFrameDefault(PyThreadState*, struct _PyInterpreterFrame*, int);
#if PY_VERSION_HEX >= 0x030D0000
extern void _PyEval_FrameClearAndPop(PyThreadState*, struct _PyInterpreterFrame*);
#endif

#if PY_VERSION_HEX >= 0x030C0000
#define REQUEST_INDEX PyUnstable_Eval_RequestCodeExtraIndex
#define GET_EXTRA PyUnstable_Code_GetExtra
#define SET_EXTRA PyUnstable_Code_SetExtra
#else
#define REQUEST_INDEX _PyEval_RequestCodeExtraIndex
#define GET_EXTRA _PyCode_GetExtra
#define SET_EXTRA _PyCode_SetExtra
#endif

static PyInterpreterState* interpreter;
static NumliftFrameHandler handle_frame;
static Py_ssize_t extra_index = -1;

static int all_regions;        /* of all threads */
static int regions_everywhere; /* those of them that hold for every thread */
static _Thread_local int own_regions;
static _Thread_local int pauses; /* frames under way that nothing is to be looked at in */
static _Thread_local PyObject* plain_function;

/* A call under way whose frame has not begun yet. */
typedef struct {
  PyObject* function;
  void (*entered)(void*);
  void* context;
} ExpectedFrame;
static _Thread_local ExpectedFrame expected;

static _PyFrameEvalFunction next_evaluator; /* the one that was there before */
static int is_installed;

/* ---------------------------------------------------------------- frames, by version */

static PyObject* function_of(NumliftFrame* frame) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyStackRef_AsPyObjectBorrow(frame->f_funcobj);
#elif PY_VERSION_HEX >= 0x030C0000
  return frame->f_funcobj;
#else
  return (PyObject*)frame->f_func;
#endif
}

static PyCodeObject* code_of(NumliftFrame* frame) {
#if PY_VERSION_HEX >= 0x030E0000
  return (PyCodeObject*)PyStackRef_AsPyObjectBorrow(frame->f_executable);
#elif PY_VERSION_HEX >= 0x030D0000
  return (PyCodeObject*)frame->f_executable;
#else
  return frame->f_code;
#endif
}

void numlift_frame_arguments(NumliftFrame* frame, PyObject** arguments, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
#if PY_VERSION_HEX >= 0x030E0000
    const _PyStackRef slot = frame->localsplus[i];
    arguments[i] = PyStackRef_IsNull(slot) ? NULL : PyStackRef_AsPyObjectBorrow(slot);
#else
    arguments[i] = frame->localsplus[i];
#endif
  }
}

void numlift_release_frame_arguments(NumliftFrame* frame, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
#if PY_VERSION_HEX >= 0x030E0000
    const _PyStackRef slot = frame->localsplus[i];
    frame->localsplus[i] = PyStackRef_NULL;
    PyStackRef_XCLOSE(slot);
#else
    Py_CLEAR(frame->localsplus[i]);
#endif
  }
}

#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
/* 3.12 has no way to drop a frame from outside. It does so itself when a frame returns: this code
   returns None at once. */
static PyCodeObject* returning_code;
static _Py_CODEUNIT* returning_unit;

static int initialize_returning(void) {
  PyObject* module = Py_CompileString("def f(): pass\n", "<numlift>", Py_file_input);
  if (module == NULL) return -1;
  PyObject* constants = ((PyCodeObject*)module)->co_consts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i) {
    if (PyCode_Check(PyTuple_GET_ITEM(constants, i))) {
      returning_code = (PyCodeObject*)Py_NewRef(PyTuple_GET_ITEM(constants, i));
    }
  }
  Py_DECREF(module);
  /* RESUME, RETURN_CONST. */
  if (returning_code == NULL || Py_SIZE(returning_code) != 2) {
    PyErr_SetString(PyExc_SystemError, "numlift does not know the code of an empty function");
    return -1;
  }
  returning_unit = _PyCode_CODE(returning_code) + 1;
  return 0;
}
#else
static int initialize_returning(void) { return 0; }
#endif

/* Ends a frame that has not run. The error that is set stays. */
static void finish_frame(PyThreadState* thread, NumliftFrame* frame) {
#if PY_VERSION_HEX >= 0x030D0000
  _PyEval_FrameClearAndPop(thread, frame);
#elif PY_VERSION_HEX >= 0x030C0000
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* code = (PyObject*)frame->f_code;
  frame->f_code = (PyCodeObject*)Py_NewRef((PyObject*)returning_code);
  frame->prev_instr = returning_unit - 1;
  /* Whatever the limits are: it calls nothing. */
  thread->c_recursion_remaining += 8;
  thread->py_recursion_remaining += 8;
  PyObject* none = _PyEval_EvalFrameDefault(thread, frame, 0);
  thread->py_recursion_remaining -= 8;
  thread->c_recursion_remaining -= 8;
  Py_XDECREF(none);
  Py_DECREF(code);
  PyErr_Restore(type, value, traceback);
#else
  (void)thread; /* the caller of the hook does it */
  (void)frame;
#endif
}

/* ---------------------------------------------------------------- the hook */

/* A frame of a function's call that begins now: no step of a generator, no module. */
static int is_call(NumliftFrame* frame, PyCodeObject* code, int throws) {
  const int wanted = CO_OPTIMIZED;
  const int others = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  return !throws && frame->owner == FRAME_OWNED_BY_THREAD &&
         (code->co_flags & (wanted | others)) == wanted;
}

static PyObject* run_next(PyThreadState* thread, NumliftFrame* frame, int throws) {
  numlift_allow_python_call(thread);
  PyObject* result = next_evaluator(thread, frame, throws);
  numlift_forbid_python_call(thread);
  return result;
}

static void note_entered(NumliftFrame* frame) {
  if (expected.function == NULL || expected.function != function_of(frame)) return;
  const ExpectedFrame begun = expected;
  expected.function = NULL;
  begun.entered(begun.context);
}

static PyObject* evaluate(PyThreadState* thread, NumliftFrame* frame, int throws);

static void install(void) {
  if (is_installed) return; /* another hook that came later still calls ours */
  next_evaluator = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
  is_installed = 1;
}

static void remove_hook(void) {
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != evaluate) return;
  _PyInterpreterState_SetEvalFrameFunc(interpreter, next_evaluator);
  is_installed = 0;
}

/* A debugger or profiler looks at this thread. While a hook stands in the interpreter, CPython
   enters frames by other ways, and reports some exceptions twice: until the frame has ended there
   is none. */
static PyObject* run_unhooked(PyThreadState* thread, NumliftFrame* frame, int throws) {
  remove_hook();
  PyObject* result = run_next(thread, frame, throws);
  if (all_regions != 0) install();
  return result;
}

static PyObject* evaluate(PyThreadState* thread, NumliftFrame* frame, int throws) {
  PyCodeObject* code = code_of(frame);
  const int begins = is_call(frame, code, throws);
  if (begins) {
    note_entered(frame);
    if (!numlift_has_stack()) {
      finish_frame(thread, frame);
      return NULL;
    }
  }
  if (thread->c_tracefunc != NULL || thread->c_profilefunc != NULL) {
    return run_unhooked(thread, frame, throws);
  }
  if (!begins) return run_next(thread, frame, throws);
  if ((own_regions == 0 && regions_everywhere == 0) || pauses != 0) {
    return run_next(thread, frame, throws);
  }
  PyObject* function = function_of(frame);
  if (plain_function == function) {
    plain_function = NULL;
    return run_next(thread, frame, throws);
  }
  void* kept = NULL;
  if (GET_EXTRA((PyObject*)code, extra_index, &kept) < 0) PyErr_Clear();
  if (kept == NUMLIFT_PLAIN_CODE) return run_next(thread, frame, throws);
  PyObject* result = NULL;
  switch (handle_frame(frame, function, code, kept, &result)) {
    case NUMLIFT_FRAME_IS_DONE:
      finish_frame(thread, frame);
      return result;
    case NUMLIFT_RUN_PLAINLY:
      ++pauses;
      result = run_next(thread, frame, throws);
      --pauses;
      return result;
    case NUMLIFT_RUN_FRAME:
      break;
  }
  return run_next(thread, frame, throws);
}

/* ---------------------------------------------------------------- regions */

/* For one frame, where no region is. */
static PyObject* evaluate_one(PyThreadState* thread, NumliftFrame* frame, int throws) {
  _PyInterpreterState_SetEvalFrameFunc(interpreter, next_evaluator);
  note_entered(frame);
  return next_evaluator(thread, frame, throws);
}

PyObject* numlift_call_and_let_go(PyObject* function, PyObject* const* arguments, size_t count,
                                  void (*entered)(void*), void* context) {
  const ExpectedFrame before = expected;
  expected = (ExpectedFrame){function, entered, context};
  if (!is_installed) {
    next_evaluator = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    /* Nothing comes between this and the frame: the GIL is not given away. */
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate_one);
  }
  PyObject* result = PyObject_Vectorcall(function, arguments, count, NULL);
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate_one) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter, next_evaluator); /* there was no frame */
  }
  expected = before;
  return result;
}

/* The threads of the others' regions are not there any more. */
static void begin_child(void) { all_regions = own_regions + regions_everywhere; }

int numlift_initialize_frames(NumliftFrameHandler handler, void (*free_kept)(void*)) {
  interpreter = PyInterpreterState_Get();
  handle_frame = handler;
  next_evaluator = _PyEval_EvalFrameDefault;
  extra_index = REQUEST_INDEX(free_kept);
  if (extra_index < 0) {
    PyErr_SetString(PyExc_RuntimeError, "CPython has no room left for data of code objects");
    return -1;
  }
  if (pthread_atfork(NULL, NULL, begin_child) != 0) {
    PyErr_NoMemory();
    return -1;
  }
  return initialize_returning();
}

int numlift_keep_with_code(PyCodeObject* code, void* kept) {
  return SET_EXTRA((PyObject*)code, extra_index, kept);
}

int numlift_enter_region(int everywhere) {
  if (PyInterpreterState_Get() != interpreter) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "numlift compiles in one interpreter of a process only: the first that imported "
        "it");
    return -1;
  }
  ++*(everywhere ? &regions_everywhere : &own_regions);
  if (++all_regions == 1) install();
  return 0;
}

void numlift_leave_region(int everywhere) {
  --*(everywhere ? &regions_everywhere : &own_regions);
  if (--all_regions == 0) remove_hook();
}

int numlift_hook_is_installed(void) { return is_installed; }

int numlift_is_in_region(void) {
  return (own_regions != 0 || regions_everywhere != 0) && pauses == 0;
}

PyObject* numlift_exchange_plain_function(PyObject* function) {
  PyObject* before = plain_function;
  plain_function = function;
  return before;
}
