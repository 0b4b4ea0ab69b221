// What LLVM cannot compile is an error of ours to report, never the end of the process.
#include "cpu/orc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "nest_builder.h"
#include "numlift/support/check.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
// What is allocated while one of these lives may leak.
using LeaksAreMeant = __lsan::ScopedDisabler;
#else
struct LeaksAreMeant {
  ~LeaksAreMeant() {}
};
#endif

namespace numlift::codegen::test {
namespace {

// `i32 program(ptr)` that asks for a thread number of a GPU.
std::unique_ptr<NativeCode> link_gpu_code() {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("gpu", *context);
  llvm::Type* i32 = llvm::Type::getInt32Ty(*context);
  auto* type = llvm::FunctionType::get(i32, {llvm::PointerType::getUnqual(*context)}, false);
  auto* function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "program", *module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(*context, "entry", function));
  // The types are spelt out: LLVM 21 has another overload that takes two empty lists.
  const llvm::ArrayRef<llvm::Type*> types;
  const llvm::ArrayRef<llvm::Value*> arguments;
  builder.CreateRet(
      builder.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, types, arguments));
  return cpu::link_program(std::move(context), std::move(module), {}, /*keep_ir=*/false);
}

Program copy_program() {
  NestBuilder b;
  const BufferId x = b.buffer(DType::kFloat64), out = b.buffer(DType::kFloat64);
  const VarId i = b.open(symbol(0), true);
  b.store(out, b.load(x, {{i, 8}}), {{i, 8}});
  b.close();
  b.finish_nest(symbol(0));
  return b.program;
}

TEST(Linking, CodeThatLlvmCannotSelectThrowsAndTheNextProgramCompiles) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    try {
      const LeaksAreMeant guard;  // what LLVM was working on is given up
      link_gpu_code();
      FAIL() << "compiled";
    } catch (const InternalError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("Cannot select"));
    }
    std::vector<double> x = {1, 2, 3}, out(3);
    Runner runner(copy_program());
    ASSERT_EQ(runner.run({x.data(), out.data()}, {3}), 0);
    EXPECT_EQ(out, x);
  }
}

// "Or" of a bool and a float16.
TEST(Linking, ABrokenModuleThrows) {
  NestBuilder b;
  const BufferId x = b.buffer(DType::kBool), out = b.buffer(DType::kFloat16);
  const VarId i = b.open(symbol(0), true);
  const ValueId sum = b.op(Op::kAdd, {b.load(x, {{i, 1}}), b.load(out, {{i, 2}})}, DType::kBool);
  b.store(out, sum, {{i, 2}});
  b.close();
  b.finish_nest(symbol(0));
  try {
    Runner runner(b.program);
    FAIL() << "compiled";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("operands to a binary operator"));
  }
}

}  // namespace
}  // namespace numlift::codegen::test
