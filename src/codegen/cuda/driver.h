// NVIDIA's driver as a table of functions, found with dlopen: of libcuda, or of any library with
// the same names. Nothing of CUDA is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace numlift::codegen::cuda {

using Context = struct DriverContext*;
using Stream = struct DriverStream*;
using Module = struct DriverModule*;
using Function = struct DriverFunction*;
using DevicePointer = unsigned long long;

struct DriverTable {
  std::string library;
  std::string missing;  // why the functions are null; empty: all are there
#define NUMLIFT_CUDA_FUNCTION(member, symbol, parameters) int(*member) parameters = nullptr;
#include "cuda/driver_functions.def"
#undef NUMLIFT_CUDA_FUNCTION
};

// Of the library that the option `cuda_driver` names. Loaded once a name; never freed.
const DriverTable& driver();

inline constexpr int kOutOfMemory = 2;
inline constexpr int kNoDevice = 100;

// Throws CudaError with what was tried, what the driver says, and what that means.
[[noreturn]] void fail_driver(const DriverTable& table, int error, const std::string& what);
inline void check_driver(const DriverTable& table, int error, const char* what) {
  if (error != 0) [[unlikely]]
    fail_driver(table, error, what);
}

}  // namespace numlift::codegen::cuda
