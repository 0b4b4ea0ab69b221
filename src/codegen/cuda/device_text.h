// What every CUDA module begins with, in the order in which it is printed.
#pragma once

#include <string>

namespace numlift::codegen::cuda {

// Types, memory, casts between sizes, integers.
extern const char* const kDeviceTypes;
// Floats and complex numbers, tests, casts.
extern const char* const kDeviceFloats;
// Reductions of a thread, a block and a grid.
extern const char* const kDeviceReductions;

std::string device_text();

}  // namespace numlift::codegen::cuda
