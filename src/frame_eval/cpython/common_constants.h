/* The constants that bytecode names by number because the interpreter owns them. Plain C, as
   thread_state.h. */
#pragma once

#include "numlift/py/python.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Borrowed; NULL when the running version has none of that number. Up to 3.13 there is one, number
   0: AssertionError. */
PyObject* numlift_common_constant(int number);

#ifdef __cplusplus
}
#endif
