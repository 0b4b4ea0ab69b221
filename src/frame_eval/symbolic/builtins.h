// Builtin and standard-library callables written in C, as the interpreter does them.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

using BuiltinHandler = Sym (*)(Interpreter&, const CallArguments&);
using BuiltinEntries = std::vector<std::tuple<const char*, const char*, BuiltinHandler>>;

// Null: none of ours.
BuiltinHandler find_builtin(BorrowedRef callable);
// An object of a module that is always there ("functools", "partial"); looked up once.
BorrowedRef known_object(const char* module, const char* name);

// A method of a constant (str.upper, int.bit_length, …), called for real.
Sym call_constant_method(Interpreter& interpreter, const Sym& self, BorrowedRef name,
                         const CallArguments& arguments);

// (module, name, handler) of each family
void add_builtins(BuiltinEntries& entries);
void add_builtin_types(BuiltinEntries& entries);
void add_math(BuiltinEntries& entries);
void add_operator_module(BuiltinEntries& entries);
void add_library(BuiltinEntries& entries);

// ---- for handlers: arguments by position and by name
class ArgumentReader {
 public:
  ArgumentReader(const char* function, const CallArguments& arguments)
      : function_(function), arguments_(arguments) {}
  // Throws Break (would_raise) for other counts, and for keywords not read by keyword().
  void expect(size_t least, size_t most) const;
  size_t count() const { return arguments_.positional.size(); }
  const Sym& operator[](size_t i) const { return arguments_.positional[i]; }
  // Null when absent.
  Sym keyword(const char* name);

 private:
  const char* function_;
  const CallArguments& arguments_;
  mutable size_t keywords_read_ = 0;
};

}  // namespace numlift::frame_eval
