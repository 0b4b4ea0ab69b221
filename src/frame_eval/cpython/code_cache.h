// Decoded bytecode kept in the code object it was decoded from. For this folder only.
#pragma once

#include "numlift/frame_eval/bytecode.h"

namespace numlift {

// Null when nothing is kept.
std::shared_ptr<const Bytecode> find_decoded(BorrowedRef code);
// Keeps it until `code` dies, and hands it out.
std::shared_ptr<const Bytecode> keep_decoded(BorrowedRef code, std::unique_ptr<Bytecode> decoded);

}  // namespace numlift
