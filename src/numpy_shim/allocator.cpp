// Blocks begin with a 64-byte header, then the data. NumPy passes sizes to free() that can differ
// from the allocation's (a user may have assigned shape or dtype), so the header alone is trusted.
#include "numlift/numpy_shim/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
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

class SpinLock {
 public:
  void lock() noexcept {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() noexcept { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

struct FreeList {
  SpinLock lock;
  Header* first = nullptr;
  size_t count = 0;
};

struct Pool {
  FreeList small[kClassCount];
  std::mutex big_lock;
  std::vector<Header*> big;  // oldest first
  std::atomic<int64_t> kept_bytes{0};
  std::atomic<int64_t> live_blocks{0};
};
// Leaked on purpose: arrays are freed after static destructors have run.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

// Smallest class that holds `bytes` (1 to kBigBytes) and its size.
int class_of(size_t bytes, size_t* capacity) {
  if (bytes <= 64) {
    *capacity = 64;
    return 0;
  }
  const int power =
      static_cast<int>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes <= 2^(power + 1)
  const size_t base = size_t{1} << power;
  const size_t quarter = base / 4;
  const size_t step = (bytes - base + quarter - 1) / quarter;  // 1 to 4
  *capacity = base + step * quarter;
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
  Pool& p = pool();
  const std::lock_guard guard(p.big_lock);
  size_t best = p.big.size();
  for (size_t i = 0; i < p.big.size(); ++i) {
    const size_t have = p.big[i]->capacity;
    if (have < capacity || have - capacity > capacity / 4) continue;
    if (best == p.big.size() || have < p.big[best]->capacity) best = i;
  }
  if (best == p.big.size()) return nullptr;
  Header* header = p.big[best];
  p.big.erase(p.big.begin() + static_cast<ptrdiff_t>(best));
  p.kept_bytes -= static_cast<int64_t>(header->capacity);
  return header;
}

void keep_or_unmap(Header* header) {
  Pool& p = pool();
  const auto bytes = static_cast<int64_t>(header->capacity);
  const int64_t limit = options().cache_limit_bytes.load(std::memory_order_relaxed);
  std::vector<Header*> dropped;
  {
    const std::lock_guard guard(p.big_lock);
    while (!p.big.empty() && p.kept_bytes + bytes > limit) {
      dropped.push_back(p.big.front());
      p.kept_bytes -= static_cast<int64_t>(p.big.front()->capacity);
      p.big.erase(p.big.begin());
    }
    if (bytes <= limit) {
      p.big.push_back(header);
      p.kept_bytes += bytes;
      header = nullptr;
    }
  }
  if (header != nullptr) dropped.push_back(header);
  for (Header* one : dropped) unmap_big(one);
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
  Pool& p = pool();
  if (bytes <= kBigBytes - kHeaderBytes) {
    size_t capacity = 0;
    const int size_class = class_of(bytes, &capacity);
    FreeList& list = p.small[size_class];
    list.lock.lock();
    Header* header = list.first;
    if (header != nullptr) {
      list.first = header->next;
      --list.count;
    }
    list.lock.unlock();
    if (header == nullptr) {
      header = static_cast<Header*>(std::aligned_alloc(64, capacity + kHeaderBytes));
      if (header == nullptr) return nullptr;
      *header = Header{size_class, capacity, nullptr};
    }
    p.live_blocks.fetch_add(1, std::memory_order_relaxed);
    return data_of(header);
  }
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
  p.live_blocks.fetch_add(1, std::memory_order_relaxed);
  return data_of(header);
}

void pool_free(void* block) noexcept {
  if (block == nullptr) return;
  Pool& p = pool();
  p.live_blocks.fetch_sub(1, std::memory_order_relaxed);
  Header* header = header_of(block);
  if (header->size_class == kBigClass) {
    keep_or_unmap(header);
    return;
  }
  FreeList& list = p.small[header->size_class];
  const size_t most = std::max<size_t>(2, kKeptBytesPerClass / header->capacity);
  list.lock.lock();
  if (list.count < most) {
    header->next = list.first;
    list.first = header;
    ++list.count;
    header = nullptr;
  }
  list.lock.unlock();
  std::free(header);
}

void pool_release() noexcept {
  Pool& p = pool();
  for (FreeList& list : p.small) {
    list.lock.lock();
    Header* header = std::exchange(list.first, nullptr);
    list.count = 0;
    list.lock.unlock();
    while (header != nullptr) std::free(std::exchange(header, header->next));
  }
  std::vector<Header*> big;
  {
    const std::lock_guard guard(p.big_lock);
    big.swap(p.big);
    p.kept_bytes = 0;
  }
  for (Header* header : big) unmap_big(header);
}

PoolStats pool_stats() noexcept { return {pool().live_blocks.load(), pool().kept_bytes.load()}; }

void initialize_allocator() {
  handler_capsule = checked(PyCapsule_New(&handler, "mem_handler", nullptr)).release();
}

BorrowedRef memory_handler() { return handler_capsule; }

}  // namespace numlift::numpy_shim
