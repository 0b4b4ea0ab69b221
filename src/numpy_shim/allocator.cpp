// Blocks begin with a 64-byte header, then the data. NumPy passes sizes to free() that can differ
// from the allocation's (a user may have assigned shape or dtype), so the header alone is trusted.
#include "numlift/numpy_shim/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "numlift/support/options.h"

namespace numlift::numpy_shim {
namespace {

constexpr size_t kHeaderBytes = 64;
constexpr size_t kBigBytes = size_t{1} << 20;
constexpr size_t kHugePageBytes = size_t{2} << 20;
constexpr size_t kPageBytes = 4096;
constexpr int kBigClass = -1;
// Four classes a power of two from 64 bytes to 1 MiB.
constexpr int kClassCount = 14 * 4 + 1;
constexpr size_t kKeptBytesPerClass = size_t{512} << 10;

struct Header {
  int32_t size_class;
  size_t capacity;  // bytes of data
  Header* next;     // in a free list
};
static_assert(sizeof(Header) <= kHeaderBytes);

void* data_of(Header* header) { return reinterpret_cast<char*>(header) + kHeaderBytes; }
Header* header_of(void* data) {
  return reinterpret_cast<Header*>(static_cast<char*>(data) - kHeaderBytes);
}

struct FreeList {
  Header* first = nullptr;
  size_t room = 0;  // so many more blocks may be kept
};

constexpr size_t capacity_of(int size_class) {
  if (size_class == 0) return 64;
  const size_t base = size_t{64} << (size_class - 1) / 4;
  return base + static_cast<size_t>((size_class - 1) % 4 + 1) * (base / 4);
}
static_assert(capacity_of(kClassCount - 1) == kBigBytes);

// Guarded by the GIL, which every caller holds: an atomic operation would cost more than all the
// rest of a small allocation.
struct Pool {
  Pool() {
    for (int c = 0; c < kClassCount; ++c) {
      small[c].room = std::max<size_t>(2, kKeptBytesPerClass / capacity_of(c));
    }
  }
  FreeList small[kClassCount];
  std::vector<Header*> big;  // oldest first
  int64_t kept_bytes = 0;
  int64_t live_blocks = 0;
};
// Leaked on purpose: arrays are freed after static destructors have run.
Pool& pool = *new Pool;

// Smallest class that holds `bytes` (1 to kBigBytes).
int class_of(size_t bytes) {
  if (bytes <= 64) return 0;
  const int power =
      static_cast<int>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes <= 2^(power + 1)
  const size_t base = size_t{1} << power;
  const size_t quarter = base / 4;
  const size_t step = (bytes - base + quarter - 1) / quarter;  // 1 to 4
  return (power - 6) * 4 + static_cast<int>(step);
}

Header* map_big(size_t capacity) {
  const size_t wanted = capacity + kHeaderBytes;
  const size_t mapped = wanted + kHugePageBytes;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (start + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
  if (aligned > start) munmap(raw, aligned - start);
  const uintptr_t end = start + mapped;
  if (end > aligned + wanted)
    munmap(reinterpret_cast<void*>(aligned + wanted), end - aligned - wanted);
  madvise(reinterpret_cast<void*>(aligned), wanted, MADV_HUGEPAGE);
  auto* header = reinterpret_cast<Header*>(aligned);
  *header = Header{kBigClass, capacity, nullptr};
  return header;
}
void unmap_big(Header* header) { munmap(header, header->capacity + kHeaderBytes); }

// Best fit among the kept blocks: not more than a quarter larger than asked for.
Header* take_kept(size_t capacity) {
  std::vector<Header*>& big = pool.big;
  size_t best = big.size();
  for (size_t i = 0; i < big.size(); ++i) {
    const size_t have = big[i]->capacity;
    if (have < capacity || have - capacity > capacity / 4) continue;
    if (best == big.size() || have < big[best]->capacity) best = i;
  }
  if (best == big.size()) return nullptr;
  Header* header = big[best];
  big.erase(big.begin() + static_cast<ptrdiff_t>(best));
  pool.kept_bytes -= static_cast<int64_t>(header->capacity);
  return header;
}

void keep_or_unmap(Header* header) {
  const auto bytes = static_cast<int64_t>(header->capacity);
  const int64_t limit = options().cache_limit_bytes.load(std::memory_order_relaxed);
  while (!pool.big.empty() && pool.kept_bytes + bytes > limit) {
    Header* oldest = pool.big.front();
    pool.kept_bytes -= static_cast<int64_t>(oldest->capacity);
    pool.big.erase(pool.big.begin());
    unmap_big(oldest);
  }
  if (bytes > limit) {
    unmap_big(header);
    return;
  }
  pool.big.push_back(header);
  pool.kept_bytes += bytes;
}

void* allocate_small(int size_class) {
  const size_t capacity = capacity_of(size_class);
  auto* header = static_cast<Header*>(std::aligned_alloc(64, capacity + kHeaderBytes));
  if (header == nullptr) return nullptr;
  *header = Header{size_class, capacity, nullptr};
  ++pool.live_blocks;
  return data_of(header);
}

void* allocate_big(size_t bytes) {
  if (bytes > static_cast<size_t>(PTRDIFF_MAX) - 2 * kHugePageBytes) return nullptr;
  // Whole pages, header included.
  const size_t capacity =
      ((bytes + kHeaderBytes + kPageBytes - 1) & ~(kPageBytes - 1)) - kHeaderBytes;
  Header* header = take_kept(capacity);
  if (header == nullptr) header = map_big(capacity);
  if (header == nullptr) {
    pool_release();
    header = map_big(capacity);
  }
  if (header == nullptr) return nullptr;
  ++pool.live_blocks;
  return data_of(header);
}

void* handler_malloc(void*, size_t bytes) { return pool_allocate(bytes); }
void* handler_calloc(void*, size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  void* block = pool_allocate(count * size);
  if (block != nullptr) std::memset(block, 0, count * size);
  return block;
}
void* handler_realloc(void*, void* block, size_t bytes) {
  if (block == nullptr) return pool_allocate(bytes);
  const size_t old_capacity = header_of(block)->capacity;
  if (bytes <= old_capacity && bytes >= old_capacity / 2) return block;
  void* moved = pool_allocate(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(bytes, old_capacity));
  pool_free(block);
  return moved;
}
void handler_free(void*, void* block, size_t) { pool_free(block); }

PyDataMem_Handler handler{
    "numlift", 1, {nullptr, handler_malloc, handler_calloc, handler_realloc, handler_free}};
PyObject* handler_capsule = nullptr;  // kept for the process

}  // namespace

void* pool_allocate(size_t bytes) noexcept {
  if (bytes > kBigBytes - kHeaderBytes) return allocate_big(bytes);
  const int size_class = class_of(bytes);
  FreeList& list = pool.small[size_class];
  Header* header = list.first;
  if (header == nullptr) return allocate_small(size_class);
  list.first = header->next;
  ++list.room;
  ++pool.live_blocks;
  return data_of(header);
}

void pool_free(void* block) noexcept {
  if (block == nullptr) return;
  --pool.live_blocks;
  Header* header = header_of(block);
  if (header->size_class == kBigClass) {
    keep_or_unmap(header);
    return;
  }
  FreeList& list = pool.small[header->size_class];
  if (list.room == 0) {
    std::free(header);
    return;
  }
  --list.room;
  header->next = list.first;
  list.first = header;
}

void pool_release() noexcept {
  for (FreeList& list : pool.small) {
    Header* header = std::exchange(list.first, nullptr);
    for (; header != nullptr; ++list.room) std::free(std::exchange(header, header->next));
  }
  for (Header* header : pool.big) unmap_big(header);
  pool.big = {};
  pool.kept_bytes = 0;
}

PoolStats pool_stats() noexcept { return {pool.live_blocks, pool.kept_bytes}; }

void initialize_allocator() {
  // NumPy compares the name each time it frees an array. Where neither string may lie near the end
  // of a page, which glibc decides by the bits of both addresses, that is one vector comparison.
  alignas(4096) static const char kName[] = "mem_handler";
  handler_capsule = checked(PyCapsule_New(&handler, kName, nullptr)).release();
}

BorrowedRef memory_handler() { return handler_capsule; }

}  // namespace numlift::numpy_shim
