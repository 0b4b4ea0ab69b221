// NVIDIA's run-time compiler, found with dlopen: of a system toolkit, or of the pip wheel.
#pragma once

#include <string>

#include "numlift/support/result.h"

namespace numlift::codegen::cuda {

struct CudaImage {
  std::string cubin;
  std::string log;  // warnings; empty when there are none
};

// "" when there is a compiler, else what is missing. The option `nvrtc` names the library; asked
// again when it changes.
std::string missing_nvrtc();
// Which compiler it is, for keys of caches.
std::string nvrtc_identity();
// For compute capability `arch` (80, 90). Fails with the compiler's text.
Result<CudaImage, std::string> compile_cuda(const std::string& source, const std::string& name,
                                            int arch);

}  // namespace numlift::codegen::cuda
