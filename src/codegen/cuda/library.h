// A shared library that may not be there.
#pragma once

#include <string>
#include <vector>

namespace numlift::codegen::cuda {

// The first of `names` that can be loaded, null when none can; *tried says which and why not. It
// stays loaded: such libraries have threads of their own.
void* open_library(const std::vector<std::string>& names, std::string* tried);

}  // namespace numlift::codegen::cuda
