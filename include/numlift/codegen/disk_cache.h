// Machine code that outlives the process (options disk_cache, cache_dir, cache_key,
// disk_cache_bytes).
//
// emit_native() asks for the object code of a program by a digest of all that decides it: the LLVM
// module before optimisation, the target and its features, the builds of numlift and LLVM, the
// option cache_key. So there is no entry that could be out of date, only some that nobody asks for.
#pragma once

#include <cstdint>
#include <string>

#include "numlift/codegen/program.h"

namespace numlift::codegen {

// Until this is called nothing is read or written, whatever the options say. Reads the default
// directory from the environment, which other threads may change later; called while none does.
void allow_disk_cache(bool allowed = true);

struct DiskCacheInfo {
  std::string directory;  // "" when it is off
  uint64_t found = 0;     // programs whose code was loaded
  uint64_t missed = 0;    // programs that were compiled although the cache was asked
  uint64_t stored = 0;
};
DiskCacheInfo disk_cache_info();
// Loaded, not compiled.
bool is_from_disk(const NativeCode& code);

}  // namespace numlift::codegen
