#include "driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "library.h"
#include "numlift/codegen/cuda.h"
#include "numlift/support/options.h"

namespace numlift::codegen::cuda {
namespace {

DriverTable load(const std::string& chosen) {
  DriverTable table;
  table.library = chosen.empty() ? "libcuda.so.1" : chosen;
  std::string tried;
  void* library = open_library({table.library}, &tried);
  if (library == nullptr) {
    table.missing = fmt::format("no CUDA device: {}, a part of NVIDIA's driver, is not installed",
                                table.library);
    return table;
  }
#define NUMLIFT_CUDA_FUNCTION(member, symbol, parameters)                           \
  table.member = reinterpret_cast<decltype(table.member)>(dlsym(library, #symbol)); \
  if (table.member == nullptr && table.missing.empty())                             \
    table.missing = fmt::format("no CUDA device: {} lacks " #symbol, table.library);
#include "cuda/driver_functions.def"
#undef NUMLIFT_CUDA_FUNCTION
  return table;
}

struct Meaning {
  int error;
  CudaError::Kind kind;
  const char* text;
};
// Of the errors that a user can do something about.
constexpr Meaning kMeanings[] = {
    {2, CudaError::Kind::kOutOfMemory,
     "the GPU's memory is full: use smaller arrays, or free those of "
     "other programs"},
    {100, CudaError::Kind::kNoDevice, "no CUDA device"},
    {101, CudaError::Kind::kNoDevice, "no CUDA device of that number"},
    {209, CudaError::Kind::kLaunchFailure, "the kernels are for another GPU"},
    {214, CudaError::Kind::kLostDevice, "the GPU's memory has an error that cannot be corrected"},
    {700, CudaError::Kind::kLaunchFailure, "a kernel has read or written where it must not"},
    {701, CudaError::Kind::kLaunchFailure, "a kernel asks for more than the GPU has"},
    {702, CudaError::Kind::kLaunchFailure, "a kernel has run too long for this GPU's watchdog"},
    {716, CudaError::Kind::kLaunchFailure, "a kernel has met an address that is not aligned"},
    {719, CudaError::Kind::kLaunchFailure, "a kernel has failed"},
    {46, CudaError::Kind::kLostDevice, "the GPU is in use by another program that wants it alone"},
    {999, CudaError::Kind::kLostDevice, "the GPU does not answer any more: start the process anew"},
};

}  // namespace

const DriverTable& driver() {
  static std::mutex mutex;
  static auto* tables = new std::map<std::string, DriverTable>();
  const std::string chosen = options().cuda_driver.get();
  const std::lock_guard lock(mutex);
  auto known = tables->find(chosen);
  if (known == tables->end()) known = tables->emplace(chosen, load(chosen)).first;
  return known->second;
}

void fail_driver(const DriverTable& table, int error, const std::string& what) {
  const char* name = nullptr;
  if (table.error_name == nullptr || table.error_name(error, &name) != 0 || name == nullptr)
    name = "unknown error";
  CudaError::Kind kind = CudaError::Kind::kOther;
  std::string text = fmt::format("CUDA: {} failed with {} ({})", what, name, error);
  for (const Meaning& meaning : kMeanings)
    if (meaning.error == error) {
      kind = meaning.kind;
      text = fmt::format("CUDA: {}: {} failed with {} ({})", meaning.text, what, name, error);
    }
  throw CudaError(kind, text);
}

}  // namespace numlift::codegen::cuda
