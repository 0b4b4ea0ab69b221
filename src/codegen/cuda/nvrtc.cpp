#include "nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>
#include <vector>

#include "library.h"
#include "numlift/support/options.h"

namespace numlift::codegen::cuda {
namespace {

using Handle = struct NvrtcProgram*;

// name, parameters: all give an error number, 0 for none.
#define NUMLIFT_NVRTC_FUNCTIONS(X)                                                    \
  X(nvrtcVersion, (int*, int*))                                                       \
  X(nvrtcCreateProgram,                                                               \
    (Handle*, const char*, const char*, int, const char* const*, const char* const*)) \
  X(nvrtcCompileProgram, (Handle, int, const char* const*))                           \
  X(nvrtcGetCUBINSize, (Handle, size_t*))                                             \
  X(nvrtcGetCUBIN, (Handle, char*))                                                   \
  X(nvrtcGetProgramLogSize, (Handle, size_t*))                                        \
  X(nvrtcGetProgramLog, (Handle, char*))                                              \
  X(nvrtcDestroyProgram, (Handle*))

struct Nvrtc {
  std::string missing;  // why the functions are null
#define NUMLIFT_MEMBER(name, parameters) int(*name) parameters = nullptr;
  NUMLIFT_NVRTC_FUNCTIONS(NUMLIFT_MEMBER)
#undef NUMLIFT_MEMBER
};

Nvrtc load(const std::string& chosen) {
  Nvrtc table;
  std::vector<std::string> names = {chosen};
  if (chosen.empty()) {
    names.clear();
    for (const char* folder : {"", "/usr/local/cuda/lib64/"})
      for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
        names.push_back(std::string(folder) + name);
  }
  std::string tried;
  void* library = open_library(names, &tried);
  if (library == nullptr) {
    table.missing = fmt::format(
        "no CUDA compiler: NVRTC was not found (tried {}); install a CUDA toolkit or the wheel "
        "nvidia-cuda-nvrtc, or name the library in numlift.config.nvrtc",
        tried);
    return table;
  }
#define NUMLIFT_LOAD(name, parameters)                                        \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, #name)); \
  if (table.name == nullptr && table.missing.empty())                         \
    table.missing = "no CUDA compiler: the NVRTC that was found lacks " #name;
  NUMLIFT_NVRTC_FUNCTIONS(NUMLIFT_LOAD)
#undef NUMLIFT_LOAD
  return table;
}

Nvrtc nvrtc() {
  static std::mutex mutex;
  static bool loaded = false;
  static std::string name;
  static Nvrtc table;
  const std::string chosen = options().nvrtc.get();
  const std::lock_guard lock(mutex);
  if (!loaded || chosen != name) {
    table = load(chosen);
    name = chosen;
    loaded = true;
  }
  return table;
}

std::string log_of(const Nvrtc& table, Handle program) {
  size_t bytes = 0;
  if (table.nvrtcGetProgramLogSize(program, &bytes) != 0 || bytes <= 1) return "";
  std::string log(bytes, '\0');
  if (table.nvrtcGetProgramLog(program, log.data()) != 0) return "";
  log.resize(log.find_last_not_of(std::string_view("\0\n ", 3)) + 1);
  return log;
}

}  // namespace

std::string missing_nvrtc() { return nvrtc().missing; }

std::string nvrtc_identity() {
  const Nvrtc table = nvrtc();
  int major = 0, minor = 0;
  if (table.nvrtcVersion != nullptr) table.nvrtcVersion(&major, &minor);
  return fmt::format("{} {}.{}", options().nvrtc.get(), major, minor);
}

Result<CudaImage, std::string> compile_cuda(const std::string& source, const std::string& name,
                                            int arch) {
  const Nvrtc table = nvrtc();
  if (!table.missing.empty()) return Failure<std::string>{table.missing};
  Handle program = nullptr;
  const std::string file = name + ".cu";
  if (table.nvrtcCreateProgram(&program, source.c_str(), file.c_str(), 0, nullptr, nullptr) != 0)
    return Failure<std::string>{"NVRTC takes no program"};
  const std::string architecture = fmt::format("--gpu-architecture=sm_{}", arch);
  // Arithmetic as in the text: no contraction, IEEE division and roots (the default). Indices and
  // results that a kernel does not use are the generator's business.
  const char* const flags[] = {architecture.c_str(), "--std=c++17", "--fmad=false",
                               "--diag-suppress=177,550"};
  const int error = table.nvrtcCompileProgram(program, static_cast<int>(std::size(flags)), flags);
  CudaImage image;
  image.log = log_of(table, program);
  std::string failure;
  size_t bytes = 0;
  if (error != 0)
    failure = fmt::format("NVRTC refuses the kernels (error {}):\n{}", error, image.log);
  else if (table.nvrtcGetCUBINSize(program, &bytes) != 0)
    failure = "NVRTC gives no code";
  else {
    image.cubin.resize(bytes);
    if (table.nvrtcGetCUBIN(program, image.cubin.data()) != 0) failure = "NVRTC gives no code";
  }
  table.nvrtcDestroyProgram(&program);
  if (!failure.empty()) return Failure<std::string>{failure};
  return image;
}

}  // namespace numlift::codegen::cuda
