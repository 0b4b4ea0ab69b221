#include "common_constants.h"

#if PY_VERSION_HEX >= 0x030E0000
#define Py_BUILD_CORE
#undef _PyGC_FINALIZED
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE
#endif

PyObject* numlift_common_constant(int number) {
#if PY_VERSION_HEX >= 0x030E0000
  /* Not looked up by name: what `builtins.all` is now may be another object. */
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  const int count = (int)(sizeof interpreter->common_consts / sizeof interpreter->common_consts[0]);
  return number >= 0 && number < count ? interpreter->common_consts[number] : NULL;
#else
  return number == 0 ? PyExc_AssertionError : NULL;
#endif
}
