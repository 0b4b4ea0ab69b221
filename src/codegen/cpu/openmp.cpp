// Parallel loops on libomp, entered through the compiler's own interface (__kmpc_fork_call).
//
// Promises: the result does not depend on the number of threads (chunks depend on sizes only; which
// thread takes a chunk does not matter); workers sleep at once when a loop is done; several Python
// threads may run loops at the same time; in a forked child loops are serial, because libomp's
// workers do not exist there.
//
// libomp is loaded with dlopen, by its own file name in the folder of LLVM, so that a program that
// already has another OpenMP run time keeps it.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "numlift/codegen/compile.h"
#include "numlift/support/log.h"
#include "numlift/support/options.h"
#include "runtime.h"

namespace numlift::codegen::cpu {

namespace {

// libomp's ident_t: place in the source, unused by us; flag 2 says "called by the compiler".
struct Ident {
  int32_t reserved_1 = 0;
  int32_t flags = 2;
  int32_t reserved_2 = 0;
  int32_t reserved_3 = 0;
  const char* source = ";numlift;parallel_for;0;0;;";
};
Ident ident;

using Microtask = void (*)(int32_t* global_id, int32_t* team_id, ...);

struct OpenMp {
  void (*fork_call)(Ident*, int32_t argc, Microtask, ...) = nullptr;
  void (*push_num_threads)(Ident*, int32_t id, int32_t count) = nullptr;
  int32_t (*global_thread_num)(Ident*) = nullptr;
  void (*set_blocktime)(int milliseconds) = nullptr;
  int (*get_max_threads)() = nullptr;
  bool loaded = false;
};
OpenMp openmp;
std::once_flag load_once;
std::atomic<bool> forked{false};
std::atomic<int> thread_count{0};  // 0: libomp's own default (OMP_NUM_THREADS, affinity)

template <class F>
bool find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

void load_openmp() {
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  void* library = dlopen(NUMLIFT_LIBOMP, RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libomp.so.5", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    log(LogChannel::perf_hints, "libomp was not found: parallel loops run on one thread");
    return;
  }
  openmp.loaded = find(library, "__kmpc_fork_call", &openmp.fork_call) &&
                  find(library, "__kmpc_push_num_threads", &openmp.push_num_threads) &&
                  find(library, "__kmpc_global_thread_num", &openmp.global_thread_num) &&
                  find(library, "kmp_set_blocktime", &openmp.set_blocktime) &&
                  find(library, "omp_get_max_threads", &openmp.get_max_threads);
}

struct ParallelTask {
  LoopBody body;
  ProgramFrame* frame;
  void* captures;
  int64_t extent;
  int64_t chunk;
  int64_t chunk_count;
  std::atomic<int64_t> next{0};
  std::atomic<int32_t> restart{0};
};

void run_chunk(ParallelTask* task, int64_t chunk) {
  const int64_t begin = chunk * task->chunk;
  const int64_t end = std::min(task->extent, begin + task->chunk);
  if (task->body(task->frame, task->captures, begin, end, chunk) != 0)
    task->restart.store(1, std::memory_order_relaxed);
}

// Threads take the next chunk when they are free. After a restart the rest is not worth doing.
void run_task(int32_t*, int32_t*, ParallelTask* task) {
  while (task->restart.load(std::memory_order_relaxed) == 0) {
    const int64_t chunk = task->next.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= task->chunk_count) return;
    run_chunk(task, chunk);
  }
}

// A work item of the option is a dear operation: waking a worker costs some 10 to 50 microseconds.
constexpr int64_t kCostPerWorkItem = 16;

int threads_for(int64_t cost, int64_t chunk_count) {
  if (chunk_count < 2 || cost / kCostPerWorkItem < options().parallel_threshold || !openmp.loaded ||
      forked.load(std::memory_order_relaxed))
    return 1;
  return static_cast<int>(std::min<int64_t>(get_num_threads(), chunk_count));
}

}  // namespace

void initialize_openmp() { std::call_once(load_once, load_openmp); }

int64_t chunk_size(int64_t extent, int64_t work, int64_t granule) noexcept {
  constexpr int64_t kChunkWork = 16384;
  constexpr int64_t kRound = 1024;  // whole blocks of sums, whole cache lines
  if (extent <= 0) return 1;
  if (work <= kChunkWork) return extent;  // no divisions for small loops
  const int64_t work_per_iteration = std::max<int64_t>(work / extent, 1);
  int64_t chunk = std::max<int64_t>(kChunkWork / work_per_iteration, 1);
  chunk = std::max(chunk, (extent + kMaxChunks - 1) / kMaxChunks);
  if (chunk >= kRound) granule = kRound;
  return (chunk + granule - 1) / granule * granule;
}

int32_t parallel_for(LoopBody body, ProgramFrame* frame, void* captures, int64_t extent,
                     int64_t chunk, int64_t cost, int32_t fixed_chunks) noexcept {
  if (extent <= 0) return 0;
  const int64_t chunk_count = extent <= chunk ? 1 : (extent + chunk - 1) / chunk;
  const int threads = threads_for(cost, chunk_count);
  if (threads == 1 && (fixed_chunks == 0 || chunk_count == 1))
    return body(frame, captures, 0, extent, 0);

  ParallelTask task{body, frame, captures, extent, chunk, chunk_count};
  if (threads == 1) {
    run_task(nullptr, nullptr, &task);
  } else {
    // Both settings belong to the calling thread, which may be new.
    thread_local const bool sleeps_early = (openmp.set_blocktime(0), true);
    static_cast<void>(sleeps_early);
    openmp.push_num_threads(&ident, openmp.global_thread_num(&ident), threads);
    openmp.fork_call(&ident, 1, reinterpret_cast<Microtask>(&run_task), &task);
  }
  return task.restart.load(std::memory_order_relaxed);
}

}  // namespace numlift::codegen::cpu

namespace numlift::codegen {

void set_num_threads(int count) {
  cpu::thread_count.store(std::max(count, 0), std::memory_order_relaxed);
}

int get_num_threads() {
  const int own = cpu::thread_count.load(std::memory_order_relaxed);
  if (own > 0) return own;
  const int64_t option = options().num_threads;
  if (option > 0) return static_cast<int>(option);
  cpu::initialize_openmp();
  return cpu::openmp.loaded ? std::max(cpu::openmp.get_max_threads(), 1) : 1;
}

}  // namespace numlift::codegen
