// The one caching allocator for results and temporaries.
//
// Fresh pages are the hidden cost of large arrays (docs/design.md, Memory), so freed blocks are
// kept: small ones in free lists by size class, big ones (from 1 MiB) up to
// options().cache_limit_bytes. All blocks are aligned to 64 bytes. Every call needs the GIL.
#pragma once

#include "numlift/py/python.h"

#include <cstddef>
#include <cstdint>

#include "numlift/py/ref.h"

namespace numlift::numpy_shim {

// Null when there is no memory. The content is not set. bytes = 0 gives a block too.
void* pool_allocate(size_t bytes) noexcept;
void pool_free(void* block) noexcept;
// Gives all kept blocks back to the system.
void pool_release() noexcept;

struct PoolStats {
  int64_t live_blocks = 0;  // handed out and not freed
  int64_t kept_bytes = 0;   // big blocks kept for reuse
};
PoolStats pool_stats() noexcept;

// NumPy memory handler (NEP 49) over the pool: set on our result arrays, so that NumPy frees and
// resizes them through it. Created by initialize_allocator(); lives as long as the process, since
// arrays may outlive the module.
void initialize_allocator();
BorrowedRef memory_handler();

}  // namespace numlift::numpy_shim
