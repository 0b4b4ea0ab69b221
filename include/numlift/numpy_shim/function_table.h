// Each public NumPy function and ndarray method in one table (functions.def): compiled natively,
// called inside the program (extern), or left to CPython (break).
#pragma once

#include "numlift/py/python.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "numlift/py/ref.h"

namespace numlift::numpy_shim {

enum class Tier : uint8_t { kNative, kExtern, kBreak };

struct Parameter {
  std::string name;
  bool required = true;
  bool keyword_only = false;
  bool variadic = false;  // takes all further positional arguments
};

struct FunctionEntry {
  uint32_t row = 0;  // position in functions.def
  std::string path;  // "numpy.linalg.norm"; "ndarray.sum" for methods
  Tier tier = Tier::kBreak;
  std::string reason;  // kBreak: why
  // Empty for externs whose arguments need no look.
  std::vector<Parameter> parameters;
};

// By identity of the object; aliases are found too. Null: not in the table. The table is filled at
// the first call (throws PyError). Rows for names that the installed NumPy lacks are left out.
const FunctionEntry* find_function(BorrowedRef callable);
const FunctionEntry* find_method(std::string_view name);
const std::vector<FunctionEntry>& function_table();

}  // namespace numlift::numpy_shim
