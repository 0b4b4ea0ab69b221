// Programs on a CUDA device. Nothing of CUDA is linked: the driver and the run-time compiler are
// looked for when they are asked for, so that one build runs on machines with and without.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "numlift/codegen/program.h"

namespace numlift::codegen {

// "" when there is a device to run on and a compiler, else what is missing: "no CUDA device: ...".
std::string missing_for_cuda();

// The kernels of a program as CUDA C++, without the text that all modules begin with.
std::string cuda_kernels_text(const Program& program);

// "" when NVRTC is there, else what was looked for.
std::string missing_cuda_compiler();
// What NVRTC says of kernels (as cuda_kernels_text() gives them) for compute capability `arch`:
// errors and warnings; "" when there are none.
std::string cuda_compiler_messages(const std::string& kernels, int arch);

// A call of the driver failed.
class CudaError : public std::runtime_error {
 public:
  enum class Kind : uint8_t { kNoDevice, kOutOfMemory, kLaunchFailure, kLostDevice, kOther };
  CudaError(Kind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// A program whose loop nests run on the device. The host drives the steps; memory is copied when
// the other side needs it, and what the device cannot run is run on the host.
class CudaProgram {
 public:
  virtual ~CudaProgram() = default;
  // As ProgramFunction; results and stored inputs are in the host's memory at the end. Throws
  // CudaError, which names the user's line.
  virtual ExitCode run(ProgramFrame* frame) = 0;
  virtual std::string source() const = 0;
};
// `program` outlives it. Throws CudaError when there is no device or the compiler refuses.
std::unique_ptr<CudaProgram> make_cuda_program(const Program& program);

// Copies between host and device since the start of the process.
int64_t cuda_transfer_count();
// Gives freed device memory that is kept for reuse back to the driver.
void cuda_release_memory();

}  // namespace numlift::codegen
