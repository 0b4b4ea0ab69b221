// Internal errors: a broken invariant of ours, never a fault of the user's program.
// NUMLIFT_CHECK throws InternalError with place and formatted text. The one boundary around a
// compiled call (frame_eval/compiled_function) turns it into a plain CPython run with one logged
// reason, or raises it when the option `strict` is on.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace numlift {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& detail);

}  // namespace numlift

#define NUMLIFT_CHECK(condition, ...)                                                  \
  do {                                                                                 \
    if (!(condition)) [[unlikely]]                                                     \
      ::numlift::fail_check(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
  } while (false)

// For switches over our own enums: every member returns before it.
#define NUMLIFT_UNREACHABLE() ::numlift::fail_check(__FILE__, __LINE__, "unreachable", "")
