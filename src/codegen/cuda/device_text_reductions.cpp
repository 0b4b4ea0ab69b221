// Reductions: what a thread holds of one, and how the threads of a block and the blocks of a grid
// are combined. The order depends on the extents only, never on the scheduling of blocks.
#include <string>

#include "device_text.h"

namespace numlift::codegen::cuda {

const char* const kDeviceReductions = R"CUDA(
#define NL_BLOCK 256
#define NL_PARTIAL_BYTES 32

template <class T> struct nl_held { typedef T type; };
template <> struct nl_held<f16> { typedef f32 type; };
template <class T>
NL_DEVICE T nl_lowest() {
  if constexpr (nl_same<T, bool>::value) return false;
  else if constexpr (nl_same<T, f16>::value) return nl_half(0xFC00);
  else if constexpr (nl_same<T, f32>::value) return nl_bits<f32>(0xFF800000u);
  else if constexpr (nl_same<T, f64>::value) return nl_bits<f64>(0xFFF0000000000000ull);
  else return nl_integer<T>::least;
}
template <class T>
NL_DEVICE T nl_highest() {
  if constexpr (nl_same<T, bool>::value) return true;
  else if constexpr (nl_same<T, f16>::value) return nl_half(0x7C00);
  else if constexpr (nl_same<T, f32>::value) return nl_bits<f32>(0x7F800000u);
  else if constexpr (nl_same<T, f64>::value) return nl_bits<f64>(0x7FF0000000000000ull);
  else return nl_integer<T>::most;
}

// A state is plain memory: it travels through shared memory and between kernels. `seen` of sums and
// products: 1 a NaN, 2 an infinity was among the operands.
template <class T> struct nl_value_state { T value; u32 seen; };
template <class T> struct nl_place_state { T value; i64 position; };

template <class T>
struct nl_sum_or_product {
  typedef T Operand;
  typedef typename nl_held<T>::type Held;
  typedef nl_value_state<Held> State;
  static NL_METHOD State of(T x) { return {(Held)x, (u32)(nl_isnan(x) ? 1 : 0) | (nl_isinf(x) ? 2 : 0)}; }
  // With both a NaN and an infinity among the operands, infinity minus infinity cannot be excluded.
  template <class R>
  static NL_METHOD R result(State s, int fp_checks, bool& bad) {
    if (!nl_isfinite(s.value)) {
      if ((fp_checks & 4) && nl_isnan(s.value) && (!(s.seen & 1) || (s.seen & 2))) bad = true;
      if ((fp_checks & 2) && nl_isinf(s.value) && !(s.seen & 2)) bad = true;
    }
    return nl_cast<R>(s.value, bad);
  }
};
template <class T>
struct nl_sum : nl_sum_or_product<T> {
  typedef typename nl_sum_or_product<T>::State State;
  typedef typename nl_sum_or_product<T>::Held Held;
  static NL_METHOD State identity() {
    bool ignored = false;
    return {nl_cast<Held>(0, ignored), 0};
  }
  static NL_METHOD State merge(State a, State b) {
    if constexpr (nl_same<T, bool>::value) return {a.value || b.value, 0};
    else if constexpr (nl_kind<Held>::is_integer) return {nl_add(a.value, b.value), 0};
    else return {a.value + b.value, a.seen | b.seen};
  }
};
template <class T>
struct nl_product : nl_sum_or_product<T> {
  typedef typename nl_sum_or_product<T>::State State;
  typedef typename nl_sum_or_product<T>::Held Held;
  static NL_METHOD State identity() {
    bool ignored = false;
    return {nl_cast<Held>(1, ignored), 0};
  }
  static NL_METHOD State merge(State a, State b) {
    if constexpr (nl_same<T, bool>::value) return {a.value && b.value, 0};
    else if constexpr (nl_kind<Held>::is_integer) return {nl_multiply(a.value, b.value), 0};
    else return {a.value * b.value, a.seen | b.seen};
  }
};
#define NL_SELECTION(name, OperandType, first, combine)                                        \
  template <class T>                                                                           \
  struct name {                                                                                \
    typedef T Operand;                                                                         \
    typedef nl_value_state<OperandType> State;                                                 \
    static NL_METHOD State identity() { return {first, 0}; }                                   \
    static NL_METHOD State of(T x) { return {(OperandType)x, 0}; }                             \
    static NL_METHOD State merge(State a, State b) { return {combine, 0}; }                    \
    template <class R>                                                                         \
    static NL_METHOD R result(State s, int, bool&) { return s.value; }                         \
  };
NL_SELECTION(nl_least_of, T, nl_highest<T>(), nl_minimum(a.value, b.value))
NL_SELECTION(nl_largest_of, T, nl_lowest<T>(), nl_maximum(a.value, b.value))
NL_SELECTION(nl_any_of, bool, false, a.value || b.value)
NL_SELECTION(nl_all_of, bool, true, a.value && b.value)
// b wins when it is better, or as good and earlier. A NaN is better than any number.
#define NL_PLACE(name, first, compare)                                                         \
  template <class T>                                                                           \
  struct name {                                                                                \
    typedef T Operand;                                                                         \
    typedef nl_place_state<T> State;                                                           \
    static NL_METHOD State identity() { return {first, nl_integer<i64>::most}; }               \
    static NL_METHOD State merge(State a, State b) {                                           \
      const bool a_nan = nl_isnan(a.value), b_nan = nl_isnan(b.value);                         \
      const bool better = b.value compare a.value || (b_nan && !a_nan);                        \
      const bool equal = b.value == a.value || (a_nan && b_nan);                               \
      return better || (equal && b.position < a.position) ? b : a;                             \
    }                                                                                          \
    template <class R>                                                                         \
    static NL_METHOD R result(State s, int, bool&) { return s.position; }                      \
  };
NL_PLACE(nl_place_of_least, nl_highest<T>(), <)
NL_PLACE(nl_place_of_largest, nl_lowest<T>(), >)

// One thread's part.
template <class Op>
struct nl_accumulator {
  typedef typename Op::State State;
  State state;
  NL_METHOD nl_accumulator() : state(Op::identity()) {}
  NL_METHOD void add(typename Op::Operand x) { state = Op::merge(state, Op::of(x)); }
  NL_METHOD void add(typename Op::Operand x, i64 position) {
    const State one = {x, position};
    state = Op::merge(state, one);
  }
  NL_METHOD void finish() {}
  // All threads of the block come here; all get the block's state.
  NL_METHOD void over_block() {
    __shared__ State states[NL_BLOCK];
    __syncthreads();
    states[threadIdx.x] = state;
    for (u32 half = NL_BLOCK / 2; half != 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) states[threadIdx.x] = Op::merge(states[threadIdx.x], states[threadIdx.x + half]);
    }
    __syncthreads();
    state = states[0];
  }
  NL_METHOD void save(char* partials) const {
    if (threadIdx.x == 0) *(State*)(partials + (i64)blockIdx.x * NL_PARTIAL_BYTES) = state;
  }
  NL_METHOD void merge_saved(const char* partials, i64 count) {
    for (i64 i = threadIdx.x; i < count; i += NL_BLOCK)
      state = Op::merge(state, *(const State*)(partials + i * NL_PARTIAL_BYTES));
  }
  template <class R>
  NL_METHOD R result(int fp_checks, bool& bad) const {
    return Op::template result<R>(state, fp_checks, bad);
  }
};
// Sums of floats: blocks of 32, and a binary counter of finished blocks: two sums over equally many
// are added as soon as both exist, so that the error grows with the logarithm of the count.
template <class T>
struct nl_pairwise : nl_accumulator<nl_sum<T>> {
  typedef nl_sum<T> Op;
  typedef typename Op::State State;
  State levels[40];
  u64 blocks;
  u32 in_block;
  NL_METHOD nl_pairwise() : blocks(0), in_block(0) {}
  NL_METHOD void add(T x) {
    this->state = Op::merge(this->state, Op::of(x));
    if (++in_block == 32) push();
  }
  NL_METHOD void push() {
    State sum = this->state;
    u32 level = 0;
    for (; blocks >> level & 1; ++level) sum = Op::merge(levels[level], sum);
    levels[level] = sum;
    ++blocks;
    in_block = 0;
    this->state = Op::identity();
  }
  NL_METHOD void finish() {
    for (u32 level = 0; blocks >> level != 0; ++level)
      if (blocks >> level & 1) this->state = Op::merge(levels[level], this->state);
    blocks = 0;
    in_block = 0;
  }
};
)CUDA";

std::string device_text() {
  return std::string("// numlift: what all kernels share\n") + kDeviceTypes + kDeviceFloats +
         kDeviceReductions;
}

}  // namespace numlift::codegen::cuda
