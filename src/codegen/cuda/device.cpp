// Asks NVIDIA's driver, found with dlopen, for devices.
#include <dlfcn.h>
#include <fmt/format.h>

#include "numlift/codegen/cuda.h"

namespace numlift::codegen {
namespace {

constexpr const char* kDriver = "libcuda.so.1";

// The library stays loaded: the driver has threads of its own.
std::string find_device() {
  void* driver = dlopen(kDriver, RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr)
    return fmt::format("no CUDA device: {}, a part of NVIDIA's driver, is not installed", kDriver);
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  if (init == nullptr || count_devices == nullptr)
    return fmt::format("no CUDA device: {} lacks cuInit or cuDeviceGetCount", kDriver);
  int count = 0;
  int error = init(0);
  if (error == 0) error = count_devices(&count);
  constexpr int kNoDevice = 100;
  if (error != 0 && error != kNoDevice)
    return fmt::format("no CUDA device: NVIDIA's driver answers with error {}", error);
  if (count == 0) return "no CUDA device: NVIDIA's driver finds no GPU that this process may use";
  return "";
}

}  // namespace

const std::string& missing_for_cuda() {
  static const std::string missing = find_device();
  return missing;
}

}  // namespace numlift::codegen
