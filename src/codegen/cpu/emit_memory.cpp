// Loads and stores of a nest: contiguous vectors, reversed ones, gathers and scatters.
#include <algorithm>

#include "emit_nest.h"
#include "numlift/support/check.h"

namespace numlift::codegen::cpu {

namespace {

// Elements may lie anywhere: NumPy arrays need not be aligned.
const llvm::Align kUnaligned(1);

llvm::Value* byte_offset(llvm::IRBuilder<>& b, llvm::Value* base, llvm::Value* bytes) {
  return b.CreateGEP(b.getInt8Ty(), base, {bytes});
}

llvm::Value* reversed(llvm::IRBuilder<>& b, llvm::Value* vector) {
  return b.CreateVectorReverse(vector);
}

// Lanes 2i and 2i+1 take from 2i and 2i+1 of the pair's halves.
llvm::SmallVector<int, 128> interleaving(unsigned lanes) {
  llvm::SmallVector<int, 128> mask;
  for (unsigned i = 0; i < lanes; ++i) {
    mask.push_back(static_cast<int>(i));
    mask.push_back(static_cast<int>(i + lanes));
  }
  return mask;
}

llvm::SmallVector<int, 64> every_second(unsigned lanes, unsigned first) {
  llvm::SmallVector<int, 64> mask;
  for (unsigned i = 0; i < lanes; ++i) mask.push_back(static_cast<int>(2 * i + first));
  return mask;
}

}  // namespace

// Address for the first lane. *lane_stride: bytes between lanes, 0 when they share the element.
// Outer loops come first, so that their part of the sum is invariant in the inner ones.
llvm::Value* NestEmitter::emit_address(const Access& access, SizeExpr* lane_stride) {
  *lane_stride = SizeExpr(0);
  llvm::Value* address = f_.buffer(access.buffer);
  if (access.offset != SizeExpr(0)) address = byte_offset(b_, address, f_.size(access.offset));
  for (VarId var : open_loops_) {
    SizeExpr total(0);
    for (const auto& [stride_var, stride] : access.strides)
      if (stride_var == var) total = total + stride;
    if (total == SizeExpr(0)) continue;
    if (lanes_.count > 1 && var == lanes_.var) *lane_stride = total;
    address = byte_offset(b_, address,
                          b_.CreateNSWMul(vars_[static_cast<uint32_t>(var)], f_.size(total)));
  }
  return address;
}

// stride * (0, 1, 2, ...); lanes that do not count stay at lane 0's element.
llvm::Value* NestEmitter::lane_offsets(const SizeExpr& stride) {
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (unsigned i = 0; i < lanes_.count; ++i) numbers.push_back(b_.getInt64(i));
  llvm::Value* lanes = llvm::ConstantVector::get(numbers);
  if (lanes_.mask)
    lanes = b_.CreateSelect(lanes_.mask, lanes, llvm::Constant::getNullValue(lanes->getType()));
  if (stride == SizeExpr(1)) return lanes;
  return b_.CreateMul(lanes, b_.CreateVectorSplat(lanes_.count, f_.size(stride)));
}

llvm::Value* NestEmitter::fill_masked(llvm::Value* loaded) {
  if (!lanes_.mask) return loaded;
  llvm::Value* first = b_.CreateExtractElement(loaded, uint64_t{0});
  return b_.CreateSelect(lanes_.mask, loaded, b_.CreateVectorSplat(lanes_.count, first));
}

// The mask for a contiguous access: doubled for pairs, turned round for negative strides.
llvm::Value* NestEmitter::part_mask(bool is_pair, bool is_reversed) {
  llvm::Value* mask = lanes_.mask;
  if (is_reversed) mask = reversed(b_, mask);
  if (!is_pair) return mask;
  llvm::SmallVector<int, 128> twice;
  for (unsigned i = 0; i < lanes_.count; ++i) twice.append(2, static_cast<int>(i));
  return b_.CreateShuffleVector(mask, twice);
}

llvm::Value* NestEmitter::gather(llvm::Value* base, llvm::Value* offsets, DType dtype) {
  llvm::Type* element = memory_type(b_.getContext(), dtype);
  llvm::Type* type = with_lanes(element, lanes_.count);
  llvm::Value* result;
  if (element->getScalarSizeInBits() >= 32) {
    llvm::Value* addresses = b_.CreateGEP(b_.getInt8Ty(), base, {offsets});
    result = b_.CreateMaskedGather(type, addresses, kUnaligned);
  } else {
    result = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < lanes_.count; ++i) {
      llvm::Value* address = byte_offset(b_, base, b_.CreateExtractElement(offsets, i));
      result =
          b_.CreateInsertElement(result, b_.CreateAlignedLoad(element, address, kUnaligned), i);
    }
  }
  return from_memory(b_, result, dtype);
}

// Lanes that do not count store lane 0's value to lane 0's element once more.
void NestEmitter::scatter(llvm::Value* base, llvm::Value* offsets, llvm::Value* value,
                          DType dtype) {
  value = to_memory(b_, value, dtype);
  for (unsigned i = 0; i < lanes_.count; ++i) {
    llvm::Value* address = byte_offset(b_, base, b_.CreateExtractElement(offsets, i));
    b_.CreateAlignedStore(b_.CreateExtractElement(value, i), address, kUnaligned);
  }
}

LaneValue NestEmitter::emit_indexed_load(const Value& v) {
  SizeExpr stride;
  llvm::Value* address = emit_address(v.access, &stride);
  const unsigned lanes = lanes_.count;
  llvm::Value* offsets = stride == SizeExpr(0) ? nullptr : lane_offsets(stride);
  for (size_t i = 0; i < v.operands.size(); ++i) {
    llvm::Value* index = value(v.operands[i]).re;
    llvm::Value* scale = f_.size(v.index_strides[i]);
    llvm::Value* bytes = b_.CreateMul(index, spread(b_, scale, lane_count(index->getType())));
    if (lane_count(index->getType()) == 1) {
      address = byte_offset(b_, address, bytes);
    } else {
      offsets = offsets == nullptr ? bytes : b_.CreateAdd(offsets, bytes);
    }
  }
  const auto part = [&](int64_t at) {
    llvm::Value* base =
        at == 0 ? address : byte_offset(b_, address, b_.getInt64(static_cast<uint64_t>(at)));
    if (offsets != nullptr) return gather(base, offsets, v.dtype);
    llvm::LoadInst* load =
        b_.CreateAlignedLoad(memory_type(b_.getContext(), v.dtype), base, kUnaligned);
    f_.tag(load, v.access.buffer);
    return from_memory(b_, load, v.dtype);
  };
  NUMLIFT_CHECK(offsets == nullptr || lane_count(offsets->getType()) == lanes,
                "indices of another number of lanes");
  return {part(0), is_complex(v.dtype) ? part(item_size(v.dtype) / 2) : nullptr};
}

LaneValue NestEmitter::emit_load(const Value& v) {
  if (!v.operands.empty()) return emit_indexed_load(v);
  SizeExpr stride;
  llvm::Value* address = emit_address(v.access, &stride);
  const bool pair = is_complex(v.dtype);
  llvm::Type* element = memory_type(b_.getContext(), v.dtype);
  const int64_t item_bytes = item_size(v.dtype);
  if (stride == SizeExpr(0)) {
    const auto part = [&](int64_t offset) {
      llvm::Value* at = offset == 0
                            ? address
                            : byte_offset(b_, address, b_.getInt64(static_cast<uint64_t>(offset)));
      llvm::LoadInst* load = b_.CreateAlignedLoad(element, at, kUnaligned);
      f_.tag(load, v.access.buffer);
      return from_memory(b_, load, v.dtype);
    };
    return {part(0), pair ? part(item_bytes / 2) : nullptr};
  }
  const bool forward = stride == SizeExpr(item_bytes);
  const bool backward = stride == SizeExpr(-item_bytes);
  if (!forward && !backward) {
    llvm::Value* offsets = lane_offsets(stride);
    LaneValue result{gather(address, offsets, v.dtype)};
    if (pair)
      result.im =
          gather(byte_offset(b_, address, b_.getInt64(static_cast<uint64_t>(item_bytes / 2))),
                 offsets, v.dtype);
    return result;
  }
  const unsigned lanes = lanes_.count;
  if (backward)
    address = byte_offset(b_, address,
                          b_.getInt64(static_cast<uint64_t>(-item_bytes * (int64_t{lanes} - 1))));
  llvm::Type* type = with_lanes(element, pair ? 2 * lanes : lanes);
  llvm::Instruction* loaded = lanes_.mask
                                  ? static_cast<llvm::Instruction*>(b_.CreateMaskedLoad(
                                        type, address, kUnaligned, part_mask(pair, backward),
                                        llvm::Constant::getNullValue(type)))
                                  : b_.CreateAlignedLoad(type, address, kUnaligned);
  f_.tag(loaded, v.access.buffer);
  const auto finish = [&](llvm::Value* part) {
    if (backward) part = reversed(b_, part);
    return fill_masked(from_memory(b_, part, v.dtype));
  };
  if (!pair) return {finish(loaded)};
  return {finish(b_.CreateShuffleVector(loaded, every_second(lanes, 0))),
          finish(b_.CreateShuffleVector(loaded, every_second(lanes, 1)))};
}

void NestEmitter::emit_store(uint32_t store_index) {
  const Store& store = nest_.stores[store_index];
  const LaneValue& stored = value(store.value);
  NUMLIFT_CHECK(stored.re, "a store of value {} before its definition",
                static_cast<uint32_t>(store.value));
  const DType dtype = nest_.values[static_cast<uint32_t>(store.value)].dtype;
  SizeExpr stride;
  llvm::Value* address = emit_address(store.access, &stride);
  const bool pair = is_complex(dtype);
  const int64_t item_bytes = item_size(dtype);
  const auto second_part = [&] {
    return byte_offset(b_, address, b_.getInt64(static_cast<uint64_t>(item_bytes / 2)));
  };
  if (stride == SizeExpr(0)) {
    NUMLIFT_CHECK(lane_count(stored) == 1, "lanes are stored to one element");
    const auto store_part = [&](llvm::Value* part, llvm::Value* at) {
      f_.tag(b_.CreateAlignedStore(to_memory(b_, part, dtype), at, kUnaligned),
             store.access.buffer);
    };
    store_part(stored.re, address);
    if (pair) store_part(stored.im, second_part());
    return;
  }
  const unsigned lanes = lanes_.count;
  LaneValue x = spread(b_, stored, lanes);
  const bool forward = stride == SizeExpr(item_bytes);
  const bool backward = stride == SizeExpr(-item_bytes);
  if (!forward && !backward) {
    llvm::Value* offsets = lane_offsets(stride);
    scatter(address, offsets, x.re, dtype);
    if (pair) scatter(second_part(), offsets, x.im, dtype);
    return;
  }
  if (backward) {
    address = byte_offset(b_, address,
                          b_.getInt64(static_cast<uint64_t>(-item_bytes * (int64_t{lanes} - 1))));
    x.re = reversed(b_, x.re);
    if (pair) x.im = reversed(b_, x.im);
  }
  llvm::Value* whole =
      pair ? b_.CreateShuffleVector(x.re, x.im, interleaving(lanes)) : to_memory(b_, x.re, dtype);
  if (lanes_.mask)
    f_.tag(b_.CreateMaskedStore(whole, address, kUnaligned, part_mask(pair, backward)),
           store.access.buffer);
  else
    emit_contiguous_store(store_index, whole, address);
}

}  // namespace numlift::codegen::cpu
