#include "symbolic/numpy_ufuncs.h"
