// The ORC session and the code objects of programs.
#include "orc.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>
#include <optional>

#include "cache/disk_cache.h"
#include "digest.h"
#include "fingerprint.h"
#include "llvm_versions.h"
#include "numlift/support/check.h"
#include "numlift/support/options.h"
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

struct CodeOrigin {
  bool is_from_disk = false;
  std::string ir_text;
};

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

  // What code generation and the key of the result go by.
  void set_target(llvm::Module& module) const;
  // Object code; *ir_text (unless null) is the module after optimisation.
  std::string compile(llvm::Module& module, std::string* ir_text);
  std::unique_ptr<NativeCode> link(std::string_view object, const ProgramSymbols& symbols,
                                   CodeOrigin origin);
  void remove(orc::JITDylib& dylib) {
    std::lock_guard<std::mutex> lock(mutex_);
    expect(session_->removeJITDylib(dylib));
  }

 private:
  Session() : machine_(make_target_machine()), layout_(machine_->createDataLayout()) {
    session_ =
        std::make_unique<orc::ExecutionSession>(expect(orc::SelfExecutorProcessControl::Create()));
    layer_ = std::make_unique<orc::ObjectLinkingLayer>(
        *session_, expect(llvm::jitlink::InProcessMemoryManager::Create()));
    runtime_ = &session_->createBareJITDylib("runtime");
    expect(runtime_->define(orc::absoluteSymbols(absolute(*session_, runtime_symbols()))));
  }

  std::string make_object(llvm::Module& module);

  std::mutex mutex_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  const llvm::DataLayout layout_;
  std::unique_ptr<orc::ExecutionSession> session_;
  std::unique_ptr<orc::ObjectLinkingLayer> layer_;
  orc::JITDylib* runtime_ = nullptr;
  uint64_t serial_ = 0;
};

class LinkedCode final : public NativeCode {
 public:
  LinkedCode(orc::JITDylib& dylib, ProgramFunction function, size_t size_bytes, CodeOrigin origin)
      : dylib_(dylib), function_(function), size_bytes_(size_bytes), origin_(std::move(origin)) {}
  ~LinkedCode() override { Session::get().remove(dylib_); }
  ProgramFunction function() const override { return function_; }
  size_t code_size_bytes() const override { return size_bytes_; }
  bool is_from_disk() const { return origin_.is_from_disk; }
  std::string ir_text() const override { return origin_.ir_text; }

 private:
  orc::JITDylib& dylib_;
  ProgramFunction function_;
  size_t size_bytes_;
  CodeOrigin origin_;
};

std::string Session::make_object(llvm::Module& module) {
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
  return std::string(object.data(), object.size());
}

void Session::set_target(llvm::Module& module) const {
  module.setTargetTriple(triple_argument(llvm::Triple(host_target().triple)));
  module.setDataLayout(layout_);
}

std::string Session::compile(llvm::Module& module, std::string* ir_text) {
  std::lock_guard<std::mutex> lock(mutex_);
  optimize(module, *machine_);
  if (ir_text != nullptr) *ir_text = module_text(module);
  return make_object(module);
}

std::unique_ptr<NativeCode> Session::link(std::string_view object, const ProgramSymbols& symbols,
                                          CodeOrigin origin) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()),
                                                     "program");
  orc::JITDylib& dylib = session_->createBareJITDylib("program." + std::to_string(serial_++));
  dylib.addToLinkOrder(*runtime_);
  try {
    if (!symbols.empty()) expect(dylib.define(orc::absoluteSymbols(absolute(*session_, symbols))));
    expect(layer_->add(dylib, std::move(buffer)));
    const orc::ExecutorSymbolDef entry = expect(
        session_->lookup(llvm::ArrayRef<orc::JITDylib*>{&dylib}, session_->intern("program")));
    return std::make_unique<LinkedCode>(dylib, entry.getAddress().toPtr<ProgramFunction>(),
                                        object.size(), std::move(origin));
  } catch (...) {
    llvm::consumeError(session_->removeJITDylib(dylib));
    throw;
  }
}

// By what would be compiled, and by all that has a say in it.
Digest key_of(const llvm::Module& module) {
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return digest_of({code_fingerprint(), options().cache_key.get(),
                    std::string_view(bitcode.data(), bitcode.size())});
}

// Null when it is not there, or is not to be had for the symbols of today.
std::unique_ptr<NativeCode> load_kept(const Digest& key, const ProgramSymbols& symbols) {
  const std::optional<std::string> object = cache::find_object(key);
  if (!object) return nullptr;
  try {
    return Session::get().link(*object, symbols, {.is_from_disk = true, .ir_text = ""});
  } catch (const InternalError& error) {
    cache::refuse_object(key, error.what());
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<NativeCode> link_program(std::unique_ptr<llvm::LLVMContext> context,
                                         std::unique_ptr<llvm::Module> module,
                                         const ProgramSymbols& symbols, bool keep_ir) {
  try {
    Session& session = Session::get();
    session.set_target(*module);
    std::unique_ptr<NativeCode> code;
    std::optional<Digest> key;
    if (!code_fingerprint().empty() && cache::is_on()) key = key_of(*module);
    // The text of the code is there only when it is made.
    if (key && !keep_ir) code = load_kept(*key, symbols);
    if (code == nullptr) {
      CodeOrigin origin;
      const std::string object = session.compile(*module, keep_ir ? &origin.ir_text : nullptr);
      code = session.link(object, symbols, std::move(origin));
      if (key) cache::keep_object(*key, object);
    }
    module.reset();  // before its context
    return code;
  } catch (const FatalLlvmError& error) {
    static_cast<void>(module.release());
    static_cast<void>(context.release());
    NUMLIFT_CHECK(false, "LLVM: {}", error.reason);
  }
}

}  // namespace numlift::codegen::cpu

namespace numlift::codegen {

bool is_from_disk(const NativeCode& code) {
  return dynamic_cast<const cpu::LinkedCode&>(code).is_from_disk();
}

}  // namespace numlift::codegen
