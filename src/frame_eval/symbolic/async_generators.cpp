#include "symbolic/async_generators.h"

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/calls.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

struct WrappedValue : IteratorValue {
  explicit WrappedValue(Sym value) : value(std::move(value)) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a yielded value"); }
  Sym value;
};

struct AsyncGeneratorValue : GeneratorValue {
  AsyncGeneratorValue(Interpreter& interpreter, std::unique_ptr<Frame> frame)
      : GeneratorValue(interpreter, std::move(frame), GeneratorKind::kAsyncGenerator) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of an async generator"); }
};

// One `await anext(generator)`: it gives on what the generator waits for, and ends with its next
// value.
struct AsyncStep : IteratorValue {
  AsyncStep(Interpreter& interpreter, std::shared_ptr<GeneratorBody> body, Sym generator)
      : interpreter(interpreter), body(std::move(body)), generator(std::move(generator)) {}
  Sym next(Tracer&) override {
    if (result) throw_break("would_raise", "an anext() is awaited again");
    if (body->is_done()) throw_error(PyExc_StopAsyncIteration, std::vector<Sym>{});
    const Sym value = resume_generator(interpreter, *body, interpreter.none());
    if (!value) throw_error(PyExc_StopAsyncIteration, std::vector<Sym>{});
    const auto* wrapped = dynamic_cast<const WrappedValue*>(value.get());
    if (wrapped == nullptr) return value;
    result = wrapped->value;
    return nullptr;
  }
  Interpreter& interpreter;
  std::shared_ptr<GeneratorBody> body;
  Sym generator;
  Sym result;
};

// A method of the value's class that is a Python function, called.
Sym call_async_method(Interpreter& interpreter, const Sym& value, const char* name) {
  if (value->kind == SymKind::kObject) {
    const Sym raw = type_attribute(interpreter, value, checked(PyUnicode_InternFromString(name)));
    if (raw && raw->kind == SymKind::kObject && PyFunction_Check(object_of(raw).get())) {
      return call_python_function(interpreter, raw, {{value}, {}});
    }
  }
  throw_break("generator", fmt::format("{} of a {}", name, type_name(value)));
}

}  // namespace

Sym make_async_generator(Interpreter& interpreter, std::unique_ptr<Frame> frame) {
  return std::make_shared<AsyncGeneratorValue>(interpreter, std::move(frame));
}

Sym wrap_yielded(const Sym& value) { return std::make_shared<WrappedValue>(value); }

Sym async_step_result(const Sym& value) {
  const auto* step = dynamic_cast<const AsyncStep*>(value.get());
  return step == nullptr ? nullptr : step->result;
}

Sym async_iterator(Interpreter& interpreter, const Sym& value) {
  if (dynamic_cast<const AsyncGeneratorValue*>(value.get()) != nullptr) return value;
  return call_async_method(interpreter, value, "__aiter__");
}

Sym async_next(Interpreter& interpreter, const Sym& iterator) {
  if (auto* generator = dynamic_cast<AsyncGeneratorValue*>(iterator.get())) {
    return std::make_shared<AsyncStep>(interpreter, generator->body, iterator);
  }
  return make_awaitable(interpreter, call_async_method(interpreter, iterator, "__anext__"));
}

}  // namespace numlift::frame_eval
