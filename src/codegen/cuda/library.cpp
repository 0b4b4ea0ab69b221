#include "library.h"

#include <dlfcn.h>

namespace numlift::codegen::cuda {

void* open_library(const std::vector<std::string>& names, std::string* tried) {
  for (const std::string& name : names) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    *tried += (tried->empty() ? "" : ", ") + name;
  }
  return nullptr;
}

}  // namespace numlift::codegen::cuda
