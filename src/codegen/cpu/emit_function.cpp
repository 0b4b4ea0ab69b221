#include "emit_function.h"

#include <llvm/IR/Module.h>

#include <algorithm>
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
                                 const std::string& name, llvm::ArrayRef<llvm::Type*> extra,
                                 bool is_program)
    : program_(program),
      module_(module),
      function_(make_function(module, name, extra)),
      entry_(function_->getEntryBlock().getTerminator()),
      step_(function_->getEntryBlock().getTerminator()),
      is_program_(is_program),
      body_(&function_->back()),
      restart_slot_(entry_alloca(body_, body_.getInt32Ty())),
      checks_(body_, restart_slot_),
      ops_(body_, checks_),
      fields_(5, nullptr) {
  entry_.CreateStore(entry_.getInt32(0), restart_slot_);
  const bool has_loops =
      std::any_of(program.steps.begin(), program.steps.end(),
                  [](const Step& step) { return std::holds_alternative<LoopStep>(step); });
  if (is_program && has_loops) aliases_.emplace(program, module.getContext());
}

llvm::Value* FunctionEmitter::frame_field(unsigned index) {
  if (!fields_[index]) {
    auto* load = entry_.CreateLoad(entry_.getPtrTy(),
                                   entry_.CreateConstGEP1_32(entry_.getPtrTy(), frame(), index));
    fields_[index] = load;
  }
  return fields_[index];
}

bool FunctionEmitter::is_changing(SymbolId id) const {
  if (!is_program_) return false;
  const std::vector<Symbol>& symbols = program_.graph.symbols;
  const auto index = static_cast<size_t>(id);
  return index >= symbols.size() || symbols[index].kind == SymbolKind::kExternDim ||
         symbols[index].kind == SymbolKind::kRun;
}

bool FunctionEmitter::is_changing(const SizeExpr& expr) const {
  if (!is_program_) return false;
  std::vector<SymbolId> used;
  expr.collect_symbols(&used);
  return std::any_of(used.begin(), used.end(), [&](SymbolId id) { return is_changing(id); });
}

bool FunctionEmitter::is_changing(BufferId id) const {
  const auto index = static_cast<size_t>(id);
  return is_program_ &&
         (program_.buffers[index].kind == Buffer::Kind::kExtern || program_.buffers[index].moves ||
          (index < program_.allocate_late.size() && program_.allocate_late[index]));
}

llvm::AllocaInst* FunctionEmitter::symbol_slot(SymbolId id) {
  llvm::AllocaInst*& slot = symbol_slots_[static_cast<uint32_t>(id)];
  if (!slot) slot = entry_alloca(body_, body_.getInt64Ty());
  return slot;
}

llvm::Value* FunctionEmitter::size(const SizeExpr& expr) {
  if (const std::optional<int64_t> constant = expr.constant())
    return entry_.getInt64(static_cast<uint64_t>(*constant));
  const bool changes = is_changing(expr);
  Sizes& sizes = changes ? step_sizes_ : sizes_;
  llvm::IRBuilder<>& b = changes ? step_ : entry_;
  for (const auto& [known, value] : sizes)
    if (known == expr) return value;
  llvm::Value* sum = nullptr;
  for (const SizeExpr::Term& term : expr.terms()) {
    llvm::Value* product = nullptr;
    for (const auto& atom : term.atoms) {
      llvm::Value* value = emit_atom(b, *atom);
      product = product ? b.CreateMul(product, value) : value;
    }
    if (term.coefficient != 1)
      product = b.CreateMul(product, b.getInt64(static_cast<uint64_t>(term.coefficient)));
    sum = sum ? b.CreateAdd(sum, product) : product;
  }
  if (expr.constant_part() != 0)
    sum = b.CreateAdd(sum, b.getInt64(static_cast<uint64_t>(expr.constant_part())));
  sizes.emplace_back(expr, sum);
  return sum;
}

llvm::Value* FunctionEmitter::emit_atom(llvm::IRBuilder<>& b, const SizeExpr::Atom& atom) {
  switch (atom.kind) {
    case SizeExpr::AtomKind::kSymbol:
      return emit_symbol(b, atom.symbol);
    case SizeExpr::AtomKind::kFloorDiv:
    case SizeExpr::AtomKind::kFloorMod:
      return emit_division(b, atom);
    case SizeExpr::AtomKind::kMin:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, size(atom.left), size(atom.right));
    case SizeExpr::AtomKind::kMax:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, size(atom.left), size(atom.right));
  }
  NUMLIFT_UNREACHABLE();
}

llvm::Value* FunctionEmitter::emit_symbol(llvm::IRBuilder<>& b, SymbolId id) {
  const SizeExpr self = SizeExpr::symbol(id);
  const std::string name = "s" + std::to_string(static_cast<uint32_t>(id));
  const bool changes = is_changing(id);
  Sizes& sizes = changes ? step_sizes_ : sizes_;
  for (const auto& [known, value] : sizes)
    if (known == self) return value;
  // A part of a changing sum may be fixed.
  llvm::IRBuilder<>& place = changes ? b : entry_;
  const auto slot = symbol_slots_.find(static_cast<uint32_t>(id));
  const bool is_local = slot != symbol_slots_.end();
  llvm::Value* address = is_local ? static_cast<llvm::Value*>(slot->second)
                                  : place.CreateConstGEP1_64(place.getInt64Ty(), frame_field(0),
                                                             static_cast<uint64_t>(id));
  llvm::LoadInst* value = place.CreateLoad(place.getInt64Ty(), address, name);
  if (!is_local && aliases_) aliases_->tag_frame(value);
  sizes.emplace_back(self, value);
  return value;
}

// Sizes are computed on entry, also those of loops that do not run: a divisor of 0 (or -1, which
// may overflow) must not trap.
llvm::Value* FunctionEmitter::emit_division(llvm::IRBuilder<>& b, const SizeExpr::Atom& atom) {
  llvm::Value* dividend = size(atom.left);
  llvm::Value* given = size(atom.right);
  llvm::Value* minus_one = b.getInt64(~uint64_t{0});
  llvm::Value* is_minus_one = b.CreateICmpEQ(given, minus_one);
  llvm::Value* odd = b.CreateOr(b.CreateICmpEQ(given, b.getInt64(0)), is_minus_one);
  llvm::Value* divisor = b.CreateSelect(odd, b.getInt64(1), given);
  llvm::Value* quotient = b.CreateSDiv(dividend, divisor);
  llvm::Value* rest = b.CreateSub(dividend, b.CreateMul(quotient, divisor));
  llvm::Value* adjust = b.CreateAnd(b.CreateICmpNE(rest, b.getInt64(0)),
                                    b.CreateICmpSLT(b.CreateXor(rest, divisor), b.getInt64(0)));
  if (atom.kind == SizeExpr::AtomKind::kFloorMod)
    return b.CreateSelect(adjust, b.CreateAdd(rest, divisor), rest);
  llvm::Value* floor = b.CreateAdd(quotient, b.CreateSExt(adjust, b.getInt64Ty()));
  return b.CreateSelect(is_minus_one, b.CreateNeg(dividend), floor);
}

llvm::Value* FunctionEmitter::buffer(BufferId id) {
  const auto index = static_cast<uint32_t>(id);
  auto& buffers = is_changing(id) ? step_buffers_ : buffers_;
  if (const auto known = buffers.find(index); known != buffers.end()) return known->second;
  const Buffer& buffer = program_.buffers[index];
  llvm::Value* pointer;
  if (buffer.kind == Buffer::Kind::kPrivate) {
    pointer = private_buffer(buffer);
  } else if (buffer.kind == Buffer::Kind::kLocal) {
    llvm::AllocaInst* slot = entry_alloca(entry_, memory_type(module_.getContext(), buffer.dtype),
                                          is_complex(buffer.dtype) ? 2 : 1);
    slot->setAlignment(llvm::Align(16));
    pointer = slot;
  } else {
    llvm::IRBuilder<>& b = is_changing(id) ? step_ : entry_;
    llvm::Value* address = b.CreateConstGEP1_32(b.getPtrTy(), frame_field(1), index);
    llvm::LoadInst* load = b.CreateLoad(b.getPtrTy(), address, "buffer" + std::to_string(index));
    if (aliases_) aliases_->tag_frame(load);
    pointer = load;
  }
  buffers.emplace(index, pointer);
  return pointer;
}

void FunctionEmitter::set_buffer(BufferId id, llvm::Value* address) {
  llvm::StoreInst* store = body_.CreateStore(
      address,
      body_.CreateConstGEP1_32(body_.getPtrTy(), frame_field(1), static_cast<uint32_t>(id)));
  if (aliases_) aliases_->tag_frame(store);
}

llvm::Value* FunctionEmitter::private_buffer(const Buffer& buffer) {
  const std::optional<int64_t> bytes = buffer.bytes.constant();
  if (bytes && *bytes <= kMostPrivateStackBytes) {
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

void FunctionEmitter::begin_step() {
  step_sizes_.clear();
  step_buffers_.clear();
  auto* step = llvm::BasicBlock::Create(module_.getContext(), "step", function_);
  step_.SetInsertPoint(body_.CreateBr(step));
  body_.SetInsertPoint(step);
}

void FunctionEmitter::finish() {
  for (llvm::Value* memory : scratch_)
    body_.CreateCall(runtime("numlift_scratch_free", body_.getVoidTy(), {body_.getPtrTy()}),
                     {memory});
  body_.CreateRet(body_.CreateLoad(body_.getInt32Ty(), restart_slot_));
}

}  // namespace numlift::codegen::cpu
