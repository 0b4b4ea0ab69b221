// The ORC session and the code objects of programs.
#include "orc.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

#include "llvm_versions.h"
#include "numlift/support/check.h"
#include "runtime.h"
#include "target.h"

namespace numlift::codegen::cpu {

namespace {

namespace orc = llvm::orc;

template <class T>
T expect(llvm::Expected<T> value) {
  if (!value) {
    const std::string text = llvm::toString(value.takeError());
    NUMLIFT_CHECK(false, "ORC: {}", text);
  }
  return std::move(*value);
}

void expect(llvm::Error error) {
  if (error) {
    const std::string text = llvm::toString(std::move(error));
    NUMLIFT_CHECK(false, "ORC: {}", text);
  }
}

orc::SymbolMap absolute(orc::ExecutionSession& session, const ProgramSymbols& symbols) {
  orc::SymbolMap map;
  for (const auto& [name, address] : symbols)
    map[session.intern(name)] = {orc::ExecutorAddr::fromPtr(address),
                                 llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Absolute};
  return map;
}

// LLVM ends the process when it finds code that it cannot compile, unless a handler leaves. Ours
// throws, on the thread that compiles: a program of the user's must not die of our mistake. The
// throw passes LLVM's frames without running their destructors, so everything that they worked on
// is given up, never freed or used again.
struct FatalLlvmError {
  std::string reason;
};
thread_local bool is_compiling = false;

class LeaveFatalErrors {
 public:
  LeaveFatalErrors() : handler_(&leave) { is_compiling = true; }
  ~LeaveFatalErrors() { is_compiling = false; }

 private:
  static void leave(void*, const char* reason, bool) {
    if (is_compiling) throw FatalLlvmError{reason};
  }
  llvm::ScopedFatalErrorHandler handler_;
};

// Lives as long as the process: code may still be on some thread's stack when statics are
// destroyed.
class Session {
 public:
  static Session& get() {
    static Session* session = new Session();
    return *session;
  }

  std::unique_ptr<NativeCode> link(llvm::Module& module, const ProgramSymbols& symbols,
                                   bool keep_ir);
  void remove(orc::JITDylib& dylib) {
    std::lock_guard<std::mutex> lock(mutex_);
    expect(session_->removeJITDylib(dylib));
  }

 private:
  Session() : machine_(make_target_machine()) {
    session_ =
        std::make_unique<orc::ExecutionSession>(expect(orc::SelfExecutorProcessControl::Create()));
    layer_ = std::make_unique<orc::ObjectLinkingLayer>(
        *session_, expect(llvm::jitlink::InProcessMemoryManager::Create()));
    runtime_ = &session_->createBareJITDylib("runtime");
    expect(runtime_->define(orc::absoluteSymbols(absolute(*session_, runtime_symbols()))));
  }

  llvm::SmallVector<char, 0> make_object(llvm::Module& module);

  std::mutex mutex_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<orc::ExecutionSession> session_;
  std::unique_ptr<orc::ObjectLinkingLayer> layer_;
  orc::JITDylib* runtime_ = nullptr;
  uint64_t serial_ = 0;
};

class LinkedCode final : public NativeCode {
 public:
  LinkedCode(orc::JITDylib& dylib, ProgramFunction function, size_t size_bytes, std::string ir_text)
      : dylib_(dylib), function_(function), size_bytes_(size_bytes), ir_text_(std::move(ir_text)) {}
  ~LinkedCode() override { Session::get().remove(dylib_); }
  ProgramFunction function() const override { return function_; }
  size_t code_size_bytes() const override { return size_bytes_; }
  std::string ir_text() const override { return ir_text_; }

 private:
  orc::JITDylib& dylib_;
  ProgramFunction function_;
  size_t size_bytes_;
  std::string ir_text_;
};

llvm::SmallVector<char, 0> Session::make_object(llvm::Module& module) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  llvm::MCContext* context = nullptr;
  NUMLIFT_CHECK(!machine_->addPassesToEmitMC(*passes, context, stream, /*DisableVerify=*/true),
                "the target cannot emit objects");
  try {
    const LeaveFatalErrors handler;
    passes->run(module);
  } catch (const FatalLlvmError&) {
    static_cast<void>(passes.release());
    static_cast<void>(machine_.release());
    machine_ = make_target_machine();
    throw;
  }
  return object;
}

std::unique_ptr<NativeCode> Session::link(llvm::Module& module, const ProgramSymbols& symbols,
                                          bool keep_ir) {
  std::lock_guard<std::mutex> lock(mutex_);
  module.setTargetTriple(triple_argument(machine_->getTargetTriple()));
  module.setDataLayout(machine_->createDataLayout());
  optimize(module, *machine_);
  std::string ir_text = keep_ir ? module_text(module) : std::string();

  llvm::SmallVector<char, 0> object = make_object(module);
  const size_t size_bytes = object.size();
  auto buffer = std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), "program",
                                                                /*RequiresNullTerminator=*/false);

  orc::JITDylib& dylib = session_->createBareJITDylib("program." + std::to_string(serial_++));
  dylib.addToLinkOrder(*runtime_);
  try {
    if (!symbols.empty()) expect(dylib.define(orc::absoluteSymbols(absolute(*session_, symbols))));
    expect(layer_->add(dylib, std::move(buffer)));
    const orc::ExecutorSymbolDef entry = expect(
        session_->lookup(llvm::ArrayRef<orc::JITDylib*>{&dylib}, session_->intern("program")));
    return std::make_unique<LinkedCode>(dylib, entry.getAddress().toPtr<ProgramFunction>(),
                                        size_bytes, std::move(ir_text));
  } catch (...) {
    llvm::consumeError(session_->removeJITDylib(dylib));
    throw;
  }
}

}  // namespace

std::unique_ptr<NativeCode> link_program(std::unique_ptr<llvm::LLVMContext> context,
                                         std::unique_ptr<llvm::Module> module,
                                         const ProgramSymbols& symbols, bool keep_ir) {
  try {
    std::unique_ptr<NativeCode> code = Session::get().link(*module, symbols, keep_ir);
    module.reset();  // before its context
    return code;
  } catch (const FatalLlvmError& error) {
    static_cast<void>(module.release());
    static_cast<void>(context.release());
    NUMLIFT_CHECK(false, "LLVM: {}", error.reason);
  }
}

}  // namespace numlift::codegen::cpu
