// The closer look of the cold blocks (fp_checks.h): plain C++ over the lanes written to memory.
#include "fp_checks.h"
#include "infinities.h"

namespace numlift::codegen::cpu {

namespace {

enum ValueClass : uint8_t { kNan = 1, kInfinite = 2, kZero = 4, kOther = 0 };
constexpr uint32_t kMaxLanes = 64;
constexpr uint32_t kMaxSlots = 256;

template <class Bits>
void classify(const char* slot, uint32_t lanes, uint8_t* classes) {
  constexpr int kMantissa = sizeof(Bits) == 8 ? 52 : 23;
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  constexpr Bits kInfinity = kMagnitude >> kMantissa << kMantissa;
  for (uint32_t i = 0; i < lanes; ++i) {
    Bits bits;
    __builtin_memcpy(&bits, slot + i * sizeof(Bits), sizeof bits);
    bits &= kMagnitude;
    classes[i] =
        static_cast<uint8_t>((bits > kInfinity ? kNan : 0) | (bits == kInfinity ? kInfinite : 0) |
                             (bits == 0 ? kZero : 0));
  }
}

bool suspicious(const WatchedOp& op, uint8_t result, uint8_t operands, bool by_zero) {
  if ((op.fp_checks & kFpInvalid) && (result & kNan)) {
    // In complex arithmetic infinity times zero may hide behind a NaN of the other part.
    const bool excused = (operands & kNan) && !(op.is_complex && (operands & kInfinite));
    if (!excused) return true;
  }
  if (!(result & kInfinite) || (operands & (kNan | kInfinite))) return false;
  const auto means = static_cast<InfinityMeans>(op.infinity);
  const bool divide =
      means == InfinityMeans::kDivide || (means == InfinityMeans::kEither && by_zero);
  return (op.fp_checks & (divide ? kFpDivide : kFpOver)) != 0;
}

}  // namespace

int32_t check_values(const WatchTable* table, const WatchedOp* ops, const char* slots) noexcept {
  uint8_t classes[kMaxSlots][kMaxLanes];
  const uint32_t lanes = table->lanes;
  for (uint32_t slot = 0; slot < table->slot_count; ++slot) {
    const char* values = slots + slot * table->slot_bytes;
    if (table->double_slots[slot / 64] >> (slot % 64) & 1)
      classify<uint64_t>(values, lanes, classes[slot]);
    else
      classify<uint32_t>(values, lanes, classes[slot]);
  }
  for (uint32_t k = 0; k < table->op_count; ++k) {
    const WatchedOp& op = ops[k];
    for (uint32_t i = 0; i < lanes; ++i) {
      uint8_t result = classes[op.result[0]][i];
      if (op.result[1] != WatchedOp::kNoSlot) result |= classes[op.result[1]][i];
      uint8_t operands = 0;
      for (uint8_t slot : op.operands)
        if (slot != WatchedOp::kNoSlot) operands |= classes[slot][i];
      bool by_zero = op.divisor[0] != WatchedOp::kNoSlot && (classes[op.divisor[0]][i] & kZero);
      if (op.divisor[1] != WatchedOp::kNoSlot) by_zero &= (classes[op.divisor[1]][i] & kZero) != 0;
      if (suspicious(op, result, operands, by_zero)) return 1;
    }
  }
  return 0;
}

}  // namespace numlift::codegen::cpu
