// The machine that code is made for. One object, made once; private to codegen/cpu.
#pragma once

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
}

namespace numlift::codegen::cpu {

struct HostTarget {
  std::string triple;
  std::string cpu;
  std::string features;
  // Bytes of the vectors that loops are written for: 64 with AVX-512, 32 with AVX2, else 16.
  unsigned vector_bytes = 16;
  bool has_fma = false;
  // NUMLIFT_VECTOR_BYTES in the environment lowers vector_bytes, so that tests reach the narrower
  // code; 16 also stands for a CPU without instructions for float16.
};

// Loads LLVM's x86 target on first use. Thread safe.
const HostTarget& host_target();

// Strict IEEE arithmetic: nothing contracted, nothing reassociated. Not thread safe in use.
std::unique_ptr<llvm::TargetMachine> make_target_machine();

}  // namespace numlift::codegen::cpu
