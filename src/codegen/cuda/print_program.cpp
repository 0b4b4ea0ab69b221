#include "print_program.h"

#include <fmt/format.h>

#include <cctype>

#include "device_text.h"
#include "numlift/codegen/cuda.h"
#include "nvrtc.h"

namespace numlift::codegen {
namespace cuda {
namespace {

// The function's name, as far as it is one in C.
std::string identifier(const std::string& name) {
  std::string result = "nl_";
  for (char c : name) result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return result;
}

}  // namespace

std::string ProgramKernels::source() const { return device_text() + kernels_text; }

ProgramKernels print_program(const Program& program) {
  ProgramKernels result;
  const std::string name = identifier(program.graph.name);
  size_t nests = 0;
  for (const Step& step : program.steps) {
    const auto* nest = std::get_if<NestStep>(&step);
    if (nest == nullptr) {
      result.steps.emplace_back();
      continue;
    }
    result.steps.push_back(print_kernels(program, nest->nest, fmt::format("{}_{}", name, nests++)));
    for (const Kernel& kernel : result.steps.back().kernels) {
      result.kernels_text += "\n" + kernel.text;
      ++result.kernel_count;
    }
  }
  return result;
}

}  // namespace cuda

std::string cuda_kernels_text(const Program& program) {
  return cuda::print_program(program).kernels_text;
}

std::string missing_cuda_compiler() { return cuda::missing_nvrtc(); }

std::string cuda_compiler_messages(const std::string& kernels, int arch) {
  const auto image = cuda::compile_cuda(cuda::device_text() + kernels, "kernels", arch);
  return image ? image->log : image.error();
}

}  // namespace numlift::codegen
