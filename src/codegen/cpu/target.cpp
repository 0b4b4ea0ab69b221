// Host CPU detection, the target machine, and the list of ops with native code.
#include "target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

#include <algorithm>
#include <cstdlib>

#include "llvm_versions.h"
#include "numlift/codegen/target.h"
#include "numlift/support/check.h"

namespace numlift::codegen::cpu {

namespace {

HostTarget detect() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  HostTarget target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  const bool avx512 = found.lookup("avx512f") && found.lookup("avx512dq") &&
                      found.lookup("avx512bw") && found.lookup("avx512vl");
  unsigned bytes = avx512 ? 64 : (found.lookup("avx2") ? 32 : 16);
  if (const char* limit = std::getenv("NUMLIFT_VECTOR_BYTES"))
    bytes = std::min(bytes, std::max(16u, static_cast<unsigned>(std::atoi(limit))));
  llvm::SubtargetFeatures features;
  for (const auto& feature : found) {
    const llvm::StringRef name = feature.getKey();
    const bool too_wide =
        (bytes < 64 && (name.starts_with("avx512") || name.starts_with("evex"))) ||
        (bytes < 32 && name == "f16c");
    features.AddFeature(name, feature.getValue() && !too_wide);
  }
  target.features = features.getString();
  target.vector_bytes = bytes;
  target.has_fma = found.lookup("fma");
  return target;
}

}  // namespace

const HostTarget& host_target() {
  static const HostTarget target = detect();
  return target;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine() {
  const HostTarget& host = host_target();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(host.triple, error);
  NUMLIFT_CHECK(target, "{}", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.TrapUnreachable = false;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple_argument(llvm::Triple(host.triple)), host.cpu, host.features, options,
      llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  NUMLIFT_CHECK(machine, "no target machine for {}", host.triple);
  return machine;
}

}  // namespace numlift::codegen::cpu
