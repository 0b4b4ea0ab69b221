// Looking into containers the way guards may: no user code, no error left set.
#pragma once

#include "numlift/py/ref.h"

namespace numlift::guards {

// Null when absent.
BorrowedRef dict_get(BorrowedRef dict, BorrowedRef key);
// The dict that global names are looked up in after `globals`; null when it is not an exact dict.
BorrowedRef builtins_of(BorrowedRef globals);

// Of exactly collections.deque.
bool is_deque(BorrowedRef object);

}  // namespace numlift::guards
