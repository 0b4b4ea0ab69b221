// Helpers that generated code calls, and their table of names.
#include "runtime.h"

#include <emmintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "fp_checks.h"
#include "numlift/graph/scalar.h"
#include "vector_math.h"

// C's complex functions, which C++ headers hide. NumPy calls the same.
extern "C" {
#define NUMLIFT_COMPLEX_FUNCTIONS(X) \
  X(exp) X(log) X(sqrt) X(sin) X(cos) X(tan) X(sinh) X(cosh) X(tanh)
#define NUMLIFT_DECLARE(name)               \
  _Complex double c##name(_Complex double); \
  _Complex float c##name##f(_Complex float);
NUMLIFT_COMPLEX_FUNCTIONS(NUMLIFT_DECLARE)
#undef NUMLIFT_DECLARE
}

namespace numlift::codegen::cpu {

namespace {

// Scalar libm over the lanes of a vector that lies in memory.
void map1_f64(double (*function)(double), double* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] = function(x[i]);
}
void map1_f32(float (*function)(float), float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] = function(x[i]);
}
void map2_f64(double (*function)(double, double), double* x, const double* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] = function(x[i], y[i]);
}
void map2_f32(float (*function)(float, float), float* x, const float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] = function(x[i], y[i]);
}

// Complex functions; real and imaginary parts in two arrays.
template <class T, class C, C (*function)(C)>
void map_complex(T* re, T* im, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    C z;
    T* parts = reinterpret_cast<T*>(&z);
    parts[0] = re[i];
    parts[1] = im[i];
    const C result = function(z);
    re[i] = reinterpret_cast<const T*>(&result)[0];
    im[i] = reinterpret_cast<const T*>(&result)[1];
  }
}

void* scratch_alloc(int64_t size_bytes) {
  void* memory = nullptr;
  const size_t size = size_bytes > 0 ? static_cast<size_t>(size_bytes) : 1;
  return posix_memalign(&memory, 64, size) == 0 ? memory : nullptr;
}
void scratch_free(void* memory) { std::free(memory); }

// What LLVM calls where the CPU cannot convert float16: the half is passed in the low bits of a
// vector register.
float extend_half(__m128i bits) {
  return half_to_float(static_cast<uint16_t>(_mm_cvtsi128_si32(bits)));
}
__m128i truncate_to_half(float value) { return _mm_cvtsi32_si128(float_to_half(value)); }

template <class F>
void* address_of(F* function) {
  return reinterpret_cast<void*>(function);
}

std::vector<std::pair<std::string, void*>> make_symbols() {
  std::vector<std::pair<std::string, void*>> table = {
      {"numlift_parallel_for", address_of(&parallel_for)},
      {"numlift_check_values", address_of(&check_values)},
      {"numlift_chunk_size", address_of(&chunk_size)},
      {"numlift_run_long", address_of(&run_long)},
      {"numlift_poll", address_of(&poll)},
      {"numlift_run_numpy_loop", address_of(&run_numpy_loop)},
      {"numlift_scratch_alloc", address_of(&scratch_alloc)},
      {"numlift_scratch_free", address_of(&scratch_free)},
      {"numlift_map1_f64", address_of(&map1_f64)},
      {"numlift_map1_f32", address_of(&map1_f32)},
      {"numlift_map2_f64", address_of(&map2_f64)},
      {"numlift_map2_f32", address_of(&map2_f32)},
      {"__extendhfsf2", address_of(&extend_half)},
      {"__truncsfhf2", address_of(&truncate_to_half)},
      // LLVM writes calls to these for large copies and fills.
      {"memcpy", address_of(&memcpy)},
      {"memset", address_of(&memset)},
      {"memmove", address_of(&memmove)},
  };
  using C64 = _Complex float;
  using C128 = _Complex double;
#define NUMLIFT_COMPLEX(name)                                                                 \
  table.emplace_back("numlift_c64_" #name, address_of(&map_complex<float, C64, c##name##f>)); \
  table.emplace_back("numlift_c128_" #name, address_of(&map_complex<double, C128, c##name>));
  NUMLIFT_COMPLEX_FUNCTIONS(NUMLIFT_COMPLEX)
#undef NUMLIFT_COMPLEX
  append_math_symbols(&table);
  return table;
}

constexpr unsigned kInvalidFlag = 1, kDivideFlag = 4, kOverflowFlag = 8, kAllFlags = 0x3F;

}  // namespace

const std::vector<std::pair<std::string, void*>>& runtime_symbols() {
  static const auto* table = new std::vector<std::pair<std::string, void*>>(make_symbols());
  return *table;
}

int32_t run_long(ProgramFrame* frame, int32_t (*kernel)(ProgramFrame*)) noexcept {
  const RuntimeCallbacks* callbacks = frame->callbacks;
  if (!callbacks || !callbacks->release_gil) return kernel(frame);
  void* state = callbacks->release_gil(frame->context);
  const int32_t result = kernel(frame);
  callbacks->acquire_gil(frame->context, state);
  return result;
}

int64_t poll(ProgramFrame* frame, PollState* state) noexcept {
  constexpr int64_t kLookNs = 1'000'000, kAskNs = 5'000'000;
  constexpr int64_t kMostGrowth = 8, kMostInterval = int64_t{1} << 40;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  if (state->interval == 0) {
    *state = {now, now, 1};
    return 1;
  }
  const int64_t elapsed = std::max<int64_t>(now - state->seen_ns, 1);
  state->seen_ns = now;
  state->interval = elapsed < kLookNs / kMostGrowth
                        ? std::min(state->interval * kMostGrowth, kMostInterval)
                        : std::max<int64_t>(state->interval * kLookNs / elapsed, 1);
  if (now - state->asked_ns < kAskNs) return state->interval;
  state->asked_ns = now;
  const RuntimeCallbacks* callbacks = frame->callbacks;
  const bool must_stop = callbacks && callbacks->poll && callbacks->poll(frame->context) != 0;
  return must_stop ? 0 : state->interval;
}

int32_t run_numpy_loop(ProgramFrame* frame, void* function, void* data, char** args,
                       const int64_t* dims, int32_t dim_count, const int64_t* steps,
                       int32_t fp_checks) noexcept {
  if (dims[0] <= 0) return 0;
  double work = 1;
  for (int32_t i = 0; i < dim_count; ++i) work *= static_cast<double>(dims[i]);
  const auto loop =
      reinterpret_cast<void (*)(char**, const int64_t*, const int64_t*, void*)>(function);
  const RuntimeCallbacks* callbacks = frame->callbacks;
  // An elementwise loop costs some 10 operations an element, a product one a core element. Numeric
  // loops never touch Python objects.
  if (dim_count == 1) work *= 10;
  const bool release =
      callbacks && callbacks->release_gil && work >= static_cast<double>(kLongKernelCost);
  void* state = release ? callbacks->release_gil(frame->context) : nullptr;
  _mm_setcsr(_mm_getcsr() & ~kAllFlags);
  loop(args, dims, steps, data);
  const unsigned raised = _mm_getcsr();
  if (release) callbacks->acquire_gil(frame->context, state);
  unsigned wanted = 0;
  if (fp_checks & kFpInvalid) wanted |= kInvalidFlag;
  if (fp_checks & kFpDivide) wanted |= kDivideFlag;
  if (fp_checks & kFpOver) wanted |= kOverflowFlag;
  return (raised & wanted) != 0 ? 1 : 0;
}

}  // namespace numlift::codegen::cpu
