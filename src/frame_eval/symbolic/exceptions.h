// Exceptions that are made, raised and handled while tracing.
//
// An exception leaves a handler of the interpreter as a C++ exception (Raised) and goes up through
// the frames as in CPython, by their exception tables. One that leaves the traced call is a break
// before the instruction that raised it first: CPython raises it again, in its own frames.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

struct ExceptionValue : SymbolicValue {
  ExceptionValue(Ref type, Sym args)
      : SymbolicValue(SymKind::kException), type(std::move(type)), args(std::move(args)) {}

  Ref type;
  Sym args;            // a tuple
  Sym cause, context;  // null: None
  // Raised while no handler of the trace ran: the context is what the caller of the traced call
  // handles.
  bool has_outer_context = false;
  bool suppress_context = false;
  std::vector<std::pair<Ref, Sym>> attributes;       // its __dict__
  std::vector<std::pair<std::string, Sym>> members;  // of its C struct, beside those above
  Ref real;                              // one that is equal in type, args and members; or null
  std::vector<std::vector<Sym>> locals;  // of the frames that it has left: a traceback keeps them
  int64_t traceback = 0;       // 0: none; else which one: equal numbers are one traceback object
  std::optional<Break> place;  // where it was raised first
  // CPython has to take over before this instruction to have the exception as it is: the one that
  // made it, or where it could have been made anew until then, the one that raised it first.
  int64_t begins = born;
};

// What stands for the __traceback__ of an exception: nothing can be done with it but handing it on.
struct TracebackValue : IteratorValue {
  TracebackValue(const ExceptionValue& exception, int64_t number)
      : IteratorValue(exception.begins), number(number) {}
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a traceback"); }
  int64_t number;
};

struct Raised {
  std::shared_ptr<ExceptionValue> exception;
  bool is_new = true;        // false: it goes on, with the context that it has
  bool leaves_trace = true;  // the frame that raises is added to its traceback
  std::string reason{};      // for messages, should nobody handle it
};

// A traceback number that no exception has yet.
int64_t new_traceback();

[[noreturn]] void throw_error(PyObject* type, std::vector<Sym> args);
[[noreturn]] void throw_error(PyObject* type, const std::string& message);
[[noreturn]] void throw_name_error(BorrowedRef name);  // a global
// The Python error that is set, which is cleared. nullopt: what it holds cannot be followed.
std::optional<Raised> raised_from_error();
// What CPython does when an exception is set: what is being handled becomes its context.
void set_context(Interpreter& interpreter, const std::shared_ptr<ExceptionValue>& exception);

inline bool is_exception(const Sym& value) { return value->kind == SymKind::kException; }
inline std::shared_ptr<ExceptionValue> as_exception(const Sym& value) {
  return std::static_pointer_cast<ExceptionValue>(value);
}
bool is_instance(const ExceptionValue& exception, PyObject* type);

// A call of an exception class.
Sym make_exception(Interpreter& interpreter, const Sym& callable, CallArguments arguments);
// `except classes:`
bool matches(Interpreter& interpreter, const Sym& exception, const Sym& classes);

Sym exception_attribute(Interpreter& interpreter, const Sym& self, BorrowedRef name);
// nullopt: it cannot be told.
std::optional<bool> has_exception_attribute(Interpreter& interpreter, const Sym& self,
                                            BorrowedRef name);
void set_exception_attribute(Interpreter& interpreter, const Sym& self, BorrowedRef name,
                             const Sym& value);  // value null: del
// A method that is written in C.
Sym exception_method(Interpreter& interpreter, const Sym& self, const std::string& name,
                     const CallArguments& arguments);
// str(), repr()
Sym exception_text(Interpreter& interpreter, const Sym& self);
Sym exception_repr(Interpreter& interpreter, const Sym& self);
bool exception_truth(Interpreter& interpreter, const Sym& self);
// How a new one that is equal in all that can be seen is made; nullopt: not by a call without
// effects.
std::optional<CallShape> exception_shape(const ExceptionValue& exception);

// It holds nothing but constants, as do those that it leads to.
bool keeps_nothing_alive(const ExceptionValue& exception, int depth = 0);

// ---- exception groups (exception_groups.cpp)
bool is_group(const Sym& value);
// Sets what BaseExceptionGroup.__new__ does; may change the class.
void make_group(Interpreter& interpreter, ExceptionValue& group, const CallArguments& arguments);
struct GroupParts {
  Sym match, rest;  // None: nothing
};
// `except* classes`
GroupParts match_group(Interpreter& interpreter, const Sym& exception, const Sym& classes);
// What is raised behind the except* blocks of `original`, whose results these are; None: nothing.
Sym reraised_of_group(Interpreter& interpreter, const Sym& original,
                      const std::vector<Sym>& results);
Sym group_method(Interpreter& interpreter, const Sym& self, const std::string& name,
                 const CallArguments& arguments);

}  // namespace numlift::frame_eval
