// Values that one iteration of a loop that runs in order hands to the next.
#include <algorithm>

#include "emit_nest.h"

namespace numlift::codegen::cpu {

namespace {

SizeExpr stride_along(const Access& access, VarId var) {
  SizeExpr total(0);
  for (const auto& [at, stride] : access.strides)
    if (at == var) total = total + stride;
  return total;
}

// `ahead` touches in one iteration of `var` what `access` touches in the next. (Where neither
// moves, a sum grows in one place.)
bool is_one_ahead(const Access& ahead, const Access& access, VarId var) {
  return ahead.buffer == access.buffer && ahead.strides == access.strides &&
         ahead.offset == access.offset + stride_along(access, var);
}

}  // namespace

// Sources come before what is carried from them.
std::vector<NestEmitter::Carried> NestEmitter::find_carried(VarId var) const {
  std::vector<Carried> carried;
  const Loop& loop = nest_.loops[static_cast<uint32_t>(var)];
  if (!loop.in_order) return carried;
  std::vector<ValueId> loads;
  std::vector<uint32_t> stores;
  for (const Item& item : loop.body) {
    if (item.kind == Item::Kind::kLoop) return carried;
    if (item.kind == Item::Kind::kStore) stores.push_back(item.index);
    if (item.kind != Item::Kind::kValue) continue;
    const Value& v = nest_.values[item.index];
    if (v.kind == Value::Kind::kLoad && v.operands.empty()) loads.push_back(ValueId{item.index});
  }
  const auto value_of = [&](ValueId id) -> const Value& {
    return nest_.values[static_cast<uint32_t>(id)];
  };
  const auto stores_to = [&](BufferId buffer) {
    return std::count_if(stores.begin(), stores.end(), [&](uint32_t store) {
      return nest_.stores[store].access.buffer == buffer;
    });
  };
  const auto carry_from = [&](const Access& ahead, ValueId source) {
    size_t found = 0;
    for (ValueId load : loads) {
      const Value& v = value_of(load);
      if (load == source || v.dtype != value_of(source).dtype ||
          !is_one_ahead(ahead, v.access, var))
        continue;
      carried.push_back({load, source});
      ++found;
    }
    return found;
  };
  // Of one store to a buffer, then of what was carried from it.
  for (uint32_t store : stores) {
    const Access& access = nest_.stores[store].access;
    if (stores_to(access.buffer) == 1) carry_from(access, nest_.stores[store].value);
  }
  for (size_t i = 0; i < carried.size(); ++i)
    carry_from(value_of(carried[i].load).access, carried[i].load);
  // Of memory that only is read.
  for (ValueId load : loads) {
    if (stores_to(value_of(load).access.buffer) == 0) carry_from(value_of(load).access, load);
  }
  return carried;
}

// The loop has an iteration: a loop in order stands inside one that runs only then.
void NestEmitter::load_first(std::vector<Carried>* carried, VarId var, llvm::Value* begin) {
  vars_[static_cast<uint32_t>(var)] = begin;
  for (Carried& one : *carried)
    one.first = emit_load(nest_.values[static_cast<uint32_t>(one.load)]);
}

void NestEmitter::begin_carried(std::vector<Carried>* carried, llvm::BasicBlock* before) {
  const auto phi = [&](llvm::Value* first) -> llvm::Value* {
    if (!first) return nullptr;
    llvm::PHINode* value = b_.CreatePHI(first->getType(), 2);
    value->addIncoming(first, before);
    return value;
  };
  for (Carried& one : *carried) {
    one.now = {phi(one.first.re), phi(one.first.im)};
    value(one.load) = one.now;
    is_carried_[static_cast<uint32_t>(one.load)] = true;
  }
}

void NestEmitter::end_carried(const std::vector<Carried>& carried) {
  for (const Carried& one : carried) {
    const LaneValue next = spread(b_, value(one.source), lane_count(one.first));
    llvm::cast<llvm::PHINode>(one.now.re)->addIncoming(next.re, b_.GetInsertBlock());
    if (one.now.im)
      llvm::cast<llvm::PHINode>(one.now.im)->addIncoming(next.im, b_.GetInsertBlock());
    is_carried_[static_cast<uint32_t>(one.load)] = false;
  }
}

}  // namespace numlift::codegen::cpu
