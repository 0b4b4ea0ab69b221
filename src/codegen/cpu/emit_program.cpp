// A program as one LLVM module: `program` runs the steps. Each nest is a function of its own,
// unless it is inline.
#include <map>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <memory>

#include "emit_flow.h"
#include "emit_nest.h"
#include "llvm_versions.h"
#include "numlift/codegen/compile.h"
#include "numlift/support/check.h"
#include "orc.h"
#include "runtime.h"
#include "target.h"

namespace numlift::codegen {

namespace cpu {
namespace {

class ProgramEmitter {
 public:
  ProgramEmitter(const Program& program, llvm::Module& module, LoopChecks checks)
      : program_(program),
        f_(program, module, "program", {}, /*is_program=*/true),
        b_(f_.builder()),
        flow_(f_, checks) {
    f_.function()->setLinkage(llvm::Function::ExternalLinkage);
    for (unsigned field = 0; field < 5; ++field) f_.frame_field(field);  // in the entry block
    if (std::any_of(program.steps.begin(), program.steps.end(),
                    [](const Step& step) { return std::holds_alternative<LoopStep>(step); }))
      f_.function()->addFnAttr(kLoopingAttribute);
  }

  void emit() {
    // The host's floating-point flags stay as they were: our code and libmvec raise some that NumPy
    // would not.
    llvm::AllocaInst* saved = entry_alloca(b_, b_.getInt32Ty());
    call_intrinsic(b_, llvm::Intrinsic::x86_sse_stmxcsr, {saved});
    flow_.begin();
    for (uint32_t index = 0; index < program_.steps.size(); ++index) {
      f_.begin_step();
      std::visit([&](const auto& step) { emit_step(step, index); }, program_.steps[index]);
    }
    llvm::Value* result = flow_.finish();
    call_intrinsic(b_, llvm::Intrinsic::x86_sse_ldmxcsr, {saved});
    b_.CreateRet(result);
  }

  ProgramSymbols take_symbols() { return std::move(symbols_); }

 private:
  void emit_step(const NestStep& step, uint32_t index);
  void emit_step(const ExternStep& step, uint32_t index);
  void emit_step(const NumpyLoopStep& step, uint32_t index);
  void emit_step(const AllocateStep& step, uint32_t index);
  void emit_step(const SwapStep& step, uint32_t index);
  template <class ControlStep>
  void emit_step(const ControlStep& step, uint32_t) {
    flow_.emit(step);
  }
  llvm::Value* call_host(unsigned callback, llvm::ArrayRef<llvm::Value*> arguments);
  llvm::Value* load_now(unsigned field, uint64_t index, llvm::Type* type);
  llvm::Value* host_symbol(const std::string& name, void* address);
  // The function of a step or the host said so.
  void restart_unless_zero(llvm::Value* answer) {
    f_.restart_if(b_.CreateICmpNE(answer, b_.getInt32(0)));
  }

  const Program& program_;
  FunctionEmitter f_;
  llvm::IRBuilder<>& b_;
  FlowEmitter flow_;
  ProgramSymbols symbols_;
  std::map<uint32_t, llvm::AllocaInst*> rooms_;  // by buffer that grows: bytes that it has
};

void ProgramEmitter::emit_step(const NestStep& step, uint32_t index) {
  if (step.is_inline) {
    NestEmitter(f_, step.nest).emit_root();
    return;
  }
  llvm::Function* kernel;
  {
    FunctionEmitter nest(program_, f_.module(), "nest" + std::to_string(index));
    NestEmitter(nest, step.nest).emit_root();
    nest.finish();
    kernel = nest.function();
  }
  llvm::Value* cost = b_.CreateMul(f_.size(step.nest.work),
                                   b_.getInt64(static_cast<uint64_t>(std::max(step.nest.cost, 1))));
  llvm::Value* is_long = b_.CreateICmpSGE(cost, b_.getInt64(kLongKernelCost));
  llvm::Type* pointer = b_.getPtrTy();
  auto* with_gil = llvm::BasicBlock::Create(b_.getContext(), "short", f_.function());
  auto* without_gil = llvm::BasicBlock::Create(b_.getContext(), "long", f_.function());
  auto* done = llvm::BasicBlock::Create(b_.getContext(), "done", f_.function());
  b_.CreateCondBr(is_long, without_gil, with_gil);
  b_.SetInsertPoint(without_gil);
  llvm::Value* long_result = b_.CreateCall(
      f_.runtime("numlift_run_long", b_.getInt32Ty(), {pointer, pointer}), {f_.frame(), kernel});
  b_.CreateBr(done);
  b_.SetInsertPoint(with_gil);
  llvm::Value* short_result = b_.CreateCall(kernel, {f_.frame()});
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode* result = b_.CreatePHI(b_.getInt32Ty(), 2);
  result->addIncoming(long_result, without_gil);
  result->addIncoming(short_result, with_gil);
  restart_unless_zero(result);
}

llvm::Value* ProgramEmitter::load_now(unsigned field, uint64_t index, llvm::Type* type) {
  return b_.CreateLoad(type, b_.CreateConstGEP1_64(type, f_.frame_field(field), index));
}

llvm::Value* ProgramEmitter::call_host(unsigned callback, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Value* function = load_now(4, callback, b_.getPtrTy());
  llvm::SmallVector<llvm::Value*, 3> all{f_.frame_field(3)};
  llvm::SmallVector<llvm::Type*, 3> types{b_.getPtrTy()};
  for (llvm::Value* argument : arguments) {
    all.push_back(argument);
    types.push_back(argument->getType());
  }
  return b_.CreateCall(llvm::FunctionType::get(b_.getInt32Ty(), types, false), function, all);
}

static_assert(offsetof(RuntimeCallbacks, extern_call) == 0 &&
              offsetof(RuntimeCallbacks, allocate) == sizeof(void*) &&
              offsetof(RuntimeCallbacks, grow) == 4 * sizeof(void*));

void ProgramEmitter::emit_step(const ExternStep&, uint32_t index) {
  restart_unless_zero(call_host(0, {b_.getInt32(index)}));
}

void ProgramEmitter::emit_step(const AllocateStep& step, uint32_t) {
  const Buffer& buffer = program_.buffers[static_cast<uint32_t>(step.buffer)];
  llvm::Value* number = b_.getInt32(static_cast<uint32_t>(step.buffer));
  if (buffer.kind != Buffer::Kind::kTemp) {
    restart_unless_zero(call_host(1, {number}));
    return;
  }
  // Larger than ever before in this run, wherever that was?
  llvm::AllocaInst*& room = rooms_[static_cast<uint32_t>(step.buffer)];
  if (room == nullptr) room = flow_.make_slot(-1);
  llvm::Value* bytes = f_.size(buffer.bytes);
  llvm::Value* has_room = b_.CreateLoad(b_.getInt64Ty(), room);
  f_.guarded(b_.CreateICmpSGT(bytes, has_room), "grow", [&] {
    restart_unless_zero(call_host(4, {number, bytes}));
    b_.CreateStore(bytes, room);
  });
}

void ProgramEmitter::emit_step(const SwapStep& step, uint32_t) {
  llvm::Value* first = f_.buffer(step.first);
  llvm::Value* second = f_.buffer(step.second);
  f_.set_buffer(step.first, second);
  f_.set_buffer(step.second, first);
}

llvm::Value* ProgramEmitter::host_symbol(const std::string& name, void* address) {
  symbols_.emplace_back(name, address);
  return f_.module().getOrInsertGlobal(name, b_.getInt8Ty());
}

// What the loop gets: the address of every argument, the sizes (how often, then the core axes) and
// the strides (every argument's step, then their core strides).
void ProgramEmitter::emit_step(const NumpyLoopStep& step, uint32_t index) {
  const NumpyLoopInfo& loop = program_.graph.loops.at(step.loop);
  llvm::Type* p = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  const auto filled = [&](llvm::Type* type, llvm::ArrayRef<llvm::Value*> values) {
    llvm::Value* array = entry_alloca(b_, type, values.size());
    for (size_t i = 0; i < values.size(); ++i)
      b_.CreateStore(values[i], b_.CreateConstGEP1_64(type, array, i));
    return array;
  };
  llvm::SmallVector<llvm::Value*, 4> arguments, sizes{f_.size(step.count)};
  llvm::SmallVector<llvm::Value*, 12> strides;
  for (const NumpyLoopStep::Argument& argument : step.arguments) {
    llvm::Value* memory = f_.buffer(argument.buffer);
    arguments.push_back(b_.CreateGEP(b_.getInt8Ty(), memory, f_.size(argument.offset)));
    strides.push_back(f_.size(argument.step));
  }
  for (const NumpyLoopStep::Argument& argument : step.arguments) {
    for (const SizeExpr& stride : argument.core_strides) strides.push_back(f_.size(stride));
  }
  for (const SizeExpr& dim : step.core_dims) sizes.push_back(f_.size(dim));
  const std::string suffix = std::to_string(step.loop) + "_" + std::to_string(index);
  llvm::Value* function =
      host_symbol("numpy_loop" + suffix, reinterpret_cast<void*>(loop.function));
  llvm::Value* data = loop.data ? host_symbol("numpy_data" + suffix, loop.data)
                                : llvm::ConstantPointerNull::get(b_.getPtrTy());
  llvm::Type* i32 = b_.getInt32Ty();
  restart_unless_zero(
      b_.CreateCall(f_.runtime("numlift_run_numpy_loop", i32, {p, p, p, p, p, i32, p, i32}),
                    {f_.frame(), function, data, filled(p, arguments), filled(i64, sizes),
                     b_.getInt32(static_cast<uint32_t>(sizes.size())), filled(i64, strides),
                     b_.getInt32(step.fp_checks)}));
}

}  // namespace
}  // namespace cpu

std::unique_ptr<NativeCode> emit_native(const Program& program, bool keep_ir, LoopChecks checks) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>(
      program.graph.name.empty() ? "program" : program.graph.name, *context);
  // Not the function's: equal code of two functions is one entry of the disk cache.
  module->setSourceFileName("program");
  cpu::ProgramSymbols symbols;
  {
    cpu::ProgramEmitter emitter(program, *module, checks);
    emitter.emit();
    symbols = emitter.take_symbols();
  }
  // Always: it costs a hundredth of the compilation, and what LLVM does with a broken module ranges
  // from wrong code to the end of the process.
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  const bool broken = llvm::verifyModule(*module, &stream);
  NUMLIFT_CHECK(!broken, "{}\n{}", problems, cpu::module_text(*module));
  return cpu::link_program(std::move(context), std::move(module), symbols, keep_ir);
}

void initialize_native() {
  cpu::host_target();
  cpu::runtime_symbols();
  cpu::initialize_openmp();
}

}  // namespace numlift::codegen
