// co_exceptiontable: which handler covers which instructions. For this folder only.
//
// An entry is four numbers (start, length, target in units; depth << 1 | push_lasti), six bits a
// byte, most significant first; bit 6 says that more follow, bit 7 marks an entry's first byte.
// Entries are sorted and do not overlap.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace numlift {

struct ExceptionRange {
  uint32_t start = 0;   // units
  uint32_t length = 0;  // units
  uint32_t target = 0;  // units
  int32_t depth = 0;
  bool push_lasti = false;
};

std::vector<ExceptionRange> read_exception_table(std::span<const uint8_t> table);
std::string write_exception_table(std::span<const ExceptionRange> ranges);

}  // namespace numlift
