// A driver and a run-time compiler with the names of NVIDIA's, for machines without a GPU: modules
// are compiled for the host with shim.h, memory of the device is memory of its own, and a stream is
// a queue that is worked off when somebody waits for it. Any function can be made to fail.
//
// NUMLIFT_FAKE_CUDA: a folder for the compiled modules, which are kept by content.
// NUMLIFT_FAKE_CUDA_SHIM: the path of shim.h.
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotFound = 500, kLaunchFailed = 719;

struct Index {
  unsigned x, y, z;
};
struct Shim {
  Index thread, block, blocks;
  void (*barrier)();
};
struct FakeFunction {
  void (*run)(const void*);
  Shim** shim;
  size_t parameter_bytes;
  bool has_barriers;
};
struct FakeModule {
  void* library;
  std::map<std::string, std::unique_ptr<FakeFunction>> functions;
};

struct State {
  std::recursive_mutex mutex;
  std::map<std::string, std::pair<int, int>> failures;  // symbol: error, calls that still succeed
  std::map<unsigned long long, size_t> blocks;
  size_t used_bytes = 0, memory_bytes = size_t{4} << 30;
  int devices = 1;
  int64_t launches = 0, modules = 0, compiled = 0;
  std::deque<std::function<int()>> queue;
};
State& state() {
  static auto* known = new State();
  return *known;
}

int failure_of(const char* symbol) {
  const auto found = state().failures.find(symbol);
  if (found == state().failures.end() || found->second.second-- > 0) return 0;
  return found->second.first;
}

// ---------------------------------------------------------------- a block's threads

struct Fiber {
  ucontext_t context;
  std::jmp_buf place;
  std::unique_ptr<char[]> stack;
  bool started = false, done = false;
};
constexpr size_t kStackBytes = 128 * 1024;
std::vector<std::unique_ptr<Fiber>> fibers;
std::jmp_buf scheduler;
Fiber* current = nullptr;
const FakeFunction* running = nullptr;
const void* running_parameters = nullptr;

void fiber_main() {
  running->run(running_parameters);
  current->done = true;
  _longjmp(scheduler, 1);
}

void wait_at_barrier() {
  if (_setjmp(current->place) == 0) _longjmp(scheduler, 1);
}

// From one barrier to the next; 0 when all are at one, 1 when all have ended, 2 when they differ.
int run_phase(Shim* shim, unsigned threads) {
  unsigned ended = 0;
  for (volatile unsigned t = 0; t < threads; t = t + 1) {
    Fiber& fiber = *fibers[t];
    current = &fiber;
    shim->thread = {t, 0, 0};
    if (_setjmp(scheduler) == 0) {
      if (fiber.started) _longjmp(fiber.place, 1);
      fiber.started = true;
      setcontext(&fiber.context);
    }
    if (fibers[t]->done) ++ended;
  }
  return ended == threads ? 1 : (ended == 0 ? 0 : 2);
}

bool run_block_with_barriers(Shim* shim, unsigned threads) {
  while (fibers.size() < threads) {
    fibers.push_back(std::make_unique<Fiber>());
    fibers.back()->stack.reset(new char[kStackBytes]);
    getcontext(&fibers.back()->context);
  }
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = *fibers[t];
    fiber.started = fiber.done = false;
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, fiber_main, 0);
  }
  for (;;) {
    const int phase = run_phase(shim, threads);
    if (phase != 0) return phase == 1;
  }
}

void no_barrier() { std::abort(); }

int run_kernel(const FakeFunction& function, unsigned grid, unsigned threads,
               const std::vector<char>& parameters) {
  Shim shim{{0, 0, 0}, {0, 0, 0}, {grid, 1, 1}, no_barrier};
  *function.shim = &shim;
  running = &function;
  running_parameters = parameters.data();
  // Backwards, so that nothing hangs on the order of blocks.
  for (unsigned block = grid; block-- > 0;) {
    shim.block = {block, 0, 0};
    if (function.has_barriers) {
      shim.barrier = wait_at_barrier;
      if (!run_block_with_barriers(&shim, threads)) return kLaunchFailed;
      continue;
    }
    for (unsigned t = 0; t < threads; ++t) {
      shim.thread = {t, 0, 0};
      function.run(parameters.data());
    }
  }
  return 0;
}

int work_off() {
  while (!state().queue.empty()) {
    const auto work = std::move(state().queue.front());
    state().queue.pop_front();
    if (const int error = work()) {
      state().queue.clear();
      return error;
    }
  }
  return 0;
}

std::string folder() {
  const char* name = std::getenv("NUMLIFT_FAKE_CUDA");
  return name != nullptr ? name : "/tmp";
}

std::string read_file(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

uint64_t digest(const std::string& text) {
  uint64_t hash = 1469598103934665603ull;
  for (unsigned char c : text) hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

// A function that takes the address of the parameters, for each kernel.
std::string with_wrappers(const std::string& source) {
  static const std::string kStart = "extern \"C\" __global__ void __launch_bounds__(256) ";
  std::string wrappers =
      "#define NUMLIFT_EXPORT extern \"C\" __attribute__((visibility(\"default\")))\n";
  for (size_t at = source.find(kStart); at != std::string::npos;) {
    const size_t name_at = at + kStart.size(), name_end = source.find('(', name_at);
    const std::string name = source.substr(name_at, name_end - name_at);
    const size_t next = source.find(kStart, name_end);
    const std::string body = source.substr(name_end, next - name_end);
    const bool has_barriers = body.find("__syncthreads") != std::string::npos ||
                              body.find("over_block") != std::string::npos;
    wrappers += "NUMLIFT_EXPORT void shim_run_" + name + "(const void* p) { " + name + "(*(const " +
                name + "_parameters*)p); }\n";
    wrappers += "NUMLIFT_EXPORT const unsigned long shim_bytes_" + name + " = sizeof(" + name +
                "_parameters);\n";
    wrappers += "NUMLIFT_EXPORT const bool shim_barriers_" + name + " = " +
                (has_barriers ? "true" : "false") + ";\n";
    at = next;
  }
  return source + "\n" + wrappers;
}

struct FakeProgram {
  std::string source, image, log;
};

bool exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

int compile(FakeProgram* program) {
  const char* shim = std::getenv("NUMLIFT_FAKE_CUDA_SHIM");
  const std::string text =
      read_file(shim != nullptr ? shim : "shim.h") + with_wrappers(program->source);
  char name[64];
  std::snprintf(name, sizeof name, "/k%016llx", static_cast<unsigned long long>(digest(text)));
  const std::string base = folder() + name;
  program->image = base + ".so";
  if (exists(program->image)) return 0;
  const std::string own = base + "." + std::to_string(getpid());
  std::ofstream(own + ".cpp") << text;
  const std::string command =
      "g++ -std=c++17 -O1 -w -ffp-contract=off -fno-strict-aliasing -shared -fPIC "
      "-fvisibility=hidden -o " +
      own + ".so " + own + ".cpp > " + own + ".log 2>&1";
  const int status = std::system(command.c_str());
  program->log = status == 0 ? "" : read_file(own + ".log");
  if (status == 0) std::rename((own + ".so").c_str(), program->image.c_str());
  if (status == 0) std::remove((own + ".cpp").c_str());
  std::remove((own + ".log").c_str());
  return status == 0 ? 0 : 6;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))
#define ENTER(symbol)                                              \
  const std::lock_guard<std::recursive_mutex> lock(state().mutex); \
  if (const int error = failure_of(symbol)) return error

// ---------------------------------------------------------------- for tests

FAKE void fake_cuda_reset() {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().failures.clear();
  state().devices = 1;
  state().memory_bytes = size_t{4} << 30;
}
// The call of `symbol` after so many good ones fails, and all after it.
FAKE void fake_cuda_fail(const char* symbol, int error, int good_calls) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().failures[symbol] = {error, good_calls};
}
FAKE void fake_cuda_set_memory(size_t bytes) { state().memory_bytes = bytes; }
FAKE size_t fake_cuda_used_bytes() { return state().used_bytes; }
FAKE int64_t fake_cuda_launches() { return state().launches; }
FAKE int64_t fake_cuda_kernels_checked() { return state().modules; }

// ---------------------------------------------------------------- the driver

FAKE int cuInit(unsigned) {
  ENTER("cuInit");
  return 0;
}
FAKE int cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = state().devices;
  return 0;
}
FAKE int cuDeviceGet(int* device, int number) {
  ENTER("cuDeviceGet");
  *device = number;
  return 0;
}
FAKE int cuDeviceGetName(char* name, int bytes, int) {
  ENTER("cuDeviceGetName");
  std::snprintf(name, static_cast<size_t>(bytes), "no GPU at all");
  return 0;
}
FAKE int cuDeviceGetAttribute(int* value, int attribute, int) {
  ENTER("cuDeviceGetAttribute");
  *value = attribute == 75 ? 8 : (attribute == 76 ? 0 : 4);
  return 0;
}
FAKE int cuDevicePrimaryCtxRetain(void** context, int) {
  ENTER("cuDevicePrimaryCtxRetain");
  *context = &state();
  return 0;
}
FAKE int cuCtxSetCurrent(void*) {
  ENTER("cuCtxSetCurrent");
  return 0;
}
FAKE int cuStreamCreate(void** stream, unsigned) {
  ENTER("cuStreamCreate");
  *stream = &state();
  return 0;
}
FAKE int cuStreamSynchronize(void*) {
  ENTER("cuStreamSynchronize");
  return work_off();
}
FAKE int cuMemAlloc_v2(unsigned long long* memory, size_t bytes) {
  ENTER("cuMemAlloc_v2");
  if (bytes == 0) return kInvalidValue;
  if (state().used_bytes + bytes > state().memory_bytes) return kOutOfMemory;
  void* block = nullptr;
  if (posix_memalign(&block, 256, bytes) != 0) return kOutOfMemory;
  std::memset(block, 0xEE, bytes);
  *memory = reinterpret_cast<unsigned long long>(block);
  state().blocks[*memory] = bytes;
  state().used_bytes += bytes;
  return 0;
}
FAKE int cuMemFree_v2(unsigned long long memory) {
  ENTER("cuMemFree_v2");
  work_off();
  const auto block = state().blocks.find(memory);
  if (block == state().blocks.end()) return kInvalidValue;
  state().used_bytes -= block->second;
  state().blocks.erase(block);
  std::free(reinterpret_cast<void*>(memory));
  return 0;
}
// As the driver does with memory that is not pinned: the source is read before the call returns.
FAKE int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void*) {
  ENTER("cuMemcpyHtoDAsync_v2");
  auto copy = std::make_shared<std::vector<char>>(static_cast<const char*>(from),
                                                  static_cast<const char*>(from) + bytes);
  state().queue.push_back([=] {
    std::memcpy(reinterpret_cast<void*>(to), copy->data(), copy->size());
    return 0;
  });
  return 0;
}
FAKE int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void*) {
  ENTER("cuMemcpyDtoHAsync_v2");
  state().queue.push_back([=] {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return 0;
  });
  return 0;
}
FAKE int cuMemsetD8Async(unsigned long long memory, unsigned char value, size_t bytes, void*) {
  ENTER("cuMemsetD8Async");
  state().queue.push_back([=] {
    std::memset(reinterpret_cast<void*>(memory), value, bytes);
    return 0;
  });
  return 0;
}
FAKE int cuModuleLoadData(void** module, const void* image) {
  ENTER("cuModuleLoadData");
  void* library = dlopen(static_cast<const char*>(image), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 200;
  *module = new FakeModule{library, {}};
  return 0;
}
FAKE int cuModuleUnload(void* module) {
  ENTER("cuModuleUnload");
  work_off();
  auto* fake = static_cast<FakeModule*>(module);
  dlclose(fake->library);
  delete fake;
  return 0;
}
FAKE int cuModuleGetFunction(void** function, void* module, const char* name) {
  ENTER("cuModuleGetFunction");
  auto* fake = static_cast<FakeModule*>(module);
  const auto find = [&](const char* what) {
    return dlsym(fake->library, (std::string(what) + name).c_str());
  };
  void* run = find("shim_run_");
  if (run == nullptr) return kNotFound;
  auto made = std::make_unique<FakeFunction>();
  made->run = reinterpret_cast<void (*)(const void*)>(run);
  made->shim = static_cast<Shim**>(dlsym(fake->library, "numlift_shim"));
  made->parameter_bytes = *static_cast<unsigned long*>(find("shim_bytes_"));
  made->has_barriers = *static_cast<bool*>(find("shim_barriers_"));
  *function = made.get();
  fake->functions[name] = std::move(made);
  ++state().modules;
  return 0;
}
FAKE int cuLaunchKernel(void* function, unsigned grid, unsigned, unsigned, unsigned threads,
                        unsigned, unsigned, unsigned, void*, void** parameters, void**) {
  ENTER("cuLaunchKernel");
  if (grid == 0 || threads == 0) return kInvalidValue;
  const auto* fake = static_cast<const FakeFunction*>(function);
  const auto* first = static_cast<const char*>(parameters[0]);
  std::vector<char> copy(first, first + fake->parameter_bytes);
  ++state().launches;
  state().queue.push_back([=] { return run_kernel(*fake, grid, threads, copy); });
  return 0;
}
FAKE int cuGetErrorName(int error, const char** name) {
  static const std::map<int, const char*> kNames = {
      {1, "CUDA_ERROR_INVALID_VALUE"},     {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},       {200, "CUDA_ERROR_INVALID_IMAGE"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {999, "CUDA_ERROR_UNKNOWN"}};
  const auto known = kNames.find(error);
  *name = known == kNames.end() ? "CUDA_ERROR_OTHER" : known->second;
  return 0;
}

// ---------------------------------------------------------------- the compiler

FAKE int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
FAKE int nvrtcCreateProgram(void** program, const char* source, const char*, int,
                            const char* const*, const char* const*) {
  *program = new FakeProgram{source, "", ""};
  return 0;
}
FAKE int nvrtcCompileProgram(void* program, int, const char* const*) {
  ENTER("nvrtcCompileProgram");
  return compile(static_cast<FakeProgram*>(program));
}
FAKE int nvrtcGetCUBINSize(void* program, size_t* bytes) {
  *bytes = static_cast<FakeProgram*>(program)->image.size() + 1;
  return 0;
}
FAKE int nvrtcGetCUBIN(void* program, char* image) {
  std::strcpy(image, static_cast<FakeProgram*>(program)->image.c_str());
  return 0;
}
FAKE int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  *bytes = static_cast<FakeProgram*>(program)->log.size() + 1;
  return 0;
}
FAKE int nvrtcGetProgramLog(void* program, char* log) {
  std::strcpy(log, static_cast<FakeProgram*>(program)->log.c_str());
  return 0;
}
FAKE int nvrtcDestroyProgram(void** program) {
  delete static_cast<FakeProgram*>(*program);
  *program = nullptr;
  return 0;
}
