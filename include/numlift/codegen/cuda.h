// What this machine has of CUDA. Nothing of it is linked: the driver is looked for when it is asked
// for, so that one build runs on machines with and without.
#pragma once

#include <string>

namespace numlift::codegen {

// "" when there is a device to run on, else what is missing: "no CUDA device: ...". Asked once in a
// process.
const std::string& missing_for_cuda();

}  // namespace numlift::codegen
