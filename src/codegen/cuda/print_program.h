// All kernels of a program: one CUDA module.
#pragma once

#include <string>
#include <vector>

#include "kernel.h"

namespace numlift::codegen::cuda {

struct ProgramKernels {
  std::vector<NestKernels> steps;  // by step; empty for all but nests
  std::string kernels_text;        // without what all modules share
  int kernel_count = 0;

  std::string source() const;
};

ProgramKernels print_program(const Program& program);

}  // namespace numlift::codegen::cuda
