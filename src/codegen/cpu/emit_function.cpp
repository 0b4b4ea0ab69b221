#include "emit_function.h"

#include <llvm/IR/Module.h>

#include <cstddef>
#include <optional>

#include "numlift/support/check.h"

namespace numlift::codegen::cpu {

namespace {

llvm::Function* make_function(llvm::Module& module, const std::string& name,
                              llvm::ArrayRef<llvm::Type*> extra) {
  llvm::LLVMContext& context = module.getContext();
  llvm::SmallVector<llvm::Type*, 6> parameters{llvm::PointerType::getUnqual(context)};
  parameters.append(extra.begin(), extra.end());
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  function->setDoesNotThrow();
  function->addFnAttr("prefer-vector-width", "512");
  function->addFnAttr("no-trapping-math", "true");
  function->getArg(0)->setName("frame");
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* body = llvm::BasicBlock::Create(context, "body", function);
  llvm::BranchInst::Create(body, entry);
  return function;
}

static_assert(offsetof(ProgramFrame, symbols) == 0 && offsetof(ProgramFrame, buffers) == 8 &&
              offsetof(ProgramFrame, scalars) == 16 && offsetof(ProgramFrame, context) == 24 &&
              offsetof(ProgramFrame, callbacks) == 32 && sizeof(ScalarSlot) == 16);

}  // namespace

FunctionEmitter::FunctionEmitter(const Program& program, llvm::Module& module,
                                 const std::string& name, llvm::ArrayRef<llvm::Type*> extra)
    : program_(program),
      module_(module),
      function_(make_function(module, name, extra)),
      entry_(function_->getEntryBlock().getTerminator()),
      body_(&function_->back()),
      restart_slot_(entry_alloca(body_, body_.getInt32Ty())),
      checks_(body_, restart_slot_),
      ops_(body_, checks_),
      fields_(5, nullptr) {
  entry_.CreateStore(entry_.getInt32(0), restart_slot_);
}

llvm::Value* FunctionEmitter::frame_field(unsigned index) {
  if (!fields_[index]) {
    auto* load = entry_.CreateLoad(entry_.getPtrTy(),
                                   entry_.CreateConstGEP1_32(entry_.getPtrTy(), frame(), index));
    fields_[index] = load;
  }
  return fields_[index];
}

llvm::Value* FunctionEmitter::size(const SizeExpr& expr) {
  if (const std::optional<int64_t> constant = expr.constant())
    return entry_.getInt64(static_cast<uint64_t>(*constant));
  for (const auto& [known, value] : sizes_)
    if (known == expr) return value;
  llvm::Value* sum = nullptr;
  for (const SizeExpr::Term& term : expr.terms()) {
    llvm::Value* product = nullptr;
    for (const auto& atom : term.atoms) {
      llvm::Value* value = emit_atom(*atom);
      product = product ? entry_.CreateMul(product, value) : value;
    }
    if (term.coefficient != 1)
      product = entry_.CreateMul(product, entry_.getInt64(static_cast<uint64_t>(term.coefficient)));
    sum = sum ? entry_.CreateAdd(sum, product) : product;
  }
  if (expr.constant_part() != 0)
    sum = entry_.CreateAdd(sum, entry_.getInt64(static_cast<uint64_t>(expr.constant_part())));
  sizes_.emplace_back(expr, sum);
  return sum;
}

llvm::Value* FunctionEmitter::emit_atom(const SizeExpr::Atom& atom) {
  switch (atom.kind) {
    case SizeExpr::AtomKind::kSymbol: {
      const SizeExpr self = SizeExpr::symbol(atom.symbol);
      for (const auto& [known, value] : sizes_)
        if (known == self) return value;
      llvm::Value* address = entry_.CreateConstGEP1_64(entry_.getInt64Ty(), frame_field(0),
                                                       static_cast<uint64_t>(atom.symbol));
      llvm::Value* value = entry_.CreateLoad(
          entry_.getInt64Ty(), address, "s" + std::to_string(static_cast<uint32_t>(atom.symbol)));
      sizes_.emplace_back(self, value);
      return value;
    }
    case SizeExpr::AtomKind::kFloorDiv:
    case SizeExpr::AtomKind::kFloorMod:
      return emit_division(atom);
    case SizeExpr::AtomKind::kMin:
      return entry_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, size(atom.left), size(atom.right));
    case SizeExpr::AtomKind::kMax:
      return entry_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, size(atom.left), size(atom.right));
  }
  NUMLIFT_UNREACHABLE();
}

// Sizes are computed on entry, also those of loops that do not run: a divisor of 0 (or -1, which
// may overflow) must not trap.
llvm::Value* FunctionEmitter::emit_division(const SizeExpr::Atom& atom) {
  llvm::Value* a = size(atom.left);
  llvm::Value* b = size(atom.right);
  llvm::Value* minus_one = entry_.getInt64(~uint64_t{0});
  llvm::Value* is_minus_one = entry_.CreateICmpEQ(b, minus_one);
  llvm::Value* odd = entry_.CreateOr(entry_.CreateICmpEQ(b, entry_.getInt64(0)), is_minus_one);
  llvm::Value* divisor = entry_.CreateSelect(odd, entry_.getInt64(1), b);
  llvm::Value* quotient = entry_.CreateSDiv(a, divisor);
  llvm::Value* rest = entry_.CreateSub(a, entry_.CreateMul(quotient, divisor));
  llvm::Value* adjust =
      entry_.CreateAnd(entry_.CreateICmpNE(rest, entry_.getInt64(0)),
                       entry_.CreateICmpSLT(entry_.CreateXor(rest, divisor), entry_.getInt64(0)));
  if (atom.kind == SizeExpr::AtomKind::kFloorMod)
    return entry_.CreateSelect(adjust, entry_.CreateAdd(rest, divisor), rest);
  llvm::Value* floor = entry_.CreateAdd(quotient, entry_.CreateSExt(adjust, entry_.getInt64Ty()));
  return entry_.CreateSelect(is_minus_one, entry_.CreateNeg(a), floor);
}

llvm::Value* FunctionEmitter::buffer(BufferId id) {
  const auto index = static_cast<uint32_t>(id);
  if (const auto known = buffers_.find(index); known != buffers_.end()) return known->second;
  llvm::Value* pointer;
  if (program_.buffers[index].kind == Buffer::Kind::kPrivate) {
    pointer = private_buffer(program_.buffers[index]);
  } else {
    llvm::Value* address = entry_.CreateConstGEP1_32(entry_.getPtrTy(), frame_field(1), index);
    pointer = entry_.CreateLoad(entry_.getPtrTy(), address, "buffer" + std::to_string(index));
  }
  buffers_.emplace(index, pointer);
  return pointer;
}

llvm::Value* FunctionEmitter::private_buffer(const Buffer& buffer) {
  constexpr int64_t kStackLimit = 16 * 1024;
  const std::optional<int64_t> bytes = buffer.bytes.constant();
  if (bytes && *bytes <= kStackLimit) {
    llvm::AllocaInst* slot = entry_alloca(entry_, entry_.getInt8Ty(),
                                          static_cast<uint64_t>(std::max<int64_t>(*bytes, 1)));
    slot->setAlignment(llvm::Align(64));
    return slot;
  }
  llvm::Value* size_bytes = size(buffer.bytes);
  llvm::Value* memory = entry_.CreateCall(
      runtime("numlift_scratch_alloc", entry_.getPtrTy(), {entry_.getInt64Ty()}), {size_bytes});
  scratch_.push_back(memory);
  return memory;
}

LaneValue FunctionEmitter::scalar_input(uint32_t input, DType dtype) {
  if (const auto known = scalars_.find(input); known != scalars_.end()) return known->second;
  llvm::Type* type = memory_type(module_.getContext(), dtype);
  const auto part = [&](uint64_t offset) {
    llvm::Value* address = entry_.CreateConstGEP1_64(entry_.getInt8Ty(), frame_field(2),
                                                     input * sizeof(ScalarSlot) + offset);
    return from_memory(entry_, entry_.CreateLoad(type, address), dtype);
  };
  LaneValue value{part(0)};
  if (is_complex(dtype)) value.im = part(static_cast<uint64_t>(item_size(dtype)) / 2);
  scalars_.emplace(input, value);
  return value;
}

llvm::FunctionCallee FunctionEmitter::runtime(const char* name, llvm::Type* result,
                                              llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  return callee;
}

void FunctionEmitter::forget_frame() {
  sizes_.clear();
  buffers_.clear();
  entry_.SetInsertPoint(body_.GetInsertBlock());
}

void FunctionEmitter::finish() {
  for (llvm::Value* memory : scratch_)
    body_.CreateCall(runtime("numlift_scratch_free", body_.getVoidTy(), {body_.getPtrTy()}),
                     {memory});
  body_.CreateRet(body_.CreateLoad(body_.getInt32Ty(), restart_slot_));
}

}  // namespace numlift::codegen::cpu
