// The only way to Python.h. Comes first in every file that needs CPython.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
