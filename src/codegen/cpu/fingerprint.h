// All that decides, beside the module itself, what machine code is made of it.
#pragma once

#include <string>

namespace numlift::codegen::cpu {

// The builds of this code and of LLVM (as the linker has marked them), LLVM's version, the target
// and its features. "" when this code carries no mark: then nothing may outlive the process.
//
// Not in it, since code only holds names of these, which are looked up when it is loaded: NumPy's
// loops, libm, vector functions (which of these there are shows in the module), our own helpers.
const std::string& code_fingerprint();

}  // namespace numlift::codegen::cpu
