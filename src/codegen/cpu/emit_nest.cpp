// Values of a nest: constants, inputs, ops, and which of them differ between lanes.
#include "emit_nest.h"

#include <algorithm>
#include <cstring>

#include "numlift/support/check.h"

namespace numlift::codegen::cpu {

NestEmitter::NestEmitter(FunctionEmitter& function, const LoopNest& nest)
    : f_(function),
      b_(function.builder()),
      nest_(nest),
      segments_(find_segments(nest)),
      values_(nest.values.size()),
      vars_(nest.loops.size(), nullptr),
      is_carried_(nest.values.size(), false) {}

NestEmitter::NestEmitter(FunctionEmitter& function, const NestEmitter& outer)
    : f_(function),
      b_(function.builder()),
      nest_(outer.nest_),
      segments_(outer.segments_),
      values_(outer.nest_.values.size()),
      vars_(outer.nest_.loops.size(), nullptr),
      is_carried_(outer.nest_.values.size(), false),
      is_chunk_(true) {}

void NestEmitter::emit_root() {
  emit_items(nest_.root);
  f_.checks().flush();
}

void NestEmitter::emit_items(const std::vector<Item>& items) {
  for (const Item& item : items) {
    switch (item.kind) {
      case Item::Kind::kValue:
        emit_value(ValueId{item.index});
        break;
      case Item::Kind::kStore:
        emit_store(item.index);
        break;
      case Item::Kind::kLoop:
        // What was recorded so far belongs to this body, not to the loop's.
        f_.checks().flush();
        emit_loop(VarId{item.index});
        break;
    }
  }
}

void NestEmitter::emit_value(ValueId id) {
  const Value& v = nest_.values[static_cast<uint32_t>(id)];
  switch (v.kind) {
    case Value::Kind::kOp:
      value(id) = emit_op(id);
      break;
    case Value::Kind::kLoad:
      if (!is_carried_[static_cast<uint32_t>(id)]) value(id) = emit_load(v);
      break;
    case Value::Kind::kConstant:
      value(id) = emit_constant(v.constant);
      break;
    case Value::Kind::kScalarInput:
      value(id) = f_.scalar_input(v.input, v.dtype);
      break;
    case Value::Kind::kSize:
      value(id) = {f_.size(v.size)};
      break;
    case Value::Kind::kIndex:
      value(id) = emit_index(v.var);
      break;
    case Value::Kind::kReduction:
      NUMLIFT_CHECK(value(id).re, "a reduction's result is read before its loop");
      break;
  }
}

// 1.0 / float(condition), which is how a graph asks for a restart unless a condition holds.
std::optional<LaneValue> NestEmitter::emit_quotient_by_truth(const Value& v) {
  if (v.op != Op::kDivide || !is_float(v.dtype) || v.fp_checks != kFpDivide) return std::nullopt;
  const Value& dividend = nest_.values[static_cast<uint32_t>(v.operands[0])];
  const Value& divisor = nest_.values[static_cast<uint32_t>(v.operands[1])];
  if (dividend.kind != Value::Kind::kConstant || divisor.kind != Value::Kind::kOp ||
      divisor.op != Op::kCast)
    return std::nullopt;
  const ValueId truth = divisor.operands[0];
  if (nest_.values[static_cast<uint32_t>(truth)].dtype != DType::kBool) return std::nullopt;
  const auto* number = llvm::dyn_cast<llvm::ConstantFP>(value(v.operands[0]).re);
  if (number == nullptr || !number->getValueAPF().isFiniteNonZero()) return std::nullopt;
  llvm::Value* holds = value(truth).re;
  f_.checks().must_restart(b_.CreateNot(holds));
  const unsigned lanes = lane_count(holds->getType());
  llvm::Constant* infinite =
      llvm::ConstantFP::getInfinity(number->getType(), number->getValueAPF().isNegative());
  return LaneValue{b_.CreateSelect(holds, spread(b_, value(v.operands[0]).re, lanes),
                                   spread(b_, infinite, lanes))};
}

LaneValue NestEmitter::emit_op(ValueId id) {
  const Value& v = nest_.values[static_cast<uint32_t>(id)];
  if (const auto quotient = emit_quotient_by_truth(v)) {
    if (segments_.ends[static_cast<uint32_t>(id)]) f_.checks().flush();
    return *quotient;
  }
  std::vector<LaneValue> operands;
  std::vector<DType> dtypes;
  for (ValueId operand : v.operands) {
    NUMLIFT_CHECK(value(operand).re, "value {} is read before it is defined",
                  static_cast<uint32_t>(operand));
    operands.push_back(value(operand));
    dtypes.push_back(nest_.values[static_cast<uint32_t>(operand)].dtype);
  }
  const DType loop_dtype = v.op == Op::kSelect ? dtypes[1] : dtypes[0];
  const LaneValue result = f_.ops().emit(v.op, loop_dtype, v.dtype, v.fp_checks, operands);
  const bool floating = is_float(v.dtype) || is_complex(v.dtype);
  const bool sentinel = segments_.is_sentinel[static_cast<uint32_t>(id)];
  if (floating && (sentinel || v.fp_checks != 0))
    f_.checks().watch(v.op, v.fp_checks, result, operands, dtypes, sentinel);
  if (segments_.ends[static_cast<uint32_t>(id)]) f_.checks().flush();
  return result;
}

LaneValue NestEmitter::emit_constant(const ScalarBits& constant) {
  llvm::LLVMContext& context = b_.getContext();
  const auto bits = [&](size_t offset, size_t size_bytes) {
    uint64_t raw = 0;
    std::memcpy(&raw, constant.bytes.data() + offset, size_bytes);
    return raw;
  };
  const auto size_bytes = static_cast<size_t>(item_size(constant.dtype));
  llvm::Type* type = register_type(context, constant.dtype);
  switch (kind_of(constant.dtype)) {
    case DTypeKind::kBool:
      return {b_.getInt1(bits(0, 1) != 0)};
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return {llvm::ConstantInt::get(type, bits(0, size_bytes))};
    case DTypeKind::kFloat:
    case DTypeKind::kComplex: {
      const size_t part_bytes = is_complex(constant.dtype) ? size_bytes / 2 : size_bytes;
      const auto part = [&](size_t offset) -> llvm::Value* {
        llvm::Type* memory = memory_type(context, constant.dtype);
        llvm::APFloat number(
            memory->getFltSemantics(),
            llvm::APInt(static_cast<unsigned>(part_bytes) * 8, bits(offset, part_bytes)));
        bool lossy = false;
        number.convert(type->getFltSemantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
        return llvm::ConstantFP::get(type, number);
      };
      LaneValue result{part(0)};
      if (is_complex(constant.dtype)) result.im = part(part_bytes);
      return result;
    }
  }
  NUMLIFT_UNREACHABLE();
}

LaneValue NestEmitter::emit_index(VarId var) {
  llvm::Value* index = vars_[static_cast<uint32_t>(var)];
  if (lanes_.count == 1 || var != lanes_.var) return {index};
  return {b_.CreateAdd(b_.CreateVectorSplat(lanes_.count, index), lane_offsets(SizeExpr(1)))};
}

std::vector<bool> NestEmitter::varying_values(VarId vector_var) const {
  std::vector<bool> varying(nest_.values.size(), false);
  const auto visit = [&](auto& self, VarId var) -> void {
    const Loop& loop = nest_.loops[static_cast<uint32_t>(var)];
    for (const Item& item : loop.body) {
      if (item.kind == Item::Kind::kLoop) self(self, VarId{item.index});
      if (item.kind != Item::Kind::kValue) continue;
      const Value& v = nest_.values[item.index];
      bool result = v.kind == Value::Kind::kIndex && v.var == vector_var;
      if (v.kind == Value::Kind::kLoad)
        for (const auto& [stride_var, stride] : v.access.strides)
          result |= stride_var == vector_var;
      for (ValueId operand : v.operands) result |= varying[static_cast<uint32_t>(operand)];
      varying[item.index] = result;
    }
    for (const Reduction& reduction : loop.reductions)
      varying[static_cast<uint32_t>(reduction.result)] =
          varying[static_cast<uint32_t>(reduction.operand)];
  };
  visit(visit, vector_var);
  return varying;
}

unsigned NestEmitter::widest_bytes(VarId vector_var) const {
  const std::vector<bool> varying = varying_values(vector_var);
  unsigned widest = 1;
  for (size_t i = 0; i < varying.size(); ++i) {
    if (!varying[i]) continue;
    // Bools live in mask registers; the operands that they come from set the width.
    if (nest_.values[i].dtype == DType::kBool && nest_.values[i].kind == Value::Kind::kOp) continue;
    llvm::Type* type = register_type(b_.getContext(), nest_.values[i].dtype);
    widest = std::max(widest, std::max(8u, type->getScalarSizeInBits()) / 8);
  }
  // A fill has no varying value but its stores.
  for (const Store& store : nest_.stores)
    for (const auto& [stride_var, stride] : store.access.strides) {
      const Buffer& buffer = f_.program().buffers[static_cast<uint32_t>(store.access.buffer)];
      llvm::Type* type = memory_type(b_.getContext(), buffer.dtype);
      if (stride_var == vector_var && buffer.dtype != DType::kBool)
        widest = std::max(widest, type->getScalarSizeInBits() / 8);
    }
  return widest;
}

std::vector<ValueId> NestEmitter::captured_values(VarId var) const {
  std::vector<bool> inside(nest_.values.size(), false);
  std::vector<ValueId> used;
  const auto visit = [&](auto& self, VarId loop_var) -> void {
    const Loop& loop = nest_.loops[static_cast<uint32_t>(loop_var)];
    for (const Item& item : loop.body) {
      switch (item.kind) {
        case Item::Kind::kValue:
          inside[item.index] = true;
          used.insert(used.end(), nest_.values[item.index].operands.begin(),
                      nest_.values[item.index].operands.end());
          break;
        case Item::Kind::kStore:
          used.push_back(nest_.stores[item.index].value);
          break;
        case Item::Kind::kLoop:
          self(self, VarId{item.index});
          break;
      }
    }
    for (const Reduction& reduction : loop.reductions) {
      inside[static_cast<uint32_t>(reduction.result)] = true;
      used.push_back(reduction.operand);
      if (reduction.position != kNoValue) used.push_back(reduction.position);
    }
  };
  visit(visit, var);
  std::vector<ValueId> captured;
  for (ValueId id : used)
    if (!inside[static_cast<uint32_t>(id)] &&
        std::find(captured.begin(), captured.end(), id) == captured.end())
      captured.push_back(id);
  return captured;
}

}  // namespace numlift::codegen::cpu
