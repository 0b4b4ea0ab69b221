// Generators and coroutines of Python code: a frame that runs on at each step.
#pragma once

#include "symbolic/exceptions.h"
#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

enum class GeneratorKind : uint8_t { kGenerator, kCoroutine, kAsyncGenerator };

struct GeneratorBody {
  std::unique_ptr<Frame> frame;
  HandledException handled;  // by its own except blocks
  int64_t born = 0;
  GeneratorKind kind = GeneratorKind::kGenerator;
  bool is_started = false, is_running = false;
  Sym result;  // what it has returned

  bool is_done() const { return frame->done; }
};

struct GeneratorValue : IteratorValue {
  GeneratorValue(Interpreter& interpreter, std::unique_ptr<Frame> frame, GeneratorKind kind);
  // One that stands inside try or with runs its finally blocks when the last reference goes.
  ~GeneratorValue() override;

  Sym next(Tracer& tracer) override;

  Interpreter& interpreter;
  std::shared_ptr<AbandonedGenerators> abandoned;
  std::shared_ptr<GeneratorBody> body;
};

// One step; null: it has returned (body.result).
Sym resume_generator(Interpreter& interpreter, GeneratorBody& body, const Sym& sent);
// send(), throw(), close() and their like by name; null: it has no such method.
bool is_generator(const Sym& value);
bool has_generator_method(const Sym& value, const std::string& name);
Sym generator_method(Interpreter& interpreter, const Sym& self, const std::string& name,
                     const CallArguments& arguments);
// Throws into what a `yield from` or `await` waits for, or into the generator itself.
Sym throw_into(Interpreter& interpreter, GeneratorBody& body, const Raised& raised);

// PEP 479: a StopIteration must not leave such code; what it becomes.
bool must_not_leave(const Bytecode& bytecode, const ExceptionValue& exception);
std::shared_ptr<ExceptionValue> stop_iteration_error(const Bytecode& bytecode,
                                                     const std::shared_ptr<ExceptionValue>& stop);

// What `await value` iterates over.
Sym make_awaitable(Interpreter& interpreter, const Sym& value);

}  // namespace numlift::frame_eval
