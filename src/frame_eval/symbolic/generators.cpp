#include "symbolic/generators.h"

#include <algorithm>
#include <array>

#include "numlift/py/py_error.h"
#include "symbolic/async_generators.h"
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/iterators.h"
#include "symbolic/polyfills.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

// The generator's own handled exception is the innermost one as long as it runs.
class Running {
 public:
  Running(Interpreter& interpreter, GeneratorBody& body) : interpreter_(interpreter), body_(body) {
    body.handled.outer = interpreter.handled;
    interpreter.handled = &body.handled;
    body.is_running = true;
  }
  ~Running() {
    interpreter_.handled = body_.handled.outer;
    body_.is_running = false;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Interpreter& interpreter_;
  GeneratorBody& body_;
};

bool is_coroutine(const GeneratorBody& body) { return body.kind == GeneratorKind::kCoroutine; }

const char* kind_name(const GeneratorBody& body) {
  return is_coroutine(body)                            ? "coroutine"
         : body.kind == GeneratorKind::kAsyncGenerator ? "async generator"
                                                       : "generator";
}

// Nothing of a generator that has ended is kept.
void drop_frame(GeneratorBody& body) {
  body.frame->done = true;
  body.frame->drop_values();
}

Sym run_step(Interpreter& interpreter, GeneratorBody& body, const Raised* thrown) {
  body.is_started = true;
  if (thrown != nullptr) body.frame->push(interpreter.none());  // as CPython does
  Sym value;
  try {
    const Running running(interpreter, body);
    value = interpreter.resume(*body.frame, thrown);
  } catch (const Raised& raised) {
    drop_frame(body);
    if (!must_not_leave(*body.frame->bytecode, *raised.exception)) throw;
    // From 3.12 on the generator's code does it itself. A StopAsyncIteration: likewise.
    throw Raised{stop_iteration_error(*body.frame->bytecode, raised.exception), false};
  }
  if (!body.is_done()) return value;
  body.result = std::move(value);
  drop_frame(body);
  return nullptr;
}

// Closing it runs code of its own; else it only drops what it holds.
bool sees_its_end(const GeneratorBody& body) {
  if (body.kind == GeneratorKind::kAsyncGenerator) return true;
  if (body.frame->next == 0) return false;  // the trace ended before its first instruction
  const Bytecode& bytecode = *body.frame->bytecode;
  const int32_t handler = bytecode.instructions[body.frame->next - 1].handler;
  if (handler == kNoTarget) return false;
  const auto target = bytecode.handlers[static_cast<size_t>(handler)].target;
  const Instr first = bytecode.instructions[static_cast<size_t>(target)].op;
  // Those that end every generator's code.
  return first != Instr::kCallIntrinsic1 && first != Instr::kCleanupThrow;
}

void check_idle(const GeneratorBody& body) {
  if (body.is_running) {
    throw_error(PyExc_ValueError, fmt::format("{} already executing", kind_name(body)));
  }
}

// The instruction at which a suspended frame waits for an inner iterator; null: it does not.
const Instruction* inner_wait(const Frame& frame) {
  constexpr int kYieldFrom = 2, kAwait = 3, kKind = 3;
  if (frame.next >= frame.bytecode->instructions.size()) return nullptr;
  const Instruction& next = frame.bytecode->instructions[frame.next];
  const int kind = next.arg & kKind;
  return next.op == Instr::kResume && (kind == kYieldFrom || kind == kAwait) ? &next : nullptr;
}

bool handles_throw(const Frame& frame) {
  const Instruction& yield = frame.bytecode->instructions[frame.next - 1];
  if (yield.handler == kNoTarget) return false;
  const auto target = frame.bytecode->handlers[static_cast<size_t>(yield.handler)].target;
  return frame.bytecode->instructions[static_cast<size_t>(target)].op == Instr::kCleanupThrow;
}

// Up to 3.11 there is no code for it: the inner iterator's result is that of the whole `yield
// from`.
void leave_inner(Frame& frame, Sym result) {
  const auto& instructions = frame.bytecode->instructions;
  size_t index = frame.next;
  while (instructions[index].op != Instr::kJump) ++index;
  const Instruction& send = instructions[static_cast<size_t>(instructions[index].target)];
  NUMLIFT_CHECK(send.op == Instr::kSend, "a yield from of {} jumps back to a {}", frame.name,
                instruction_name(send.op));
  // As Send itself leaves it: see handlers_iter.cpp.
  if (stack_effect(send, true) < 0) frame.pop();
  frame.push(std::move(result));
  frame.next = static_cast<size_t>(send.target);
}

Raised stop_iteration(const Sym& value) {
  std::vector<Sym> args;
  if (!is_object(value, Py_None)) args.push_back(value);
  auto exception = std::make_shared<ExceptionValue>(Ref::create(PyExc_StopIteration),
                                                    make_tuple(std::move(args)));
  exception->members.emplace_back("value", value);
  return Raised{std::move(exception), true, true, "StopIteration"};
}

void close_body(Interpreter& interpreter, GeneratorBody& body);

void close_iterator(Interpreter& interpreter, const Sym& iterator) {
  if (is_generator(iterator)) close_body(interpreter, *as<GeneratorValue>(iterator).body);
}

Raised generator_exit() {
  return Raised{std::make_shared<ExceptionValue>(Ref::create(PyExc_GeneratorExit), make_tuple({})),
                true, true, "GeneratorExit"};
}

void close_body(Interpreter& interpreter, GeneratorBody& body) {
  check_idle(body);
  if (!body.is_started) drop_frame(body);
  if (body.is_done()) return;
  Raised exit = generator_exit();
  set_context(interpreter, exit.exception);
  exit.is_new = false;
  if (inner_wait(*body.frame) != nullptr) {
    try {
      close_iterator(interpreter, Sym(body.frame->peek()));
    } catch (const Raised& raised) {
      exit = raised;
    }
  }
  try {
    if (run_step(interpreter, body, &exit)) {
      throw_error(PyExc_RuntimeError, fmt::format("{} ignored GeneratorExit", kind_name(body)));
    }
  } catch (const Raised& raised) {
    if (!is_instance(*raised.exception, PyExc_GeneratorExit)) throw;
  }
}

// From 3.13 on close() gives what the generator returns.
bool close_gives_result() {
  static const bool gives = [] {
    const Ref names = checked(PyDict_New());
    const Ref done =
        checked(PyRun_String("def wait():\n try:\n  yield\n except GeneratorExit:\n  return 1\n"
                             "waiting = wait()\nnext(waiting)\nresult = waiting.close()\n",
                             Py_file_input, names.get(), names.get()));
    return PyDict_GetItemString(names.get(), "result") != Py_None;
  }();
  return gives;
}

Sym close_generator(Interpreter& interpreter, GeneratorBody& body) {
  const bool was_done = body.is_done() || !body.is_started;
  close_body(interpreter, body);
  if (!was_done && body.result && close_gives_result()) return body.result;
  return interpreter.none();
}

// From 3.12 on, throw() with more than one argument warns. Python itself is asked.
bool throws_by_class() {
  static const bool throws = [] {
    Ref globals = checked(PyDict_New());
    check_status(PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()));
    static const char* const kSource = R"(
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("error")
    try:
        iter(_ for _ in ()).throw(KeyError, KeyError(), None)
    except Exception as error:
        result = type(error) is KeyError
)";
    checked(PyRun_String(kSource, Py_file_input, globals.get(), globals.get()));
    return PyDict_GetItemString(globals.get(), "result") == Py_True;
  }();
  return throws;
}

// The arguments of throw(): a class or an instance; or a class, an instance of it and its
// traceback.
Raised thrown_by(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("throw", arguments);
  read.expect(1, throws_by_class() ? 3 : 1);
  Sym exception = read[0];
  if (read.count() > 1) {
    const bool is_its_own = is_exception(read[1]) && exception->kind == SymKind::kObject &&
                            PyExceptionClass_Check(object_of(exception).get()) &&
                            is_instance(*as_exception(read[1]), object_of(exception).get());
    if (!is_its_own) throw_break("unsupported_call", "throw() of a class with such a value");
    exception = read[1];
  }
  if (exception->kind == SymKind::kObject && PyExceptionClass_Check(object_of(exception).get())) {
    exception = call_value(interpreter, exception, {});
  }
  if (!is_exception(exception)) {
    throw_break("unsupported_call", "throw() of a " + type_name(exception));
  }
  return Raised{as_exception(exception), false, true, type_name(exception) + " is thrown"};
}

constexpr std::array kMethods{"send", "throw", "close", "__next__", "__iter__"};
constexpr std::array kCoroutineMethods{"send", "throw", "close", "__await__"};

}  // namespace

bool must_not_leave(const Bytecode& bytecode, const ExceptionValue& exception) {
  const auto* code = reinterpret_cast<PyCodeObject*>(bytecode.code.get());
  return is_instance(exception, PyExc_StopIteration) ||
         ((code->co_flags & CO_ASYNC_GENERATOR) != 0 &&
          is_instance(exception, PyExc_StopAsyncIteration));
}

std::shared_ptr<ExceptionValue> stop_iteration_error(const Bytecode& bytecode,
                                                     const std::shared_ptr<ExceptionValue>& stop) {
  const auto* code = reinterpret_cast<PyCodeObject*>(bytecode.code.get());
  const char* kind = (code->co_flags & CO_COROUTINE) != 0         ? "coroutine"
                     : (code->co_flags & CO_ASYNC_GENERATOR) != 0 ? "async generator"
                                                                  : "generator";
  const char* what =
      is_instance(*stop, PyExc_StopIteration) ? "StopIteration" : "StopAsyncIteration";
  auto error = std::make_shared<ExceptionValue>(
      Ref::create(PyExc_RuntimeError), make_tuple({std::make_shared<ObjectValue>(checked(
                                           PyUnicode_FromFormat("%s raised %s", kind, what)))}));
  error->cause = stop;
  error->context = stop;
  error->suppress_context = true;
  error->place = stop->place;
  error->begins = stop->begins;
  return error;
}

GeneratorValue::GeneratorValue(Interpreter& interpreter, std::unique_ptr<Frame> frame,
                               GeneratorKind kind)
    : interpreter(interpreter),
      abandoned(interpreter.abandoned),
      body(std::make_shared<GeneratorBody>()) {
  body->frame = std::move(frame);
  body->born = born;
  body->kind = kind;
}

GeneratorValue::~GeneratorValue() {
  // A coroutine that nobody awaits is warned about.
  const bool is_missed = is_coroutine(*body) && !body->is_started;
  if (body->is_done()) return;
  if (is_missed || (body->is_started && sees_its_end(*body))) abandoned->push_back(body);
}

Sym GeneratorValue::next(Tracer&) {
  return resume_generator(interpreter, *body, interpreter.none());
}

Sym resume_generator(Interpreter& interpreter, GeneratorBody& body, const Sym& sent) {
  check_idle(body);
  if (body.is_done()) {
    if (is_coroutine(body)) {
      throw_error(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
    }
    body.result = nullptr;
    return nullptr;
  }
  if (body.is_started) {
    body.frame->push(sent);  // what the yield expression gives
  } else if (!is_object(sent, Py_None)) {
    throw_error(PyExc_TypeError,
                fmt::format("can't send non-None value to a just-started {}", kind_name(body)));
  }
  return run_step(interpreter, body, nullptr);
}

Sym throw_into(Interpreter& interpreter, GeneratorBody& body, const Raised& raised) {
  check_idle(body);
  if (body.is_done() || !body.is_started) {
    if (is_coroutine(body)) throw_break("generator", "throw() into a coroutine that does not wait");
    if (is_instance(*raised.exception, PyExc_StopIteration)) {
      throw_break("generator", "StopIteration is thrown into a generator that does not wait");
    }
    body.is_started = true;
    drop_frame(body);
    throw raised;
  }
  Frame& frame = *body.frame;
  if (inner_wait(frame) == nullptr) {
    if (body.handled.value) {
      // CPython sets it anew inside.
      const Running running(interpreter, body);
      set_context(interpreter, raised.exception);
    }
    return run_step(interpreter, body, &raised);
  }
  const Sym inner = frame.peek();
  if (!is_generator(inner))
    throw_break("generator", "throw() into a yield from of a plain iterator");
  if (is_instance(*raised.exception, PyExc_GeneratorExit)) {
    throw_break("generator", "GeneratorExit is thrown into a yield from");
  }
  auto& inner_body = *as<GeneratorValue>(inner).body;
  try {
    const Running running(interpreter, body);
    if (Sym value = throw_into(interpreter, inner_body, raised)) return value;
  } catch (const Raised& error) {
    Raised onward = error;
    if (!handles_throw(frame)) frame.pop();
    return run_step(interpreter, body, &onward);
  }
  const Sym result = inner_body.result ? inner_body.result : interpreter.none();
  if (!handles_throw(frame)) {
    leave_inner(frame, result);
    return run_step(interpreter, body, nullptr);
  }
  Raised stop = stop_iteration(result);
  stop.is_new = false;
  return run_step(interpreter, body, &stop);
}

bool is_generator(const Sym& value) {
  return dynamic_cast<const GeneratorValue*>(value.get()) != nullptr;
}

bool has_generator_method(const Sym& value, const std::string& name) {
  const auto* generator = dynamic_cast<const GeneratorValue*>(value.get());
  if (generator == nullptr || generator->body->kind == GeneratorKind::kAsyncGenerator) return false;
  if (is_coroutine(*generator->body)) {
    return std::find(kCoroutineMethods.begin(), kCoroutineMethods.end(), name) !=
           kCoroutineMethods.end();
  }
  return std::find(kMethods.begin(), kMethods.end(), name) != kMethods.end();
}

Sym generator_method(Interpreter& interpreter, const Sym& self, const std::string& name,
                     const CallArguments& arguments) {
  auto& body = *as<GeneratorValue>(self).body;
  ArgumentReader read(name.c_str(), arguments);
  if (name == "__iter__") return self;
  if (name == "close") {
    read.expect(0, 0);
    return close_generator(interpreter, body);
  }
  if (name == "__await__") throw_break("generator", "__await__() of a coroutine");
  Sym value;
  if (name == "throw") {
    value = throw_into(interpreter, body, thrown_by(interpreter, arguments));
  } else {
    if (name == "send") {
      read.expect(1, 1);
    } else {
      read.expect(0, 0);
    }
    value = resume_generator(interpreter, body, name == "send" ? read[0] : interpreter.none());
  }
  if (value) return value;
  throw stop_iteration(body.result ? body.result : interpreter.none());
}

Sym make_generator(Interpreter& interpreter, std::unique_ptr<Frame> frame) {
  const auto* code = reinterpret_cast<PyCodeObject*>(frame->bytecode->code.get());
  if ((code->co_flags & CO_ASYNC_GENERATOR) != 0) {
    return make_async_generator(interpreter, std::move(frame));
  }
  const bool awaits = (code->co_flags & CO_COROUTINE) != 0;
  const bool is_polyfill = frame->is_polyfill;
  Ref maker = frame->bytecode->code;
  auto generator = std::make_shared<GeneratorValue>(
      interpreter, std::move(frame),
      awaits ? GeneratorKind::kCoroutine : GeneratorKind::kGenerator);
  if (!is_polyfill) return generator;
  auto iterator = std::make_shared<LibraryValue>();
  iterator->inner = std::move(generator);
  iterator->generator = std::move(maker);
  return iterator;
}

Sym generator_result(Interpreter& interpreter, const Sym& iterator) {
  if (Sym result = async_step_result(iterator)) return result;
  const auto* generator = dynamic_cast<GeneratorValue*>(iterator.get());
  return generator && generator->body->result ? generator->body->result : interpreter.none();
}

Sym make_awaitable(Interpreter& interpreter, const Sym& value) {
  if (value->kind == SymKind::kIterator && !is_generator(value)) return value;
  if (is_generator(value)) {
    const auto& body = *as<GeneratorValue>(value).body;
    if (!is_coroutine(body)) throw_break("would_raise", "await of a generator");
    if (body.is_started && !body.is_done() && inner_wait(*body.frame) != nullptr) {
      throw_error(PyExc_RuntimeError, "coroutine is being awaited already");
    }
    return value;
  }
  const Ref name = checked(PyUnicode_InternFromString("__await__"));
  if (value->kind == SymKind::kObject) {
    const Sym raw = type_attribute(interpreter, value, name);
    if (raw && raw->kind == SymKind::kObject && PyFunction_Check(object_of(raw).get())) {
      const Sym iterator = call_python_function(interpreter, raw, {{value}, {}});
      if (iterator->kind == SymKind::kIterator) return iterator;
    }
  }
  throw_break("generator", fmt::format("await of a {}", type_name(value)));
}

namespace {

void close_dropped(Interpreter& interpreter, GeneratorBody& body) {
  if (is_coroutine(body) && !body.is_started) {
    throw Break{"generator", "a coroutine that is not awaited", body.born};
  }
  if (body.kind == GeneratorKind::kAsyncGenerator) {
    throw Break{"generator", "an async generator that has not ended is dropped", body.born};
  }
  try {
    close_body(interpreter, body);
  } catch (const Raised&) {
    throw Break{"generator", "a generator raises while it is dropped", body.born};
  }
}

}  // namespace

// In the order in which they were dropped; those that one of them held go before the next.
void Interpreter::close_abandoned() {
  AbandonedGenerators dropped;
  std::swap(dropped, *abandoned);
  for (std::shared_ptr<GeneratorBody>& body : dropped) {
    close_dropped(*this, *body);
    body = nullptr;
    close_abandoned();
  }
}

}  // namespace numlift::frame_eval
